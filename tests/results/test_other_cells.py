"""The rows of cells.csv that are not native: replays, growing sizes, several shapes, several devices."""

import json

import numpy as np
import pytest

from made_tables import OLD, measured_replay, only, values_of
from measured import config
from stackwars.core.hlo import COLLECTIVES
from stackwars.study import growth, programs, sharding
from stackwars.study.growth import Point
from stackwars.study.programs import ReplayCell
from stackwars.study.results import cells as table_of_cells
from stackwars.study.results import raw, rounds, schema
from stackwars.study.results.raw import Raw
from stackwars.study.studies import with_programs

GEMM = ReplayCell("cpu", OLD, "gemm")
MEDIANS = {"jax": (9.9, 11.1, 12.0), "torch_xla": (18.0, 19.0, 20.0)}


def replayed(medians=MEDIANS, **changes):
    """The rows of the only replay that was run."""
    found = Raw(replays={GEMM: measured_replay(medians, **changes)})
    rows = list(table_of_cells.replayed(config(), found))
    table = schema.table("cells", rows)
    return table[table["status"] != "not run"].set_index("framework")


def test_a_replay_that_nobody_ran_has_rows_that_say_so():
    asked = config()
    table = schema.table("cells", list(table_of_cells.replayed(asked, Raw())))
    assert len(table) == len(programs.replays(asked)) * len(with_programs(asked)) > 0
    assert set(zip(table["status"], table["status_detail"], strict=True)) == {("not run", "no result")}
    none = config(comparisons=[asked.comparisons[0].changed(compare=["cells"])])
    assert list(table_of_cells.replayed(none, Raw())) == []


def test_invalid_program_shows_no_time():
    found = replayed(status="invalid").loc["jax"]
    assert (found["status"], found["status_detail"], found["rounds"]) == ("invalid", "why", 0)
    assert np.isnan(found["steady_ms"])


def test_wrong_program_of_a_replay_shows_its_time_struck_out_and_the_others_keep_theirs():
    replay = measured_replay(MEDIANS)
    none = {"first_ns": [], "second_ns": [], "steady": [], "loops": []}
    detail = "96 of 128 elements wrong"
    wrong = {
        "status": "wrong",
        "status_detail": detail,
        "values": values_of(wrong=96, l2=0.5),
        "struck_ns": 4.5e6,
    }
    replay["programs"]["jax"] = {**none, **wrong}
    replay["programs"]["torchax"] = {
        **none, "status": "crash", "status_detail": "SIGSEGV in the first call", "values": None, "struck_ns": None,
    }  # fmt: skip
    found = Raw(replays={GEMM: replay})
    table = schema.table("cells", list(table_of_cells.replayed(config(), found)))
    rows = (
        table[table["rounds"].notna()].set_index("framework").query("compiler == @OLD and workload == 'gemm'")
    )
    jax, other = rows.loc["jax"], rows.loc["torch_xla"]
    assert tuple(jax[["status", "status_detail", "struck_ms", "wrong_elements"]]) == ("wrong", detail, 4.5, 96)
    assert np.isnan(jax["steady_ms"]) and jax["parity_rel_l2"] == 0.5
    assert other["status"] == "ok" and other["steady_ms"] == pytest.approx((18 * 19 * 20) ** (1 / 3))
    assert rows.loc["torchax", "status"] == "crash" and np.isnan(rows.loc["torchax", "struck_ms"])
    assert rounds.build(config(), found, table).query("quantity == 'replay'").empty
    times = rounds.build(config(), found, table).query("quantity == 'process'")
    assert set(times["subject"]) == {"torch_xla"}


FIRST = {"event": "first", "ns": 5e8, "trace_s": 0.1, "compile_s": None}
STEADY = {"event": "steady", "ns": [4e6, 2e6, 6e6], "calls": 2}


def grown(folder, point: Point, events=(FIRST, STEADY), status="ok", node=None):
    """Write a process of a growing size."""
    path = folder / point.path
    path.mkdir(parents=True)
    process = {"status": status, "status_detail": "" if status == "ok" else "why", "events": events}
    process["machine"] = {"node": node} if node else {}
    (path / "process.json").write_text(json.dumps(process))


