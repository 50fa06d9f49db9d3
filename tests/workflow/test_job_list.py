"""The jobs of each preset and of all studies together, as `snakemake -n` plans them on a fresh checkout.

They are those of snapshots/jobs.txt: read its difference after a change of the plan. And what the jobs run in, and that
planning changes nothing.
"""

import hashlib
import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from running import run
from snapshots import assert_snapshot
from stackwars.setup import environments
from stackwars.setup.device import CPU
from stackwars.study import programs
from stackwars.study.claims import definitions
from stackwars.study.config import load
from stackwars.study.studies import full_study

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
OWN = (".snakemake/iocache", ".snakemake/log")
"""What Snakemake keeps for itself: a cache of dates, and its logs."""


@cache
def plan(section: str, folder: Path) -> tuple[tuple[str, str], ...]:
    """Return (rule, its inputs and outputs) of each job of a section."""
    command = [sys.executable, "-m", "snakemake", *COMMANDS[section]]
    done = run(*command, "--cores", "1", "--dry-run", "--quiet", "host", cwd=folder, timeout=1800)
    jobs: list[tuple[str, str]] = []
    for line in (done.stdout + done.stderr).splitlines():
        if found := re.match(r" *(?:local)?(?:rule|checkpoint) (\w+):$", line):
            jobs.append((found[1], ""))
        elif jobs:
            jobs[-1] = (jobs[-1][0], f"{jobs[-1][1]}{line}\n")
    return tuple(jobs)


def listing(section: str, folder: Path) -> str:
    """Return a section: its name, and each rule with its first output; paths that differ in one name share a line."""
    lines: Iterable[str] = {
        f"{rule} {output[1]}"
        for rule, block in plan(section, folder)
        if (output := re.search(r"^ +output: ([^,\n]+)", block, re.M)) and "/claims/" not in output[1]
    }
    for names in AXES:
        groups: dict[str, list[str]] = {}
        for line in sorted(lines):
            name = next((part for part in line.split("/") if part in names), "")
            groups.setdefault(line.replace(f"/{name}/", "/{}/") if name else line, []).append(name)
        lines = [line.replace("{}", f"{{{','.join(found)}}}") for line, found in groups.items()]
    return "\n".join([f"# {section}", *sorted(lines), ""])


@pytest.mark.slow
def test_the_jobs_are_those_of_the_list(checkout):
    assert_snapshot("jobs.txt", "\n".join(listing(section, checkout.folder) for section in COMMANDS))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("section", "studies"), [("preset full", CONFIG.presets["full"].measure), ("every study", ["all"])]
)
def test_set_up_builds_the_environments_of_the_jobs(section, studies, checkout):
    jobs = [block for rule, block in plan(section, checkout.folder) if rule != "device"]
    pins = {name for block in jobs for name in re.findall(r"envs/([\w.-]+)\.txt", block)}
    assert set(environments.of_studies(studies)) == pins


@pytest.mark.slow
def test_every_claim_has_a_target_that_can_be_planned(checkout):
    assert set(CLAIMS) <= {rule for rule, _ in plan("every study", checkout.folder)}


@pytest.mark.parametrize("study", CONFIG.studies)
def test_set_up_builds_the_environments_that_a_study_names(study):
    row = full_study(CONFIG, study)
    cells = [CONFIG.frameworks[name].environments or {} for name in row.frameworks]
    named = {names[CPU] for names in cells if CPU in names}
    named |= {Path(programs.lower_pins(CONFIG, name)).stem for name in row.programs}
    named |= {CONFIG.compilers[name].environment for name in row.compilers}
    assert named <= set(environments.of_studies([study]))


def test_every_study_together_needs_every_environment_that_has_a_size():
    assert set(environments.of_studies(["all"])) == set(environments.sizes_gb())


def test_explaining_needs_what_its_configuration_names():
    frontends = {CONFIG.frameworks[name].environments[CPU] for name in CONFIG.explain.frontends}
    compilers = {CONFIG.compilers[name].environment for name in CONFIG.explain.compilers}
    assert set(environments.of_studies(["explain"])) == frontends | compilers


def state(folder: Path) -> dict[str, tuple[int, str]]:
    """Return the date and the content of every file, but for Python's and Snakemake's caches."""
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and "__pycache__" not in name and not name.startswith(OWN):
            found[name] = (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
    return found


@pytest.mark.slow
def test_planning_changes_no_file_no_date_and_no_lock(checkout):
    """`make plan` starts a dry run; here with a damaged result, and a lock that a killed run left."""
    cell = checkout.folder / "results/smoke/cpu/jax/gemm/cell.json"
    cell.parent.mkdir(parents=True)
    cell.write_text('{"status": ')
    lock = checkout.folder / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    before = state(checkout.folder)
    command = [sys.executable, "-m", "stackwars.study.workflow.plan", "--preset", "smoke"]
    done = checkout.shell(command, PYTHONPATH="src")
    assert done.returncode == 0 and "cells and replays to measure" in done.stdout, done.stdout
    assert state(checkout.folder) == before
