"""What a run will do and cost, from a reference run."""

import json
from pathlib import Path

import pytest

from measured import config
from stackwars.results import schema
from stackwars.setup.environments import REPOSITORY, folder
from stackwars.setup.needed import sizes_gb
from stackwars.study import cells
from stackwars.study.cells import Cell
from stackwars.study.programs import ReplayCell
from stackwars.workflow import plan

FRAMEWORKS = ("jax", "torch_xla", "torch_xla_pending")
GEMM = [
    {"framework": "jax", "rounds": 2, "wall_s": 20.0, "peak_rss_bytes": 3 * 2**30},
    {"framework": "torch_xla", "rounds": 4, "wall_s": 100.0, "peak_rss_bytes": 5 * 2**30},
]


def three(**changes) -> dict:
    """A configuration with three frameworks."""
    whole = config(**changes)
    whole["frameworks"]["torch_xla_pending"] = whole["frameworks"]["torch_xla"]
    return whole


def accept(reference: Path, run: str, rows: list[dict]) -> None:
    """Add a run with these native cells on the CPU to a reference."""
    cell = {"mode": schema.NATIVE, "workload": "gemm", "device": "cpu", "status": "ok"}
    table = schema.table("cells", [cell | row for row in rows])
    schema.write(table, reference / "runs" / run / "cells.csv")


@pytest.fixture
def reference(tmp_path, monkeypatch):
    """A reference of one run, which has cells of GEMM, and of FFN one that did not run."""
    monkeypatch.setattr(plan, "REFERENCE", tmp_path)
    accept(tmp_path, "2026-01-01", [*GEMM, {"framework": "jax", "workload": "ffn", "rounds": 0}])
    return tmp_path


def output(framework: str, workload: str, repetition: int = 0, preset: str = "full") -> str:
    return f"results/{preset}/cpu/{framework}/{workload}/process-{repetition}"


def ordered(whole: dict, rounds: int) -> list[tuple[str, int, str]]:
    """(workload, round, framework or compiler) of every process on the CPU, in the order of the run."""
    found = {}
    for cell in cells.asked(whole):
        for n in range(rounds):
            found[cell.workload, n, cell.framework] = plan.priority(whole, cell, n)
    for workload in whole["workloads"]:
        for compiler in whole["compilers"]:
            replay = ReplayCell("cpu", compiler, workload)
            for n in range(rounds):
                found[workload, n, compiler] = plan.replay_priority(whole, replay, n)
    assert len(set(found.values())) == len(found), "no two have the same place"
    return sorted(found, key=lambda key: -found[key])


def test_rounds_of_a_workload_follow_each_other_whole():
    whole = three(devices=["cpu"])
    order = ordered(whole, 12)
    places = [(workload, n) for workload, n, _ in order]
    every = {*FRAMEWORKS, *whole["compilers"]}
    assert places == [(w, n) for w in ("gemm", "ffn") for n in range(12) for _ in every]


def test_order_within_a_round_is_random_and_the_same_each_time():
    whole = three(devices=["cpu"])
    order = ordered(whole, 40)
    assert order == ordered(three(devices=["cpu"]), 40)
    assert order != ordered({**whole, "settings": {**whole["settings"], "seed": 1}}, 40)
    of_round = {}
    for workload, n, who in order:
        of_round.setdefault((workload, n), []).append(who)
    for workload in ("gemm", "ffn"):
        turns = [of_round[workload, n] for n in range(40)]
        assert len({tuple(turn) for turn in turns}) > 20
        # Whoever it is comes first sometimes, and not most of the time.
        firsts = [turn[0] for turn in turns]
        for who in {*FRAMEWORKS, *whole["compilers"]}:
            assert 2 <= firsts.count(who) <= 20
    assert of_round["gemm", 0] != of_round["ffn", 0] or of_round["gemm", 1] != of_round["ffn", 1]


def test_devices_follow_each_other():
    whole = three()
    last_on_cpu = plan.priority(whole, Cell("torch_xla", "ffn", "cpu"), 99)
    assert last_on_cpu > plan.priority(whole, Cell("jax", "gemm", "tpu"), 0)


def test_expected_seconds_are_those_of_one_process(reference):
    outputs = [output("jax", "gemm"), output("torch_xla", "gemm", 1)]
    assert plan.expected_process_s(outputs) == {outputs[0]: 10.0, outputs[1]: 25.0}
    study = output("jax", "gemm", preset="full-stacks")
    assert plan.expected_process_s([study]) == {study: 10.0}


