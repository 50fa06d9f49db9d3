"""The frame and the calls, from folders of results as the harness writes them."""

import json
import math
import shutil

import numpy as np
import pytest

from measured import PEAK, config, process, stopped, write_cell, write_results
from stackwars.results import frame, processes
from stackwars.results.frame import COLUMNS
from stackwars.study import cells
from stackwars.study.cells import Cell
from stackwars.study.config import load
from stackwars.workloads import values
from stackwars.workloads.ffn import WORKLOAD as ffn

JAX, TORCH = Cell("jax", "gemm", "cpu"), Cell("torch_xla", "gemm", "cpu")
OUTPUT = np.linspace(1, 2, 64, dtype=np.float32)


def pair(results, jax: dict | None = None, torch: dict | None = None, outputs=(OUTPUT, OUTPUT)):
    """Write the GEMM cells of both frameworks, two processes each."""
    for cell, changes, output in zip((JAX, TORCH), (jax, torch), outputs, strict=True):
        processes = [process(cell, repetition=n, **(changes or {})) for n in (0, 1)]
        write_cell(results, processes, output)


def framed(results, **changes):
    """The frame by cell."""
    return built(results, **changes).set_index(["workload", "framework", "device"])


def built(results, origin: str = "measured", change=lambda table: table, **changes):
    """The frame in its order. change: of processes.csv before the frame is made from it."""
    asked = config(**changes)
    read = frame.read(asked, results)
    values = processes.values(change(processes.build(read.cells)))
    return frame.build(asked, read, values, origin)


@pytest.fixture
def results(tmp_path):
    """A folder of results with devices and peak, and no cell yet."""
    return write_results(tmp_path)


def test_one_row_for_each_asked_cell_in_order(results):
    pair(results)
    table = built(results)
    rows = [Cell(r.framework, r.workload, r.device) for r in table.itertuples()]
    assert rows == cells.asked(config())
    assert list(table.columns) == list(COLUMNS)


def test_every_column_is_described_and_names_its_unit():
    assert all(len(text) > 3 for text in COLUMNS.values())
    needed = (
        "workload framework device preset status status_detail origin first_ms second_ms steady_ms"
        " steady_low_ms steady_high_ms items_per_s gflop_per_s peak_rss_bytes parity_rel_l2"
        " compiles_first compiles_second"
    )
    assert set(needed.split()) <= COLUMNS.keys()


def test_cell_that_was_not_run_says_why(results):
    table = framed(results)
    absent = table.loc[("gemm", "jax", "tpu")]
    assert absent["status"] == "not run"
    assert absent["status_detail"] == "no driver: none of /dev/accel0 exists"
    assert table.loc[("gemm", "jax", "cpu"), "status_detail"] == "no result"
    assert math.isnan(absent["steady_ms"])
    assert absent["rounds"] == 0
    assert absent["flops"] == 2 * 16 * 32 * 64


def test_ok_row_holds_the_numbers_of_the_cell(results):
    pair(results, jax={"first_ms": 100.0, "second_ms": 3.0, "steady_ms": (2.0, 2.0, 4.0)})
    row = framed(results).loc[("gemm", "jax", "cpu")]
    assert (row["status"], row["origin"], row["preset"]) == ("ok", "measured", "smoke")
    assert (row["title"], row["table"], row["kind"]) == ("GEMM", "I", "basic")
    assert tuple(row[["first_ms", "second_ms", "steady_ms"]]) == pytest.approx((100.0, 3.0, 2.0))
    assert tuple(row[["steady_low_ms", "steady_high_ms"]]) == pytest.approx((2.0, 2.0))
    assert tuple(row[["first_trace_ms", "first_compile_ms", "first_execute_ms"]]) == pytest.approx(
        (10.0, 30.0, 60.0))  # fmt: skip
    assert tuple(row[["compiles_first", "compiles_second", "compiles_steady"]]) == (1, 0, 0)
    assert (row["rounds"], row["steady_calls"], row["wall_s"]) == (2, 6, 20.0)
    assert (row["stop_reason"], row["steady_class"]) == ("rounds", "warm-up")
    assert row["warmup_points"] == 2
    assert (row["threads"], row["cache_hits_first"]) == (2, 0)
    assert row["items_per_s"] == pytest.approx(8000)
    assert (row["precision"], row["dtype"]) == ("HIGHEST", "f32")
    assert row["peak_rss_bytes"] == 2**28 + 1


def test_origin_is_passed_on(results):
    assert set(built(results, "reference")["origin"]) == {"reference"}


