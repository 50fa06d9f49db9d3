"""The image has one step, the script that the bare tree runs, and takes no built file of the checkout with it."""

import re

import pytest

from stackwars.setup.environments import REPOSITORY
from time_setup import split_output


def test_the_image_is_a_debian_12_and_the_script():
    lines = (REPOSITORY / "Containerfile").read_text().splitlines()
    instructions = [line.split(maxsplit=1) for line in lines if not line.startswith("#")]
    steps = dict(instructions)
    assert len(steps) == len(instructions)
    assert (steps["FROM"], steps["RUN"]) == ("docker.io/library/debian:12", "envs/container.sh")
    assert steps["COPY"] == f". {steps['WORKDIR']}"


def test_what_git_ignores_stays_out_of_the_image():
    ignored = (REPOSITORY / ".gitignore").read_text().split()
    left_out = (REPOSITORY / ".dockerignore").read_text()
    for line in ignored:
        sign, name = re.fullmatch(r"(!?)/?(.+?)/?", line).groups()
        pattern = rf"^{sign}(\*\*/)?{re.escape(name)}$"
        assert re.search(pattern, left_out, re.MULTILINE), f"expected {line} in .dockerignore"


OUTPUT = """\
10.0 Get:1 packages
70.5 [set-up] installing texlive ...
100.0 [set-up] building the harness environment with Python 3.11.2 ...
130.0 [environment] building jax-0123abcd from jax.txt ...
150.0 [environment] jax-0123abcd ready after 20 s
150.5 [environment] building xla-0.7.1-0123abcd from xla-0.7.1.txt ...
"""


def test_parts_begin_with_the_lines_that_name_them():
    assert split_output(OUTPUT, 5.0, 200.0) == pytest.approx(
        {"packages of Debian": 95.0, "harness": 30.0, "environment jax": 20.5, "environment xla-0.7.1": 49.5}
    )
