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


def test_a_cell_waits_for_the_baseline_s_program_and_its_expected_values(checkout):
    planned, text = checkout.plan(CELL, *SMOKE)
    # It is measured in the rounds of torch_xla's cell, in which a replay of both programs takes part.
    assert planned == {"lower": 2, "expected": 1, "check": 1, "cell": 2, "total": 6}
    assert "programs/jax/gemm/base/program.mlir.gz" in text
    assert re.search(r"rule cell:\n +input: .*results/smoke/expected/gemm/base/expected.json", text)


def test_a_replay_waits_for_the_check_of_its_programs(checkout):
    planned, text = checkout.plan(REPLAY, *SMOKE)
    wanted = {"lower": 2, "expected": 1, "check": 2, "replay": 1}
    assert {rule: planned[rule] for rule in wanted} == wanted
    path = "results/smoke/checks/jaxlib-0.10.2/gemm/base/check.json"
    assert re.search(rf"rule replay:\n +input: .*{path}", text)
    # A check is of both frontends, and reads the expected values.
    read = re.search(r"rule check:\n +input: (.*)", text)[1]
    assert {"jax", "torch_xla"} == set(re.findall(r"programs/(\w+)/gemm/base/program.mlir.gz", read))
    assert "results/smoke/expected/gemm/base/expected.npz" in read


def test_an_odd_size_plans_its_own_programs_and_no_measurement(checkout):
    target = "results/full-values/checks/iree-3.13/gemm/odd1/check.json"
    planned, text = checkout.plan(target, "--config", "measure=[values]")
    assert planned == {"lower": 6, "expected": 1, "check": 1, "total": 8}
    assert set(re.findall(r"programs/\w+/gemm/(\w+)/program", text)) == {"odd1"}


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