def test_oom_row_has_its_detail_and_no_number(results):
    bad = {"status": ("oom", "refused at build: RESOURCE_EXHAUSTED")}
    pair(results, torch=bad)
    table = framed(results)
    row = table.loc[("gemm", "torch_xla", "cpu")]
    assert (row["status"], row["status_detail"]) == bad["status"]
    assert math.isnan(row["steady_ms"])
    assert row["peak_rss_bytes"] > 0
    # Nothing is left to compare the other one with.
    assert table.loc[("gemm", "jax", "cpu"), "status"] == "ok"
    assert math.isnan(table.loc[("gemm", "jax", "cpu"), "parity_rel_l2"])


def test_round_that_was_not_run_does_not_count(results):
    bad = {"status": ("oom", "refused at build")}
    first = process(JAX, **bad)
    second = process(JAX, repetition=1, repeated=False, wall_s=0.0, **bad)
    write_cell(results, [first, second])
    assert framed(results).loc[("gemm", "jax", "cpu"), "rounds"] == 1


def test_agreeing_outputs_have_their_error(results):
    pair(results, outputs=(OUTPUT, OUTPUT * np.float32(1 + 2e-6)))
    table = framed(results)
    for framework in ("jax", "torch_xla"):
        row = table.loc[("gemm", framework, "cpu")]
        assert row["status"] == "ok"
        assert row["parity_rel_l2"] == pytest.approx(2e-6, rel=0.1)


def ffn_output(change: float) -> np.ndarray:
    """The smoke FFN's output with one of its weights changed."""
    sizes = cells.sizes(config(), "ffn")
    weights = {n: values.leaf(n, shape, 1) for n, shape in ffn.parameters(sizes).items()}
    weights["up.weight"][0, 0] += change
    return ffn.reference(weights, ffn.inputs(sizes, 1)).astype(np.float32)


@pytest.mark.parametrize(("change", "status"), [(0.0, "ok"), (0.01, "invalid")])
def test_one_changed_weight_makes_the_pair_invalid(results, change, status):
    for framework, output in (("jax", ffn_output(0.0)), ("torch_xla", ffn_output(change))):
        write_cell(results, [process(Cell(framework, "ffn", "cpu"))], output)
    table = framed(results)
    for framework in ("jax", "torch_xla"):
        row = table.loc[("ffn", framework, "cpu")]
        assert row["status"] == status
        assert math.isnan(row["steady_ms"]) == (status == "invalid")
        if status == "invalid":
            assert row["status_detail"].startswith("outputs disagree: relative L2 error ")
            assert row["status_detail"].endswith(" over 1e-05")
            assert row["parity_rel_l2"] > 1e-5


def test_a_third_framework_that_is_wrong_leaves_the_others_pair(results):
    changed = {"jax": 0.0, "torch_xla": 1e-7, "numpy": 0.01}
    for framework, change in changed.items():
        write_cell(results, [process(Cell(framework, "ffn", "cpu"))], ffn_output(change))
    whole = load()
    pairs = [one for one in whole["comparisons"] if one["subject"] in changed]
    known = {name: whole["frameworks"][name] for name in changed}
    table = framed(results, comparisons=pairs, frameworks=known).loc["ffn"]
    assert table.loc[("numpy", "cpu"), "status"] == "invalid"
    for framework in ("jax", "torch_xla"):
        assert table.loc[(framework, "cpu"), "status"] == "ok"
        assert table.loc[(framework, "cpu"), "parity_rel_l2"] < 1e-5


@pytest.mark.parametrize(("change", "status"), [(1.0, "ok"), (1.01, "invalid")])
def test_form_that_the_baseline_has_not_is_compared_with_its_plain_form(results, change, status):
    for cell, output in (
        (Cell("jax", "newton", "cpu"), OUTPUT),
        (Cell("torch_xla", "newton_readback", "cpu"), OUTPUT * np.float32(change)),
    ):
        write_cell(results, [process(cell)], output)
    table = framed(results, workloads=["newton", "newton_readback"], whole=["beyond"])
    row = table.loc[("newton_readback", "torch_xla", "cpu")]
    assert row["status"] == status
    assert row["parity_rel_l2"] == pytest.approx(change - 1, abs=1e-4)
    assert table.loc[("newton", "jax", "cpu"), "status"] == "ok"


@pytest.mark.parametrize(("change", "status"), [(1 + 1e-6, "ok"), (1.1, "invalid")])
def test_losses_that_part_make_the_pair_invalid(results, change, status):
    for framework, factor in (("jax", 1.0), ("torch_xla", change)):
        trained = process(Cell(framework, "train_mlp", "cpu"))
        second = next(e for e in trained["events"] if e["event"] == "second")
        told = {"event": "losses", "at_s": second["at_s"], "values": [2.0, 1.5 * factor]}
        trained["events"].insert(trained["events"].index(second) + 1, told)
        write_cell(results, [trained], OUTPUT)
    table = framed(results, workloads=["train_mlp"])
    for framework in ("jax", "torch_xla"):
        row = table.loc[("train_mlp", framework, "cpu")]
        assert (row["status"], row["loss_steps"]) == (status, 2)
        assert row["losses_apart"] == pytest.approx(change - 1)
        assert row["status_detail"].startswith("losses part by 1.00e-01") == (status == "invalid")


