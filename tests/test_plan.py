"""What a run will do and cost, from a reference run."""

import csv

import pytest

from measured import config
from stackwars import cells, plan
from stackwars.cells import Cell
from stackwars.environments import REPOSITORY, folder

FRAMEWORKS = ("jax", "torch_xla", "torch_xla_pending")
COLUMNS = ("framework", "workload", "device", "preset", "repetitions", "wall_s", "peak_rss_bytes")
ROWS = [
    ("jax", "gemm", "cpu", "smoke", "2", "20.0", str(3 * 2**30)),
    ("torch_xla", "gemm", "cpu", "smoke", "4", "100.0", str(5 * 2**30)),
    ("jax", "ffn", "cpu", "smoke", "0", "", ""),
    ("torch_xla", "ffn", "cpu", "full", "3", "90.0", str(2**30)),
]


def three(**changes) -> dict:
    """A configuration with three frameworks."""
    whole = config(**changes)
    whole["frameworks"]["torch_xla_pending"] = whole["frameworks"]["torch_xla"]
    return whole


@pytest.fixture
def reference(tmp_path, monkeypatch):
    """A reference run of four cells."""
    path = tmp_path / "frame.csv"
    with path.open("w") as file:
        csv.writer(file).writerows([COLUMNS, *ROWS])
    monkeypatch.setattr(plan, "REFERENCE", path)


def output(framework: str, workload: str, repetition: int = 0, preset: str = "smoke") -> str:
    return f"results/{preset}/cpu/{framework}/{workload}/process-{repetition}"


def test_processes_run_by_workload_then_repetition_then_framework_there_and_back():
    whole = three(devices=["cpu"])
    every = [(cell, n) for cell in cells.asked(whole) for n in range(3)]
    order = sorted(every, key=lambda item: -plan.priority(whole, *item))
    assert [(c.workload, n, c.framework) for c, n in order] == [
        (workload, n, framework)
        for workload in ("gemm", "ffn")
        for n, turn in enumerate((FRAMEWORKS, FRAMEWORKS[::-1], FRAMEWORKS))
        for framework in turn
    ]


def test_devices_follow_each_other():
    whole = three()
    last_on_cpu = plan.priority(whole, Cell("torch_xla", "ffn", "cpu"), 99)
    assert last_on_cpu > plan.priority(whole, Cell("jax", "gemm", "tpu"), 0)


def test_cells_come_before_the_processes_of_others():
    # A finished cell is put together at once; the rule gives it a million.
    whole = three()
    assert max(plan.priority(whole, cell, 0) for cell in cells.asked(whole)) < 1_000_000


def test_expected_seconds_are_those_of_one_process(reference):
    outputs = [output("jax", "gemm"), output("torch_xla", "gemm", 1)]
    assert plan.expected_process_s(outputs) == {outputs[0]: 10.0, outputs[1]: 25.0}


@pytest.mark.parametrize(
    "unknown",
    [output("jax", "ffn"), output("torch_xla", "ffn"), output("jax", "mha"),
     output("jax", "gemm", preset="full")],
    ids=["not run there", "another preset there", "not there", "another preset here"],
)  # fmt: skip
def test_nothing_is_expected_of_what_the_reference_did_not_run(reference, unknown):
    assert plan.expected_process_s([unknown]) == {unknown: None}


def test_without_a_reference_nothing_is_expected(tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "REFERENCE", tmp_path / "gone.csv")
    assert plan.expected_process_s([output("jax", "gemm")]) == {output("jax", "gemm"): None}


def test_plan_adds_up_time_memory_and_count(reference):
    outputs = [output(f, "gemm", n) for f in ("jax", "torch_xla") for n in (0, 1)]
    text = plan.describe(config(), outputs)
    lines = text.splitlines()
    assert lines[0] == "preset smoke: 2 cells and replays to measure, 4 processes"
    assert lines[1].split() == ["cpu", "jax", "gemm", "2", "processes", "20", "s", "3.0", "GiB"]
    assert lines[2].split() == [
        "cpu",
        "torch_xla",
        "gemm",
        "2",
        "processes",
        "50",
        "s",
        "5.0",
        "GiB",
    ]
    assert "time: about 1 min by the reference run" in lines
    assert "memory: at most 5.0 GiB in the reference run; cap " in text


def test_plan_says_what_it_does_not_know(reference):
    text = plan.describe(
        config(), [output("jax", "gemm"), output("jax", "mha"), output("jax", "ffn")]
    )
    assert "no reference for 2 processes" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["cpu", "jax", "mha", "1", "processes", "?", "s", "?", "GiB"] in lines


def test_plan_of_nothing(reference):
    text = plan.describe(config(), [])
    assert text.startswith(
        "preset smoke: 0 cells and replays to measure, 0 processes\ntime: about 0 min"
    )


def test_disk_is_that_of_the_environments_that_are_missing(reference, monkeypatch, tmp_path):
    monkeypatch.setenv("STACKWARS_ENVS", str(tmp_path))
    names = ["jax", "torch_xla", "xla-0.7.1", "xla-0.10.2", "xla-cuda"]
    missing = plan.describe(config(), []).splitlines()[-1]
    assert missing.startswith(f"disk: about 10.7 GiB for the environments {', '.join(names)}; ")
    for name in names[1:]:
        folder(REPOSITORY / "envs" / f"{name}.txt").mkdir()
    assert "about 0.9 GiB for the environments jax; " in plan.describe(config(), [])
    folder(REPOSITORY / "envs" / "jax.txt").mkdir()
    assert "all environments are there" in plan.describe(config(), [])


def test_without_programs_no_compiler_is_needed(reference, monkeypatch, tmp_path):
    monkeypatch.setenv("STACKWARS_ENVS", str(tmp_path))
    missing = plan.describe({**config(), "programs": []}, []).splitlines()[-1]
    assert missing.startswith("disk: about 8.0 GiB for the environments jax, torch_xla; ")
