"""The native rows of cells.csv, from folders of results as the harness writes them."""

import json
import shutil

import numpy as np
import pytest

from made_tables import only
from measured import PEAK, config, process, stopped, write_cell, write_results
from stackwars.results import cells as table_of_cells
from stackwars.results import raw, schema
from stackwars.results.cell_numbers import loss_numbers, losses_apart
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
        write_cell(results, [process(cell, n, **(changes or {})) for n in (0, 1)], output)


def native(results, **changes):
    """The native rows of cells.csv."""
    asked = config(**changes)
    table = table_of_cells.build(asked, raw.read(asked, results))
    return table[table["mode"] == schema.NATIVE]


def row(results, cell: Cell = JAX, **changes):
    """The row of a cell."""
    names = {"framework": cell.framework, "workload": cell.workload, "device": cell.device}
    return only(native(results, **changes), **names)


@pytest.fixture
def results(tmp_path):
    """A folder of results with devices and peak, and no cell yet."""
    return write_results(tmp_path)


def test_one_row_for_each_asked_cell_in_order(results):
    pair(results)
    table = native(results)
    rows = [Cell(r.framework, r.workload, r.device) for r in table.itertuples()]
    assert rows == cells.asked(config())
    assert list(table.columns) == list(schema.CELLS)


def test_cell_that_was_not_run_says_why(results):
    absent = row(results, Cell("jax", "gemm", "tpu"))
    assert absent["status"] == "not run"
    assert absent["status_detail"] == "no driver: none of /dev/accel0 exists"
    assert row(results)["status_detail"] == "no result"
    assert np.isnan(absent["steady_ms"])
    assert (absent["rounds"], absent["flops"]) == (0, 2 * 16 * 32 * 64)


def test_ok_row_holds_the_numbers_of_the_cell(results):
    pair(results, jax={"first_ms": 100.0, "second_ms": 3.0, "steady_ms": (2.0, 2.0, 4.0)})
    found = row(results)
    assert tuple(found[["status", "title", "table", "kind"]]) == ("ok", "GEMM", "I", "basic")
    assert (found["baseline"], row(results, TORCH)["baseline"]) == ("", "jax")
    assert tuple(found[["first_ms", "second_ms", "steady_ms"]]) == pytest.approx((100.0, 3.0, 2.0))
    ends = [f"steady_{end}_ms" for end in ("low", "high", "min", "max")]
    assert tuple(found[ends]) == pytest.approx((2.0,) * 4)
    assert tuple(found[["compiles_first", "compiles_second", "compiles_steady"]]) == (1, 0, 0)
    assert (found["rounds"], found["steady_calls"], found["wall_s"]) == (2, 6, 20.0)
    assert (found["stop_reason"], found["steady_class"]) == ("rounds", "warm-up")
    assert (found["precision"], found["dtype"]) == ("HIGHEST", "f32")
    assert found["peak_rss_bytes"] == 2**28 + 1


def test_oom_row_has_its_detail_and_no_number(results):
    bad = {"status": ("oom", "refused at build: RESOURCE_EXHAUSTED")}
    write_cell(results, [process(JAX)], OUTPUT)
    write_cell(results, [process(TORCH, **bad), process(TORCH, 1, repeated=False, wall_s=0.0, **bad)])
    found, other = row(results, TORCH), row(results)
    assert (found["status"], found["status_detail"]) == bad["status"]
    assert np.isnan(found["steady_ms"]) and found["peak_rss_bytes"] > 0
    assert found["rounds"] == 1  # the second was not run
    # Nothing is left to compare the other one with.
    assert other["status"] == "ok" and np.isnan(other["parity_rel_l2"])


def test_gate_and_the_end_of_the_rounds_are_told(results):
    blocks = {"steady_ms": (1.0, 3.0, 1.0, 3.0, 1.0), "wait": (0.0, 0.5, 0.0, 0.5, 0.0)}
    write_cell(results, [process(**blocks), process(repetition=1, **blocks), stopped(repetition=2)])
    contended = {"steady_ms": (3.0,) * 5, "others": 0.5}
    write_cell(results, [process(TORCH, **contended), process(TORCH, 1, **contended)])
    found, other = row(results), row(results, TORCH)
    assert (found["rounds"], found["stop_reason"], found["gated"]) == (2, "decided", True)
    assert (found["steady_ms"], found["kept_share"]) == pytest.approx((1.0, 0.6))
    assert (other["stop_reason"], other["gated"], other["kept_share"]) == ("rounds", False, 0.0)