def test_invalid_row_has_no_latency_and_no_rate(results):
    pair(results, outputs=(OUTPUT, -OUTPUT))
    row = framed(results).loc[("gemm", "torch_xla", "cpu")]
    blank = [c for c in COLUMNS if c.endswith(("_ms", "_per_s")) and c != "floor_ms"]
    assert len(blank) == 18
    assert row[blank].isna().all()
    assert row["parity_rel_l2"] == pytest.approx(2.0)


def test_steady_state_below_the_floor_is_invalid(results):
    # 65536 FLOP at twice 100 GFLOP/s are 0.33 us; what stays in the cache has no other floor.
    pair(results, torch={"steady_ms": (0.0003,)})
    table = framed(results)
    row = table.loc[("gemm", "torch_xla", "cpu")]
    assert row["floor_ms"] == pytest.approx(65536 / 2e11 * 1e3)
    assert row["status"] == "invalid"
    assert row["status_detail"].startswith(
        "floor: 100% of the blocks are below 0.0003277 ms a call"
    )
    assert math.isnan(row["steady_ms"])
    assert math.isnan(row["items_per_s"])
    assert table.loc[("gemm", "jax", "cpu"), "status"] == "ok"


def test_steady_state_at_the_floor_is_ok(results):
    pair(results, torch={"steady_ms": (0.00033,)})
    assert framed(results).loc[("gemm", "torch_xla", "cpu"), "status"] == "ok"


def test_device_without_a_peak_has_no_floor(results):
    pair(results)
    (results / "cpu" / "peak.json").unlink()
    row = framed(results).loc[("gemm", "jax", "cpu")]
    assert row["status"] == "ok"
    assert math.isnan(row["floor_ms"])


def test_result_from_another_machine_is_invalid(results):
    pair(results)
    peak = results / "cpu" / "peak.json"
    here = process()["machine"]
    updated = here | {"kernel": "another", "os": "another", "python": "3.13.0"}
    peak.write_text(json.dumps(PEAK | {"machine": updated}))
    assert set(framed(results)["status"]) <= {"ok", "not run"}
    peak.write_text(json.dumps(PEAK | {"machine": here | {"cores": 64}}))
    row = framed(results).loc[("gemm", "jax", "cpu")]
    assert row["status"] == "invalid"
    assert row["status_detail"].startswith(
        "measured on another machine: A CPU, 2 cores, 16 GiB; the"
    )
    assert "A CPU, 64 cores, 16 GiB. Delete cpu/jax/gemm" in row["status_detail"]
    assert math.isnan(row["steady_ms"])


NODE = {"cpu_model": "A CPU", "cores": 2, "memory_bytes": 2**34, "python": "3.11.7"}


def with_nodes(results, **rates):
    """Peaks of nodes; the first is the run's own."""
    (results / "cpu" / "peaks").mkdir()
    paths = [results / "cpu" / "peak.json", results / "cpu" / "peaks" / "other.json"]
    for path, (node, rate) in zip(paths, rates.items(), strict=True):
        machine = {"node": node, **NODE}
        path.write_text(json.dumps(PEAK | {"gflop_per_s": rate, "machine": machine}))


def on(node: str) -> dict:
    return {"machine": {"node": node, **NODE}}


def test_floor_is_that_of_the_node(results):
    with_nodes(results, n1=1.0, n2=0.5)
    pair(results, on("n2"), on("n2"))
    rows = framed(results)
    assert set(rows["status"]) <= {"ok", "not run"}
    flops = rows.loc[("gemm", "jax", "cpu"), "flops"]
    assert rows.loc[("gemm", "jax", "cpu"), "floor_ms"] == pytest.approx(flops / 1e6)


def test_pair_of_two_nodes_is_not_compared(results):
    with_nodes(results, n1=50.0, n2=50.0)
    pair(results, on("n1"), on("n2"))
    rows = framed(results)
    assert rows.loc[("gemm", "jax", "cpu"), "status"] == "ok"
    refused = rows.loc[("gemm", "torch_xla", "cpu")]
    assert refused["status"] == "invalid" and math.isnan(refused["steady_ms"])
    assert refused["status_detail"].startswith(
        "measured on node n2, its baseline jax on node n1: times of two nodes are not compared"
    )


