"""The image has one step, the script that the bare tree runs, and takes no built file of the checkout with it."""

import re

from stackwars.core.launch import REPOSITORY


def test_the_image_is_a_debian_12_and_the_script():
    lines = (REPOSITORY / "Containerfile").read_text().splitlines()
    instructions = [line.split(maxsplit=1) for line in lines if not line.startswith("#")]
    steps = dict(instructions)
    assert len(steps) == len(instructions)
    assert re.fullmatch(r"docker\.io/library/debian@sha256:[0-9a-f]{64}", steps["FROM"])
    assert steps["RUN"] == "envs/container.sh"
    assert steps["COPY"] == f". {steps['WORKDIR']}"


def test_what_git_ignores_stays_out_of_the_image():
    ignored = (REPOSITORY / ".gitignore").read_text().split()
    left_out = (REPOSITORY / ".dockerignore").read_text()
    for line in ignored:
        sign, name = re.fullmatch(r"(!?)/?(.+?)/?", line).groups()
        pattern = rf"^{sign}(\*\*/)?{re.escape(name)}$"
        assert re.search(pattern, left_out, re.MULTILINE), f"expected {line} in .dockerignore"
