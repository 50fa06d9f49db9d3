"""The table of processes is what their analysis says, made once, and reading it gives the same numbers."""

import json

import pytest

from measured import GEMM, blocks, config, process, write_cell, write_results
from stackwars.audits import aa
from stackwars.measure import process_value, steady
from stackwars.results import aggregate, processes, split
from stackwars.results.folder import Folder
from stackwars.results.processes import COLUMNS
from stackwars.study.cells import Cell

TORCH = Cell("torch_xla", "gemm", "cpu")
STEADY = (1.0, 1.1, 1.2) * 10
SLOW = (5.0,) * 5
OOM = ("oom", "refused at build: no memory")
MADE = [
    process(repetition=0, second_ms=1.0, steady_ms=STEADY),
    process(repetition=1, second_ms=5.0, steady_ms=SLOW + STEADY, wait=(0.5,) * 5 + (0, 0.4, 0) * 10),
    process(repetition=3, steady_ms=STEADY, wait=(0.0, *[0.7] * 28, 0.0)),
    process(repetition=4, steady_ms=STEADY, others=0.07),
]  # fmt: skip
PROGRAM = {
    **{"status": "ok", "status_detail": "", "parity_rel_l2": 0.0, "native_rel_l2": 0.0},
    **{"first_ns": [9_000_000] * 2, "second_ns": [1_000_000] * 2, "steady": [blocks(STEADY)] * 2},
}
REPLAY = {
    **{"workload": "gemm", "device": "cpu", "compiler": "jaxlib-0.7.1"},
    "processes": [{"repetition": 0}, {"repetition": 2}],
    "programs": {"jax": PROGRAM, "jax+edit": {"status": "invalid"}},
}


def rows(*made: dict, status: str = "ok") -> list[dict]:
    table = processes.build({GEMM: {"status": status, "processes": list(made)}})
    assert list(table.columns) == [name for name in COLUMNS if name != "compiler"]
    return table.to_dict("records")


def test_rows_are_what_the_analysis_says():
    found, said = rows(*MADE), process_value.of_processes(MADE)
    assert [row["repetition"] for row in found] == list(said) == [0, 1, 3, 4]
    for row, value in zip(found, said.values(), strict=True):
        assert row["value_ms"] == (value.gated_ms or value.all_ms)
        assert (row["ungated_ms"], row["kept_share"]) == (value.all_ms, value.kept)
        assert (row["class"], row["warmup_points"]) == (value.kind, value.warmup)
    assert (found[1]["class"], found[1]["steady_blocks"]) == (steady.WARM_UP, 30)
    assert (found[1]["value_ms"], found[1]["kept_share"]) == pytest.approx((1.1, 2 / 3))


def test_process_that_is_not_gated_says_why():
    assert [(row["gated"], row["why"]) for row in rows(*MADE)] == [
        *[(True, "")] * 2,
        (False, "2 of 30 steady blocks are uncontended, 3 are needed"),
        (False, "other processes had 7.0 % of the cores, over 5 %"),
    ]


def test_processes_of_a_failed_cell_have_a_reason_and_no_value():
    failed = rows(process(status=OOM), process(repetition=1), status="oom")
    assert [row["why"] for row in failed] == [OOM[1], "oom"]
    assert not any(row["value_ms"] > 0 for row in failed)


def test_what_is_read_is_what_was_written(tmp_path):
    cells = {GEMM: {"status": "ok", "processes": MADE}, TORCH: {"status": "oom", "processes": []}}
    processes.build(cells).to_csv(tmp_path / "processes.csv", index=False)
    found = processes.read(tmp_path / "processes.csv")
    assert found == {("gemm", "jax", "cpu"): process_value.of_processes(MADE)}


def test_programs_of_a_replay_have_a_row_in_each_process(tmp_path):
    table = processes.build_replayed([REPLAY])
    assert list(table.columns) == list(COLUMNS)
    table.to_csv(tmp_path / "replayed.csv", index=False)
    ((where, values),) = processes.read(tmp_path / "replayed.csv").items()
    assert where == ("gemm", "jax", "cpu", "jaxlib-0.7.1")
    calls = (9_000_000, 1_000_000), blocks(STEADY)
    assert values == process_value.of_rounds({0: calls, 2: calls})


def test_calls_of_a_process_are_analysed_once_for_all_that_reads_them(tmp_path, monkeypatch):
    asked, seen, classify = config(), [], steady.classify
    write_results(tmp_path)
    write_cell(tmp_path, MADE)
    write_cell(tmp_path, [process(TORCH, n) for n in (0, 1)])
    home = tmp_path / "replay" / "cpu" / REPLAY["compiler"] / "gemm"
    home.mkdir(parents=True)
    both = {"jax": PROGRAM, "torch_xla": PROGRAM}
    (home / "replay.json").write_text(json.dumps({**REPLAY, "programs": both}))
    monkeypatch.setattr(steady, "classify", lambda series: seen.append(series) or classify(series))
    aggregate.aggregate(asked, Folder(tmp_path))
    split.write(asked, Folder(tmp_path))
    assert list(aa.trials(tmp_path)) == []
    assert len(seen) == len(MADE) + 2 + 2 * 2
