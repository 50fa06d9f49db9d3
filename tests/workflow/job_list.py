"""The jobs of each preset and study, as `snakemake -n` plans them on a fresh checkout.

`python tests/workflow/job_list.py` writes them to jobs.txt beside this file, which test_job_list.py compares: run it
after a change of the plan that is meant, and read the difference.
"""

import re
import sys
import tempfile
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from checkout import copy_checkout
from running import run
from stackwars.study.config import load

JOBS = Path(__file__).with_name("jobs.txt")
STUDIES = load().studies
WORKLOADS = {name for study in STUDIES.values() for name in study.workloads or ()}
COMMANDS = {
    "preset full": ("all",),
    "preset smoke": ("all", "--config", "preset=smoke"),
    **{f"study {name}": ("results", "--config", f"measure=[{name}]") for name in STUDIES},
}
"""{section of the file: arguments of Snakemake}."""


@cache
def plan(section: str, checkout: Path) -> tuple[tuple[str, str], ...]:
    """Return (rule, its inputs and outputs) of each job of a section."""
    command = [sys.executable, "-m", "snakemake", *COMMANDS[section]]
    done = run(*command, "--cores", "1", "--dry-run", "--quiet", "host", cwd=checkout, timeout=1800)
    jobs: list[tuple[str, str]] = []
    for line in (done.stdout + done.stderr).splitlines():
        if found := re.match(r" *(?:local)?(?:rule|checkpoint) (\w+):$", line):
            jobs.append((found[1], ""))
        elif jobs:
            jobs[-1] = (jobs[-1][0], f"{jobs[-1][1]}{line}\n")
    return tuple(jobs)


def listing(section: str, checkout: Path) -> str:
    """Return a section: its name, and a line for each rule and path; workloads with the same path share a line."""
    groups: dict[str, set[str]] = {}
    for rule, block in plan(section, checkout):
        if output := re.search(r"^ +output: ([^,\n]+)", block, re.M):
            path, workload = _without_workload(output[1])
            groups.setdefault(f"{rule} {path}", set()).add(workload)
    lines = [" ".join([line, *sorted(filter(None, names))]) for line, names in sorted(groups.items())]
    return "\n".join([f"# {section}", *lines, ""])


def _without_workload(path: str) -> tuple[str, str]:
    """Return the path with `*` in place of its workload, and the workload or an empty text."""
    workload = next((part for part in path.split("/") if part in WORKLOADS), "")
    return path.replace(f"/{workload}/", "/*/") if workload else path, workload


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy_checkout(Path(folder))
        JOBS.write_text("\n".join(listing(section, Path(folder)) for section in COMMANDS))


if __name__ == "__main__":
    main()