def test_cell_of_two_nodes_is_invalid(results):
    with_nodes(results, n1=50.0, n2=50.0)
    write_cell(results, [process(JAX, repetition=n, **on(f"n{n + 1}")) for n in (0, 1)], OUTPUT)
    row = framed(results).loc[("gemm", "jax", "cpu")]
    assert row["status"] == "invalid"
    assert row["status_detail"].startswith("its processes are of several nodes: n1, n2. Delete")


def test_node_without_a_peak_is_another_machine(results):
    with_nodes(results, n1=50.0, n2=50.0)
    pair(results, on("n3"), on("n3"))
    row = framed(results).loc[("gemm", "jax", "cpu")]
    assert "another machine: node n3: A CPU" in row["status_detail"]


def test_result_of_another_cell_is_invalid(results):
    pair(results)
    folder = results / "cpu" / "torch_xla" / "gemm"
    shutil.rmtree(folder)
    shutil.copytree(results / "cpu" / "jax" / "gemm", folder)
    table = framed(results)
    row = table.loc[("gemm", "torch_xla", "cpu")]
    assert row["status"] == "invalid"
    assert row["status_detail"].startswith("the result of another cell: cpu/jax/gemm. Delete cpu/")
    assert table.loc[("gemm", "jax", "cpu"), "status"] == "ok"


def test_calls_count_from_one_in_each_process(results):
    pair(results, torch={"status": ("oom", "refused")},
         jax={"first_ms": 9.0, "second_ms": 3.0, "steady_ms": (2.0, 1.0)})  # fmt: skip
    table = frame.calls(frame.read(config(), results), built(results))
    assert tuple(table.columns) == frame.CALL_COLUMNS
    assert set(table["framework"]) == {"jax"}
    for repetition in (0, 1):
        rows = table[table["repetition"] == repetition]
        assert list(rows["call"]) == [1, 2, 3, 4]
        assert list(rows["latency_ms"]) == pytest.approx([9.0, 3.0, 2.0, 1.0])


def test_call_of_a_block_has_its_own_number_and_latency(results):
    write_cell(results, [process(steady_ms=(2.0, 1.0), calls=16)])
    table = frame.calls(frame.read(config(), results), built(results))
    assert list(table["call"]) == [1, 2, 3, 19]
    assert list(table["latency_ms"]) == pytest.approx([100.0, 2.0, 2.0, 1.0])


def test_gate_and_the_end_of_the_rounds_are_told(results):
    waits = (0.0, 0.5, 0.0, 0.5, 0.0)
    blocks = {"steady_ms": (1.0, 3.0, 1.0, 3.0, 1.0), "wait": waits}
    write_cell(results, [process(**blocks), process(repetition=1, **blocks), stopped(repetition=2)])
    contended = {"steady_ms": (3.0,) * 5, "others": 0.5}
    write_cell(results, [process(TORCH, **contended), process(TORCH, 1, **contended)])
    table = framed(results)
    row = table.loc[("gemm", "jax", "cpu")]
    assert (row["rounds"], row["stop_reason"], row["gated"]) == (2, "decided", True)
    assert (row["steady_ms"], row["kept_share"]) == pytest.approx((1.0, 0.6))
    row = table.loc[("gemm", "torch_xla", "cpu")]
    assert (row["stop_reason"], row["gated"], row["kept_share"]) == ("rounds", False, 0.0)
    ungated = tuple(row[[f"steady_ungated{end}_ms" for end in ("", "_low", "_high")]])
    assert ungated == pytest.approx((3.0, 3.0, 3.0))


def test_cell_that_is_not_asked_for_is_not_read(results):
    pair(results)
    (results / "cpu" / "numpy" / "gemm").mkdir(parents=True)
    assert set(frame.read(config(), results).cells) == {JAX, TORCH}
    assert set(frame.read(config(workloads=["ffn"]), results).cells) == set()


def test_numbers_of_the_frame_come_from_the_table_of_processes(results):
    pair(results, torch={"steady_ms": (3.0,) * 5, "wait": 0.5, "others": 0.5})

    def doubled(table):
        numbers = ["value_ms", "ungated_ms"]
        return table.assign(**{"class": "slowing down", **(2 * table[numbers])})

    before, after = (built(results, change=c) for c in (lambda table: table, doubled))
    for column in ("steady_ms", "steady_low_ms", "steady_ungated_ms"):
        ok = before["status"] == "ok"
        assert ok.sum() == 2
        assert list(after[column][ok]) == pytest.approx(list(2 * before[column][ok]))
    assert set(after["steady_class"].dropna()) == {"slowing down"}