@pytest.mark.parametrize(
    "unknown",
    [output("jax", "ffn"), output("jax", "mha"), output("jax", "gemm", preset="smoke")],
    ids=["not run there", "not there", "another preset here"],
)
def test_nothing_is_expected_of_what_the_reference_did_not_run(reference, unknown):
    assert plan.expected_process_s([unknown]) == {unknown: None}


def test_the_newest_run_that_measured_a_cell_says_what_it_takes(reference):
    accept(reference, "2026-01-02", [{"framework": "jax", "rounds": 3, "wall_s": 6.0}])
    accept(reference, "2026-01-03", [{"framework": "jax", "rounds": 0, "status": "not run"}])
    outputs = [output(framework, "gemm") for framework in ("jax", "torch_xla")]
    assert list(plan.expected_process_s(outputs).values()) == [2.0, 25.0]


def test_rounds_beyond_those_of_the_reference_take_no_time(reference):
    outputs = [output("jax", "gemm", n) for n in range(4)]
    expected = plan.expected_process_s(outputs)
    assert [expected[o] for o in outputs] == [10.0, 10.0, 0.0, 0.0]


def test_cell_that_ran_out_of_memory_costs_its_first_process(reference):
    accept(reference, "2026-01-02", [{"framework": "jax", "rounds": 1, "wall_s": 20.0, "status": "oom"}])
    outputs = [output("jax", "gemm", n) for n in (0, 1)]
    assert plan.expected_process_s(outputs) == {outputs[0]: 20.0, outputs[1]: 0.0}


def test_replay_is_expected_to_take_what_its_rounds_took(tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "REFERENCE", tmp_path)
    home = tmp_path / "replay" / "cpu" / "some-xla" / "gemm"
    home.mkdir(parents=True)
    processes = [{"wall_s": 3.0}, {"wall_s": 5.0}]
    (home / "replay.json").write_text(json.dumps({"processes": processes}))
    outputs = [f"results/full/replay/cpu/some-xla/gemm/process-{n}" for n in range(3)]
    expected = plan.expected_process_s(outputs)
    assert [expected[o] for o in outputs] == [4.0, 4.0, 0.0]
    other = outputs[0].replace("full", "smoke")
    assert plan.expected_process_s([other]) == {other: None}
    study = outputs[0].replace("full", "full-matrix")
    assert plan.expected_process_s([study]) == {study: 4.0}


def test_plan_adds_up_time_memory_and_count(reference):
    outputs = [output(f, "gemm", n) for f in ("jax", "torch_xla") for n in (0, 1)]
    text = plan.describe(config(preset="full"), outputs)
    lines = text.splitlines()
    assert lines[0] == "preset full: 2 cells and replays to measure, at most 4 processes"
    assert lines[1].split() == ["cpu", "jax", "gemm", "2", "processes", "20", "s", "3.0", "GiB"]
    assert lines[2].split() == ["cpu", "torch_xla", "gemm", "2", "processes", "50", "s", "5.0", "GiB"]
    assert "time: about 1 min by the reference" in lines
    assert "memory: at most 5.0 GiB in the reference; cap " in text


def test_plan_says_what_it_does_not_know(reference):
    text = plan.describe(
        config(preset="full"), [output("jax", "gemm"), output("jax", "mha"), output("jax", "ffn")]
    )
    assert "no reference for 2 processes" in text
    assert ["cpu", "jax", "mha", "1", "processes", "?", "s", "?", "GiB"] in [
        line.split() for line in text.splitlines()
    ]


def test_disk_is_that_of_the_environments_that_are_missing(reference, monkeypatch, tmp_path):
    monkeypatch.setenv("STACKWARS_ENVS", str(tmp_path))
    names = ["jax", "torch_xla", "xla-0.10.2", "xla-0.7.1"]  # two compilers replay, none is IREE
    total = sum(sizes_gb()[name] for name in names)
    missing = plan.describe(config(preset="full"), []).splitlines()[-1]
    assert missing.startswith(f"disk: about {total:.1f} GB for the environments {', '.join(names)}; ")
    for name in names[1:]:
        folder(REPOSITORY / "envs" / f"{name}.txt").mkdir()
    assert "about 0.9 GB for the environments jax; " in plan.describe(config(preset="full"), [])
    folder(REPOSITORY / "envs" / "jax.txt").mkdir()
    assert "all environments are there" in plan.describe(config(preset="full"), [])


def test_without_programs_no_compiler_is_needed(reference, monkeypatch, tmp_path):
    monkeypatch.setenv("STACKWARS_ENVS", str(tmp_path))
    without = [row | {"compare": ["cells"]} for row in config()["comparisons"]]
    missing = plan.describe({**config(preset="full"), "comparisons": without}, []).splitlines()[-1]
    assert missing.startswith("disk: about 8.5 GB for the environments jax, torch_xla; ")
