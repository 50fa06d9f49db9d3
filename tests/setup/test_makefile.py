"""Plain `make` measures nothing: it lists every command."""

import os
import re
import subprocess

from stackwars.setup.environments import REPOSITORY


def run_make(*targets: str) -> str:
    """Return what make prints, as from a terminal even if the tests run in a make."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", *targets]
    return subprocess.run(
        command, cwd=REPOSITORY, env=environ, capture_output=True, text=True, check=True
    ).stdout


def test_plain_make_lists_every_command_and_does_nothing_else():
    said = run_make()
    assert said == run_make("help")
    (targets,) = re.findall(r"^\.PHONY: (.+)$", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    listed = re.findall(r"^make (\S+)  ", said, re.MULTILINE)
    assert sorted(["help", *listed]) == sorted(targets.split())
    assert all(len(line) <= 120 and line.startswith(("make ", "     ")) for line in said.splitlines())


def test_the_readme_names_commands_that_exist():
    targets = re.findall(r"^([a-z-]+(?: [a-z-]+)*):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    known = {name for names in targets for name in names.split()}
    pages = [REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")]
    named = {name for page in pages for name in re.findall(r"`make ([a-z-]+)", page.read_text())}
    assert named <= known and {"paper", "test"} <= named
