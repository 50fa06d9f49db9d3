"""What a run will do and cost, from config/costs.csv and a reference run."""

import json
from pathlib import Path

import pytest

from made_tables import cell
from measured import config
from stackwars.core.launch import REPOSITORY
from stackwars.setup.environments import folder, sizes_gb
from stackwars.study import budget
from stackwars.study.results import schema
from stackwars.study.workflow import plan

GEMM = [
    cell("jax", rounds=2, wall_s=20.0, peak_rss_bytes=3 * 2**30),
    cell("torch_xla", rounds=4, wall_s=100.0, peak_rss_bytes=5 * 2**30),
]
MACHINE = {"cpu_model": "a CPU", "cores": 2}
FULL = config(preset="full")


def accept(reference: Path, run: str, rows: list[dict]) -> None:
    """Add a run with these cells to a reference."""
    schema.write(schema.table("cells", rows), reference / "runs" / run / "cells.csv")
    (reference / "runs" / run / "context.json").write_text(json.dumps({"machine": MACHINE}))


@pytest.fixture
def reference(tmp_path, monkeypatch):
    """A reference of one run, which has cells of GEMM, and of FFN one that did not run; nothing else has a cost."""
    monkeypatch.setattr(plan, "REFERENCE", tmp_path)
    monkeypatch.setattr(budget, "costs", dict)
    accept(tmp_path, "2026-01-01", [*GEMM, cell("torch_xla", "ffn", rounds=0)])
    return tmp_path


def output(framework: str, workload: str, preset: str = "full") -> str:
    return f"results/{preset}/cpu/{framework}/{workload}/cell.json"


def replayed(compiler: str, preset: str = "full") -> str:
    return f"results/{preset}/replay/cpu/{compiler}/gemm/replay.json"


def seconds(*outputs: str) -> list[float | None]:
    return [known and known[0] for known in plan.timed_s(FULL, list(outputs)).values()]


def test_expected_seconds_of_a_cell_are_those_of_all_its_rounds(reference):
    outputs = [output("jax", "gemm"), output("torch_xla", "gemm"), output("torch_xla", "gemm", "full-stacks")]
    assert seconds(*outputs) == [0.0, 100.0, 100.0], "the baseline is measured in the rounds of the other"
    assert plan.timed_s(FULL, outputs[1:2]) == {outputs[1]: (100.0, "2 cores of a CPU")}


@pytest.mark.parametrize(
    "unknown",
    [output("torch_xla", "ffn"), output("torch_xla", "mha"), output("torch_xla", "gemm", preset="smoke")],
    ids=["not run there", "not there", "another preset here"],
)
def test_nothing_is_expected_of_what_the_reference_did_not_run(reference, unknown):
    assert seconds(unknown) == [None]


def test_the_newest_run_that_measured_a_cell_says_what_it_takes(reference):
    accept(reference, "2026-01-02", [cell("torch_xla", rounds=3, wall_s=6.0)])
    accept(reference, "2026-01-03", [cell("torch_xla", rounds=0, status="not run")])
    assert seconds(output("torch_xla", "gemm")) == [6.0]


def test_replay_is_expected_to_take_what_its_rounds_took(reference):
    home = reference / "replay" / "cpu" / "some-xla" / "gemm"
    home.mkdir(parents=True)
    processes = [{"wall_s": 3.0, "machine": MACHINE}, {"wall_s": 5.0, "round_s": 6.0, "machine": MACHINE}]
    (home / "replay.json").write_text(json.dumps({"processes": processes}))
    outputs = [replayed("some-xla"), replayed("some-xla", "smoke"), replayed("some-xla", "full-matrix")]
    assert seconds(*outputs) == [9.0, None, 9.0]


def test_what_has_a_cost_takes_that_of_its_rounds_but_for_those_that_are_there(reference, monkeypatch):
    monkeypatch.chdir(reference)
    costs = {("cell", "cpu", "torch_xla", "gemm"): budget.Cost(30.0, 10.0, "a slow one")}
    monkeypatch.setattr(budget, "costs", lambda: costs)
    cell = output("torch_xla", "gemm")
    assert plan.timed_s(FULL, [cell]) == {cell: (30.0 + 4 * 10.0, "a slow one")}
    for number in range(2):
        path = Path(cell).with_name("rounds") / str(number) / "round.json"
        path.parent.mkdir(parents=True)
        path.touch()
    assert seconds(cell) == [3 * 10.0]


def test_plan_adds_up_time_memory_and_count(reference, monkeypatch):
    outputs = [output("jax", "gemm"), output("torch_xla", "gemm"), output("torch_xla", "mha")]
    costs = {budget.ONCE: budget.Cost(60.0, 0.0, "a slow one")}
    monkeypatch.setattr(budget, "costs", lambda: costs)
    lines = plan.describe(FULL, outputs).splitlines()
    assert lines[0] == "preset full: 3 cells and replays to measure"
    assert lines[1].split() == ["cpu", "jax", "gemm", "0", "s", "3.00", "GiB"]
    assert lines[2].split() == ["cpu", "torch_xla", "gemm", "100", "s", "5.00", "GiB"]
    assert lines[3].split() == ["cpu", "torch_xla", "mha", "?", "s", "?", "GiB"]
    time = "time: about 60 s on a slow one, 1.7 min on 2 cores of a CPU; nothing known of 1 (another preset or"
    assert lines[4].startswith(time)
    assert "memory: at most 5.00 GiB in the reference; cap " in "\n".join(lines)


def test_the_seconds_of_the_repository_name_their_machine():
    assert budget.machine() and plan.spans({budget.machine(): 90}) == f"about 1.5 min on {budget.machine()}"
    assert "time: none" in plan.describe(FULL, [])


def test_disk_is_that_of_the_environments_that_are_missing(reference, monkeypatch, tmp_path):
    monkeypatch.setenv("STACKWARS_ENVS", str(tmp_path))
    names = ["jax", "torch_xla", "xla-0.10.2", "xla-0.7.1"]
    total = sum(sizes_gb()[name] for name in names)
    missing = plan.describe(FULL, []).splitlines()[-1]
    assert missing.startswith(f"disk: about {total:.1f} GB for the environments {', '.join(names)}; ")
    for name in names:
        (folder(REPOSITORY / "envs" / f"{name}.txt") / "ready").mkdir(parents=True)
    assert "all environments are there" in plan.describe(FULL, [])
