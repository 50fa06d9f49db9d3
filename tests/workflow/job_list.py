"""The jobs of each preset and of all studies together, as `snakemake -n` plans them on a fresh checkout.

`python tests/workflow/job_list.py` writes them to jobs.txt beside this file, which test_job_list.py compares: run it
after a change of the plan that is meant, and read the difference.
"""

import re
import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from checkout import copy_checkout
from running import run
from stackwars.study.claims import definitions
from stackwars.study.config import load

JOBS = Path(__file__).with_name("jobs.txt")
CONFIG = load()
CLAIMS = [f"claim_{claim.id}" for claim in definitions.load().claims]
"""Targets that are planned with every study; the list is without their jobs."""
COMMANDS = {
    "preset full": ("all",),
    "preset smoke": ("all", "--config", "preset=smoke"),
    "every study": ("results", *CLAIMS, "--config", f"measure=[{','.join(CONFIG.studies)}]"),
}
"""{section of the file: arguments of Snakemake}."""
AXES = (
    {name for study in CONFIG.studies.values() for name in study.workloads or ()},
    *map(set, (CONFIG.frameworks, CONFIG.compilers, CONFIG.targets, CONFIG.devices)),
)
"""Names of which one may be part of a path."""


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
    """Return a section: its name, and each rule with its first output; paths that differ in one name share a line."""
    lines: Iterable[str] = {
        f"{rule} {output[1]}"
        for rule, block in plan(section, checkout)
        if (output := re.search(r"^ +output: ([^,\n]+)", block, re.M)) and "/claims/" not in output[1]
    }
    for names in AXES:
        groups: dict[str, list[str]] = {}
        for line in sorted(lines):
            name = next((part for part in line.split("/") if part in names), "")
            groups.setdefault(line.replace(f"/{name}/", "/{}/") if name else line, []).append(name)
        lines = [line.replace("{}", f"{{{','.join(found)}}}") for line, found in groups.items()]
    return "\n".join([f"# {section}", *sorted(lines), ""])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy_checkout(Path(folder))
        JOBS.write_text("\n".join(listing(section, Path(folder)) for section in COMMANDS))


if __name__ == "__main__":
    main()
