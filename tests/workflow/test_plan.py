"""What a run will do and cost, from a reference run."""

import json
from pathlib import Path

import pytest

from made_tables import cell
from measured import config
from stackwars.core.launch import REPOSITORY
from stackwars.setup.environments import folder
from stackwars.setup.needed import sizes_gb
from stackwars.study import budget, programs
from stackwars.study.results import schema
from stackwars.study.workflow import plan

GEMM = [
    cell("jax", rounds=2, wall_s=20.0, peak_rss_bytes=3 * 2**30),
    cell("torch_xla", rounds=4, wall_s=100.0, peak_rss_bytes=5 * 2**30),
]


FULL = config(preset="full")


def accept(reference: Path, run: str, rows: list[dict]) -> None:
    """Add a run with these cells to a reference."""
    schema.write(schema.table("cells", rows), reference / "runs" / run / "cells.csv")


@pytest.fixture
def reference(tmp_path, monkeypatch):
    """A reference of one run, which has cells of GEMM, and of FFN one that did not run; nothing else has a cost."""
    monkeypatch.setattr(plan, "REFERENCE", tmp_path)
    monkeypatch.setattr(budget, "costs", dict)
    monkeypatch.setattr(budget, "REFERENCE_SHARE", 0.5)
    accept(tmp_path, "2026-01-01", [*GEMM, cell("jax", "ffn", rounds=0)])
    return tmp_path


def output(framework: str, workload: str, preset: str = "full") -> str:
    return f"results/{preset}/cpu/{framework}/{workload}/cell.json"


def replayed(compiler: str, preset: str = "full") -> str:
    return f"results/{preset}/replay/cpu/{compiler}/gemm/replay.json"


def test_expected_seconds_of_a_cell_are_those_of_all_its_rounds(reference):
    outputs = [output("jax", "gemm"), output("torch_xla", "gemm"), output("jax", "gemm", "full-stacks")]
    assert list(plan.timed_s(FULL, outputs).values()) == [40.0, 200.0, 40.0], "on a machine of half the speed"


@pytest.mark.parametrize(
    "unknown",
    [output("jax", "ffn"), output("jax", "mha"), output("jax", "gemm", preset="smoke")],
    ids=["not run there", "not there", "another preset here"],
)
def test_nothing_is_expected_of_what_the_reference_did_not_run(reference, unknown):
    assert plan.timed_s(FULL, [unknown]) == {unknown: None}


def test_the_newest_run_that_measured_a_cell_says_what_it_takes(reference):
    accept(reference, "2026-01-02", [cell("jax", rounds=3, wall_s=6.0)])
    accept(reference, "2026-01-03", [cell("jax", rounds=0, status="not run")])
    outputs = [output(framework, "gemm") for framework in ("jax", "torch_xla")]
    assert list(plan.timed_s(FULL, outputs).values()) == [12.0, 200.0]


def test_replay_is_expected_to_take_what_its_rounds_took(reference):
    home = reference / "replay" / "cpu" / "some-xla" / "gemm"
    home.mkdir(parents=True)
    processes = [{"wall_s": 3.0}, {"wall_s": 5.0, "round_s": 6.0}]
    (home / "replay.json").write_text(json.dumps({"processes": processes}))
    outputs = [replayed("some-xla"), replayed("some-xla", "smoke"), replayed("some-xla", "full-matrix")]
    assert list(plan.timed_s(FULL, outputs).values()) == [18.0, None, 18.0]


def test_what_has_a_cost_takes_that_of_its_rounds_but_for_those_that_are_there(reference, monkeypatch):
    monkeypatch.chdir(reference)
    costs = {("cell", "cpu", "torch_xla", "gemm"): budget.Cost(30.0, 10.0)}
    monkeypatch.setattr(budget, "costs", lambda: costs)
    cell = output("torch_xla", "gemm")
    assert plan.timed_s(FULL, [cell]) == {cell: 30.0 + 4 * 10.0}
    for number in range(2):
        path = Path(cell).with_name("rounds") / str(number) / "round.json"
        path.parent.mkdir(parents=True)
        path.touch()
    assert plan.timed_s(FULL, [cell]) == {cell: 3 * 10.0}
    beside = output("jax", "gemm")
    assert plan.timed_s(FULL, [beside]) == {beside: 0.0}, "it is measured in the rounds of the other"


def test_plan_adds_up_time_memory_and_count(reference):
    text = plan.describe(config(preset="full"), [output(name, "gemm") for name in ("jax", "torch_xla")])
    lines = text.splitlines()
    assert lines[0] == "preset full: 2 cells and replays to measure"
    assert lines[1].split() == ["cpu", "jax", "gemm", "40", "s", "3.0", "GiB"]
    assert lines[2].split() == ["cpu", "torch_xla", "gemm", "200", "s", "5.0", "GiB"]
    assert lines[3].startswith("time: about 2 min on the machines of the reference, 4 on the slowest")
    assert "memory: at most 5.0 GiB in the reference; cap " in text


def test_plan_says_what_it_does_not_know(reference):
    outputs = [output("jax", "gemm"), output("jax", "mha"), output("jax", "ffn")]
    text = plan.describe(config(preset="full"), outputs)
    assert "nothing known of 2 (another preset or a new cell)" in text
    assert ["cpu", "jax", "mha", "?", "s", "?", "GiB"] in [line.split() for line in text.splitlines()]


def test_disk_is_that_of_the_environments_that_are_missing(reference, monkeypatch, tmp_path):
    monkeypatch.setenv("STACKWARS_ENVS", str(tmp_path))
    names = ["jax", "torch_xla", "xla-0.10.2", "xla-0.7.1"]
    total = sum(sizes_gb()[name] for name in names)
    missing = plan.describe(config(preset="full"), []).splitlines()[-1]
    assert missing.startswith(f"disk: about {total:.1f} GB for the environments {', '.join(names)}; ")
    for name in names:
        (folder(REPOSITORY / "envs" / f"{name}.txt") / "ready").mkdir(parents=True)
    assert "all environments are there" in plan.describe(config(preset="full"), [])


def test_the_plan_counts_the_compilations_for_targets(reference):
    assert " 0 compilations and searches for absent targets" in plan.describe(config(preset="full"), [])
    chosen = config(preset="full", measure=["targets"])
    count = len(programs.compilations(chosen))
    assert f" {count + len(programs.largest_batches(chosen))} compilations" in plan.describe(chosen, [])