def rows_of_growth(folder):
    (folder / "devices.json").write_text("{}")
    asked = config(workloads=["decode", "attention_window"], measure=["beyond"])
    return schema.table("cells", list(table_of_cells.grown(raw.read(asked, folder))))


def test_row_of_a_growing_size(tmp_path):
    grown(tmp_path, Point("jax", "decode", "layers", "4"))
    grown(tmp_path, Point("torch_xla", "decode", "layers", "4"), (), "timeout")
    table = rows_of_growth(tmp_path)
    found = only(table, framework="jax")
    assert tuple(found[["mode", "size", "value", "rounds"]]) == ("growth", "layers", 4, 1)
    assert tuple(found[["first_ms", "steady_ms", "first_trace_ms"]]) == (500, 2, 100)
    assert np.isnan(found["first_compile_ms"])
    failed = only(table, framework="torch_xla")
    assert (failed["status"], failed["status_detail"]) == ("timeout", "why")
    assert np.isnan(failed["first_ms"])


def test_a_series_of_two_nodes_is_invalid(tmp_path):
    for framework, nodes in (("jax", ("n1", "n2")), ("torch_xla", ("n1", "n1"))):
        for layers, node in zip(("1", "2"), nodes, strict=True):
            grown(tmp_path, Point(framework, "decode", "layers", layers), node=node)
    table = rows_of_growth(tmp_path).set_index(["framework", "value"])
    assert list(table.loc["torch_xla", "status"]) == ["ok", "ok"]
    assert list(table.loc["jax", "status"]) == ["invalid", "invalid"]
    assert table.loc["jax", "first_ms"].isna().all()
    assert "expected one node for all values, got n1, n2" in table.loc[("jax", 1), "status_detail"]


def test_rows_of_several_shapes(tmp_path):
    calls = [
        {"event": "shape", "value": value, "turn": turn, "ns": 1e6, "compiles": int((turn, value) == (0, 8))}
        for turn in (0, 1)
        for value in (8, 16)
    ]
    grown(tmp_path, Point("jax", "attention_window", "sequence", growth.ALL), calls)
    grown(tmp_path, Point("torch_xla", "attention_window", "sequence", growth.ALL), (), "unsupported")
    table = rows_of_growth(tmp_path)
    found = table[table["framework"] == "jax"]
    assert list(zip(found["pass"], found["value"], found["compiles_first"], found["shape"], strict=True)) == [
        (1, 8, 1, "compiled"), (1, 16, 0, "shared"), (2, 8, 0, "reused"), (2, 16, 0, "reused"),
    ]  # fmt: skip
    assert set(found["mode"]) == {"shapes"} and set(found["first_ms"]) == {1.0}
    assert only(table, framework="torch_xla")["status"] == "unsupported"


def sharded(rel_l2: float = 1e-7, **counts: int):
    """The row of FFN's program of torch_xla, divided among 4 devices."""
    none = dict.fromkeys((*COLLECTIVES, "bytes"), 0)
    compared = {"event": "compared", "rel_l2": rel_l2, "emitted": none, "partitioned": none | counts}
    process = {"status": "ok", "status_detail": "", "events": [compared]}
    process["sizes"] = config().chosen.sizes["ffn"]
    found = Raw(sharded={sharding.Point("torch_xla", "ffn", "tensor", 4): process})
    return only(schema.table("cells", list(table_of_cells.sharded(config(), found))))


def test_row_of_a_program_for_several_devices_has_its_collectives():
    found = sharded(all_reduce=1, bytes=4096)
    assert tuple(found[["mode", "framework", "size", "value"]]) == ("sharded", "torch_xla", "tensor", 4)
    counts = json.loads(found["collectives"])
    assert (found["status"], counts["all_reduce"], counts["bytes"], counts["emitted"]) == ("ok", 1, 4096, 0)


def test_another_output_than_that_of_one_device_is_invalid():
    found = sharded(rel_l2=1e-3)
    assert (found["status"], found["parity_rel_l2"]) == ("invalid", 1e-3)
    assert "1.00e-03 against one device, over 1e-05" in found["status_detail"]