def test_cell_that_is_not_asked_for_is_not_read(results):
    pair(results)
    assert set(raw.read(config(), results).cells) == {JAX, TORCH}
    assert raw.read(config(workloads=["ffn"]), results).cells == {}


def ffn_output(change: float) -> np.ndarray:
    """The smoke FFN's output with one of its weights changed."""
    sizes = cells.sizes(config(), "ffn")
    weights = {n: values.leaf(n, shape, 1) for n, shape in ffn.parameters(sizes).items()}
    weights["up.weight"][0, 0] += change
    return ffn.reference(weights, ffn.inputs(sizes, 1)).astype(np.float32)


@pytest.mark.parametrize(("change", "status"), [(1e-7, "ok"), (0.01, "invalid")])
def test_one_changed_weight_makes_the_pair_invalid(results, change, status):
    for framework, output in (("jax", ffn_output(0.0)), ("torch_xla", ffn_output(change))):
        write_cell(results, [process(Cell(framework, "ffn", "cpu"))], output)
    errors = set()
    for framework in ("jax", "torch_xla"):
        found = row(results, Cell(framework, "ffn", "cpu"))
        assert found["status"] == status
        assert np.isnan(found["steady_ms"]) == (status == "invalid")
        assert (found["parity_rel_l2"] > found["parity_limit"]) == (status == "invalid")
        errors.add(found["parity_rel_l2"])
        if status == "invalid":
            assert found["status_detail"].startswith("outputs disagree: relative L2 error ")
            assert found["status_detail"].endswith(" over 1e-05")
    assert len(errors) == 1 and errors.pop() > 0


def test_a_third_framework_that_is_wrong_leaves_the_others_pair(results):
    changed = {"jax": 0.0, "torch_xla": 1e-7, "numpy": 0.01}
    for framework, change in changed.items():
        write_cell(results, [process(Cell(framework, "ffn", "cpu"))], ffn_output(change))
    whole = load()
    asked = {
        "comparisons": [one for one in whole["comparisons"] if one["subject"] in changed],
        "frameworks": {name: whole["frameworks"][name] for name in changed},
    }
    assert row(results, Cell("numpy", "ffn", "cpu"), **asked)["status"] == "invalid"
    for framework in ("jax", "torch_xla"):
        found = row(results, Cell(framework, "ffn", "cpu"), **asked)
        assert found["status"] == "ok" and found["parity_rel_l2"] < 1e-5


@pytest.mark.parametrize(("change", "status"), [(1.0, "ok"), (1.01, "invalid")])
def test_form_that_the_baseline_has_not_is_compared_with_its_plain_form(results, change, status):
    plain, form = Cell("jax", "newton", "cpu"), Cell("torch_xla", "newton_readback", "cpu")
    write_cell(results, [process(plain)], OUTPUT)
    write_cell(results, [process(form)], OUTPUT * np.float32(change))
    asked = {"workloads": ["newton", "newton_readback"], "measure": ["beyond"]}
    found = row(results, form, **asked)
    assert found["status"] == status
    assert found["parity_rel_l2"] == pytest.approx(change - 1, abs=1e-4)
    assert row(results, plain, **asked)["status"] == "ok"


@pytest.mark.parametrize(("change", "status"), [(1 + 1e-6, "ok"), (1.1, "invalid")])
def test_losses_that_part_make_the_pair_invalid(results, change, status):
    for framework, factor in (("jax", 1.0), ("torch_xla", change)):
        trained = process(Cell(framework, "train_mlp", "cpu"))
        second = next(e for e in trained["events"] if e["event"] == "second")
        told = {"event": "losses", "at_s": second["at_s"], "values": [2.0, 1.5 * factor]}
        trained["events"].insert(trained["events"].index(second) + 1, told)
        write_cell(results, [trained], OUTPUT)
    for framework in ("jax", "torch_xla"):
        cell = Cell(framework, "train_mlp", "cpu")
        found = row(results, cell, workloads=["train_mlp"], measure=["beyond"])
        assert (found["status"], found["loss_steps"], found["loss_first"]) == (status, 2, 2.0)
        assert found["losses"] == ("differs" if status == "invalid" else "agrees")
        assert found["losses_apart"] == pytest.approx(change - 1)
        assert found["status_detail"].startswith("losses part by 1.00e-01") == (status == "invalid")


def test_losses_are_compared_step_by_step():
    assert losses_apart([2.0, 1.0], [2.0, 1.01]) == pytest.approx(0.01 / 1.01)
    assert losses_apart([2.0], [2.0, 1.0]) == np.inf
    assert loss_numbers({"processes": [{"events": []}]}) == {}


