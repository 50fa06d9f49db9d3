"""Plain `make` measures nothing: it lists every command."""

import os
import re

import pytest

from running import run
from stackwars.core.launch import REPOSITORY


def run_make(*targets: str) -> str:
    """Return what make prints, as from a terminal even if the tests run in a make."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return run("make", *targets, cwd=REPOSITORY, env=environ).stdout


def test_plain_make_lists_every_command_and_does_nothing_else():
    said = run_make()
    assert said == run_make("help")
    (targets,) = re.findall(r"^\.PHONY: (.+)$", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    listed = re.findall(r"^make (\S+)  ", said, re.MULTILINE)
    assert sorted(["help", *listed]) == sorted(targets.split())
    assert all(len(line) <= 80 and line.startswith(("make ", "     ")) for line in said.splitlines())


def test_the_readme_names_commands_that_exist():
    targets = re.findall(r"^([a-z-]+(?: [a-z-]+)*):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    known = {name for names in targets for name in names.split()}
    pages = [REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")]
    named = {name for page in pages for name in re.findall(r"`make ([a-z-]+)", page.read_text())}
    assert named <= known and {"paper", "test"} <= named


@pytest.mark.parametrize(
    ("command", "studies", "built"),
    [
        ("reference", "", ""),
        ("paper", "tables", ""),
        ("paper STUDIES=stacks,matrix", "tables stacks matrix", ""),
        ("study STUDIES=matrix", "matrix", ""),
        ("smoke", "all", ""),
        ("test", "all", ""),
        ("explain A=a.mlir B=b.mlir", "explain", ""),
        ("set-up", "", ""),
        ("set-up STUDIES=stacks,matrix", "stacks matrix", "stacks matrix"),
    ],
)
def test_set_up_makes_room_for_what_a_command_needs_and_builds_studies_by_name(command, studies, built):
    lines = run_make("--dry-run", *command.split()).splitlines()
    (checked,) = [line for line in lines if line.endswith("envs/setup.sh")]
    assert checked.split("'")[1].split() == studies.split()
    named = [line.split("--studies")[1].split() for line in lines if "--studies" in line]
    assert named == ([built.split()] if command.startswith("set-up") else [])


def test_the_targets_of_the_commands_are_rules():
    targets = re.findall(r"\$\(SNAKEMAKE\) (\w+)(?= |$)", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    texts = [path.read_text() for path in (REPOSITORY / "workflow" / "rules").glob("*.smk")]
    rules = {name for text in texts for name in re.findall(r"^rule (\w+):", text, re.MULTILINE)}
    assert {"results", "audits"} <= set(targets) <= rules
