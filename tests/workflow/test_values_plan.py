"""What a run plans so that values can be judged: programs, expected values and checks come before what is measured."""

import os
import re
import time

import pytest

import study

pytestmark = pytest.mark.slow
SMOKE = ("--config", "preset=smoke")
CELL = "results/smoke/cpu/jax/gemm/cell.json"
REPLAY = "results/smoke/replay/cpu/jaxlib-0.10.2/gemm/replay.json"


def test_an_edit_of_a_frontend_s_lowering_checks_and_replays_its_programs_again(checkout):
    by_date = ("--rerun-triggers", "mtime")
    finish(checkout, checkout.plan(REPLAY, *SMOKE)[1])
    assert "Nothing to be done" in checkout.plan(REPLAY, *by_date, *SMOKE)[1]
    study.write(checkout.folder / "src/stackwars/compilers/lower_torch_xla.py", "\nEDITED = True\n")
    planned, _ = checkout.plan(REPLAY, *by_date, *SMOKE)
    assert {"lower", "check", "replay"} <= set(planned)
    assert planned["lower"] == planned["replay"] == 1
    # The program is replayed in the rounds of the cells, too.
    assert planned["check"] == planned["cell"] == 2
    # The expected values are of the baseline's program, which is as it was.
    assert not {"expected", "process", "peak"} & set(planned)


def finish(checkout, text: str) -> None:
    """Put files of one date in the place of everything that a dry run plans."""
    outputs = [path for line in re.findall(r"output: (.*)", text) for path in line.split(", ")]
    assert outputs
    date = time.time()
    for path in outputs:
        file = checkout.folder / re.sub(r" \(.*", "", path)
        file.parent.mkdir(parents=True, exist_ok=True)
        if "." in file.name:
            file.write_text("{}")
        else:
            file.mkdir(exist_ok=True)
    for path in outputs:
        os.utime(checkout.folder / re.sub(r" \(.*", "", path), (date, date))