def test_outputs_that_agree_and_are_those_of_other_inputs_too_are_invalid(results):
    pair(results, outputs=(np.tile(OUTPUT, 2), np.tile(OUTPUT, 2)))
    found = row(results, TORCH)
    assert (found["status"], found["parity_rel_l2"]) == ("invalid", 0)
    assert "two different sets of inputs have the same output" in found["status_detail"]


def test_invalid_row_has_nothing_that_follows_from_a_time(results):
    pair(results)
    derived = ("_ms", "_per_s", "_over_steady", "_share")
    timed = [name for name in schema.CELLS if name.endswith(derived)]
    timed = [name for name in timed if name not in ("floor_ms", "kept_share")]
    known = row(results, TORCH)[timed].notna().sum()
    assert known >= 20
    for cell, output in ((JAX, OUTPUT), (TORCH, -OUTPUT)):
        np.save(results / cell.path / "output.npy", output)
    found = row(results, TORCH)
    assert found[timed].isna().all()
    assert (found["slow_runs"], found["first_largest"]) == ("", "")
    assert found["parity_rel_l2"] == pytest.approx(2.0)


@pytest.mark.parametrize(("ms", "status"), [(0.0003, "invalid"), (0.00033, "ok")])
def test_steady_state_below_the_floor_is_invalid(results, ms, status):
    # 65536 FLOP at twice 100 GFLOP/s are 0.33 us; what stays in the cache has no other floor.
    pair(results, torch={"steady_ms": (ms,)})
    found = row(results, TORCH)
    assert (found["floor_ms"], found["status"]) == (pytest.approx(65536 / 2e11 * 1e3), status)
    assert np.isnan(found["steady_ms"]) == np.isnan(found["items_per_s"]) == (status == "invalid")
    detail = "floor: 100% of the blocks are below 0.0003277 ms a call"
    assert found["status_detail"].startswith(detail) == (status == "invalid")
    assert row(results)["status"] == "ok"
    (results / "cpu" / "peak.json").unlink()
    found = row(results, TORCH)
    assert found["status"] == "ok" and np.isnan(found["floor_ms"])


def test_result_from_another_machine_is_invalid(results):
    pair(results)
    peak, here = results / "cpu" / "peak.json", process()["machine"]
    updated = here | {"kernel": "another", "os": "another", "python": "3.13.0"}
    peak.write_text(json.dumps(PEAK | {"machine": updated}))
    assert row(results)["status"] == "ok"
    peak.write_text(json.dumps(PEAK | {"machine": here | {"cores": 64}}))
    found = row(results)
    assert found["status"] == "invalid" and np.isnan(found["steady_ms"])
    assert found["status_detail"] == (
        "expected a result of the machine of this run (A CPU, 64 cores, 16 GiB), got one of "
        "A CPU, 2 cores, 16 GiB; fix: delete cpu/jax/gemm, and it is measured again"
    )


def test_result_of_another_cell_is_invalid(results):
    pair(results)
    shutil.rmtree(results / TORCH.path)
    shutil.copytree(results / JAX.path, results / TORCH.path)
    found = row(results, TORCH)
    assert found["status"] == "invalid"
    assert "expected the result of this cell, got that of cpu/jax/gemm" in found["status_detail"]
    assert row(results)["status"] == "ok"


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


def test_floor_is_that_of_the_node_and_a_node_without_a_peak_is_another_machine(results):
    with_nodes(results, n1=1.0, n2=0.5)
    pair(results, on("n2"), on("n3"))
    found = row(results)
    assert (found["status"], found["nodes"]) == ("ok", "n2")
    assert found["floor_ms"] == pytest.approx(found["flops"] / 1e6)
    assert "got one of node n3: A CPU" in row(results, TORCH)["status_detail"]


def test_pair_of_two_nodes_is_not_compared(results):
    with_nodes(results, n1=50.0, n2=50.0)
    pair(results, on("n1"), on("n2"))
    assert row(results)["status"] == "ok"
    refused = row(results, TORCH)
    assert refused["status"] == "invalid" and np.isnan(refused["steady_ms"])
    assert refused["status_detail"].startswith(
        "measured on node n2, its baseline jax on node n1: times of two nodes are not compared"
    )


def test_cell_of_two_nodes_is_invalid(results):
    with_nodes(results, n1=50.0, n2=50.0)
    write_cell(results, [process(JAX, repetition=n, **on(f"n{n + 1}")) for n in (0, 1)], OUTPUT)
    found = row(results)
    assert found["status"] == "invalid"
    assert found["status_detail"].startswith("expected processes of one node, got n1, n2; fix: ")
