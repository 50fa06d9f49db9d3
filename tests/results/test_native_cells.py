"""The native rows of cells.csv, from folders of results as the harness writes them."""

import json
import shutil

import numpy as np
import pytest

from made_tables import only, values_of
from measured import PEAK, config, process, write_cell, write_results
from stackwars.measure import process_value, workloads
from stackwars.measure.workloads import values
from stackwars.study import cells
from stackwars.study.cells import Cell
from stackwars.study.config import load
from stackwars.study.results import cells as table_of_cells
from stackwars.study.results import raw, schema
from stackwars.study.results.cells import (
    LEFT_OUT,
    losses_apart,
    majority,
    majority_distances,
    numbers,
    relative_error,
)

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


def test_cell_without_rounds_is_left_out_whatever_the_folder_has(results):
    pair(results)
    smoke = config().chosen.changed(rounds={"torch_xla": 0})
    changes = {"presets": {**config().presets, "smoke": smoke}}
    left_out = row(results, TORCH, **changes)
    assert (left_out["status"], left_out["status_detail"], left_out["rounds"]) == ("not run", LEFT_OUT, 0)
    assert row(results, **changes)["status"] == "ok" and row(results, TORCH)["status"] == "ok"
    rows = [Cell(r.framework, r.workload, r.device) for r in native(results, **changes).itertuples()]
    assert rows == cells.asked(config()), "the tables show that it is missing"


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


def ffn_output(change: float) -> np.ndarray:
    """The smoke FFN's output with one of its weights changed."""
    ffn, sizes = workloads.load("ffn"), cells.sizes(config(), "ffn")
    weights = {n: values.leaf(n, shape, 1) for n, shape in ffn.parameters(sizes).items()}
    weights["up.weight"][0, 0] += change
    [output], _ = ffn.reference(sizes, weights, [ffn.inputs(sizes, 1)], {})
    return output.astype(np.float32)


def of_three(results, **changes: float) -> dict[str, dict]:
    """The rows of FFN's cells of these frameworks, each with one of its weights changed by this."""
    for framework, change in changes.items():
        write_cell(results, [process(Cell(framework, "ffn", "cpu"))], ffn_output(change))
    return rows_of_ffn(results, *changes)


def rows_of_ffn(results, *names: str) -> dict[str, dict]:
    """The rows of FFN's cells of these frameworks."""
    committed = load()
    known = {
        "comparisons": [one for one in committed.comparisons if one.subject in names],
        "frameworks": {name: committed.frameworks[name] for name in names},
        "measure": ["stacks"],
    }
    return {name: row(results, Cell(name, "ffn", "cpu"), **known) for name in names}


def compare_with_expected(results, cell: Cell, status: str = "ok", detail: str = "", **changes: object) -> None:
    """Write into a cell's result that its outputs were compared with expected values."""
    path = results / cell.path / "cell.json"
    result = json.loads(path.read_text()) | {"values": values_of(**changes)}
    path.write_text(json.dumps(result | {"status": status, "status_detail": detail}))


def test_the_program_that_differs_from_its_expected_values_is_wrong_and_no_other(results):
    pair(results, jax={"steady_ms": (2.0, 2.0, 4.0)}, outputs=(-OUTPUT, OUTPUT))
    detail = "96 of 128 elements wrong (the last 12 of axis 0), largest error 1.0e+00, by NumPy in float64"
    compare_with_expected(results, JAX, "wrong", detail, wrong=96, l2=0.9, largest=1.0)
    compare_with_expected(results, TORCH)
    found, other = row(results), row(results, TORCH)
    assert (found["status"], found["status_detail"]) == ("wrong", detail)
    assert tuple(found[["parity_rel_l2", "largest_error", "wrong_elements"]]) == (0.9, 1.0, 96)
    assert found["struck_ms"] == pytest.approx(2.0) and np.isnan(found["steady_ms"])
    assert (other["status"], other["steady_ms"]) == ("ok", pytest.approx(1.0))
    assert (other["judge"], other["parity_rel_l2"], other["wrong_elements"]) == ("NumPy in float64", 1e-7, 0)
    assert np.isnan(other["struck_ms"])


def test_without_expected_values_the_one_that_most_differ_from_is_wrong(results):
    found = of_three(results, jax=0.01, torch_xla=1e-7, numpy=0.0)
    assert [one["status"] for one in found.values()] == ["wrong", "ok", "ok"]
    assert {one["judge"] for one in found.values()} == {"majority of 3 frameworks"}
    assert found["jax"]["status_detail"].startswith(
        "outputs differ from those of the majority of 3 frameworks: relative L2 error "
    )
    assert [one["parity_rel_l2"] > 1e-5 for one in found.values()] == [True, False, False]


def test_without_a_majority_nobody_is_wrong_and_the_judge_is_none(results):
    found = of_three(results, jax=0.0, torch_xla=0.1, numpy=-0.1)
    assert {(one["status"], one["judge"]) for one in found.values()} == {("ok", "none")}
    assert all(one["parity_rel_l2"] > 1e-5 for one in found.values())
    pair(results, outputs=(OUTPUT, -OUTPUT))
    assert {(one["status"], one["judge"]) for one in (row(results), row(results, TORCH))} == {("ok", "none")}


def test_a_cell_with_expected_values_is_not_judged_by_the_majority(results):
    of_three(results, jax=0.01, torch_xla=0.0, numpy=0.0)
    compare_with_expected(results, Cell("jax", "ffn", "cpu"))
    found = row(results, Cell("jax", "ffn", "cpu"))
    assert (found["status"], found["judge"]) == ("ok", "NumPy in float64")


def test_nothing_is_judged_by_the_result_of_another_cell(results):
    of_three(results, jax=0.01, torch_xla=0.0, numpy=0.0)
    shutil.rmtree(results / "cpu" / "numpy" / "ffn")
    shutil.copytree(results / "cpu" / "torch_xla" / "ffn", results / "cpu" / "numpy" / "ffn")
    found = rows_of_ffn(results, "jax", "torch_xla", "numpy")
    assert [one["status"] for one in found.values()] == ["ok", "ok", "invalid"]
    assert "got that of cpu/torch_xla/ffn" in found["numpy"]["status_detail"]
    assert found["jax"]["judge"] == found["torch_xla"]["judge"] == "none"


def test_equal_infinities_and_nans_are_no_difference():
    one = np.array([1.0, np.inf, np.nan, -np.inf])
    assert relative_error(one, one.copy()) == 0
    assert relative_error(one, np.array([1.0, np.inf, np.nan, np.inf])) == np.inf
    assert relative_error(one, np.array([1.0, np.inf, 0.0, -np.inf])) == np.inf
    assert relative_error(one, one[:3]) == np.inf


@pytest.mark.parametrize("values", ["aabb", "aabc"])
def test_half_of_the_frameworks_are_no_majority(values):
    found = majority_distances(dict(enumerate(values)), lambda one, other: float(one != other))
    assert majority(found, 0.5) == "none"


def trained(results, **factors: float) -> dict[str, dict]:
    """The rows of these frameworks' training cells, the last loss of each times its factor."""
    for framework, factor in factors.items():
        result = process(Cell(framework, "train_mlp", "cpu"))
        place = [event["event"] for event in result["events"]].index("steady")
        losses = {"event": "losses", "at_s": 1004.5, "values": [2.0, 1.5 * factor]}
        result["events"].insert(place, losses)
        write_cell(results, [result], OUTPUT)
    frameworks = load().frameworks
    known = {"frameworks": {name: frameworks[name] for name in factors}, "workloads": ["train_mlp"]}
    cells_of = {name: Cell(name, "train_mlp", "cpu") for name in factors}
    return {name: row(results, cell, measure=["beyond"], **known) for name, cell in cells_of.items()}


@pytest.mark.parametrize(("change", "status"), [(1 + 1e-6, "ok"), (1.1, "invalid")])
def test_losses_of_two_frameworks_that_part_make_both_invalid(results, change, status):
    for found in trained(results, jax=1.0, torch_xla=change).values():
        assert found["status"] == status
        assert found["losses"] == ("differs" if status == "invalid" else "agrees")
        assert found["losses_apart"] == pytest.approx(change - 1, rel=0.1)
        assert found["status_detail"].startswith("losses part by ") == (status == "invalid")


def test_losses_are_compared_step_by_step():
    assert losses_apart([2.0, 1.0], [2.0, 1.01]) == pytest.approx(0.01 / 1.01)
    assert losses_apart([2.0], [2.0, 1.0]) == np.inf


def test_outputs_that_agree_and_are_those_of_other_inputs_too_leave_nothing_that_follows_from_a_time(results):
    pair(results)
    derived = ("_ms", "_per_s", "_over_steady", "_share")
    timed = [name for name in schema.CELLS if name.endswith(derived)]
    timed = [name for name in timed if name not in ("floor_ms", "kept_share")]
    known = row(results, TORCH)[timed].notna().sum()
    assert known >= 19
    pair(results, outputs=(np.tile(OUTPUT, 2), np.tile(OUTPUT, 2)))
    found = row(results, TORCH)
    assert (found["status"], found["slow_runs"], found["parity_rel_l2"]) == ("invalid", "", 0)
    assert "two different sets of inputs have the same output" in found["status_detail"]
    assert found[timed].isna().all()


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


def test_cell_of_two_nodes_is_invalid(results):
    with_nodes(results, n1=50.0, n2=50.0)
    write_cell(results, [process(JAX, repetition=n, **on(f"n{n + 1}")) for n in (0, 1)], OUTPUT)
    found = row(results)
    assert found["status"] == "invalid"
    assert found["status_detail"].startswith("expected processes of one node, got n1, n2; fix: ")


def test_losses_that_differ_from_those_of_most_make_one_cell_invalid(results):
    found = trained(results, jax=1.1, torch_xla=1.0, numpy=1.0)
    assert [one["status"] for one in found.values()] == ["invalid", "ok", "ok"]


def derived(*processes: dict) -> dict:
    """What follows from these processes, one a round."""
    in_rounds = [{**process, "repetition": number} for number, process in enumerate(processes)]
    result = {"processes": in_rounds, "sizes": processes[0]["sizes"]}
    return numbers(result, process_value.of_processes(in_rounds), workloads.load("gemm"))


def first_split(*processes: dict) -> tuple:
    found = derived(*processes)
    parts = [f"first_{part}_ms" for part in ("trace", "compile", "execute")]
    return tuple(map(found.get, parts))


def test_cell_that_never_had_the_machine_to_itself_says_so():
    waits = (0.0, 0.5, 0.01, 0.5, 0.0, 0.5)
    found = derived(*[process(steady_ms=(1.0, 3.0, 1.0, 3.0, 1.0, 3.0), wait=waits)] * 2)
    assert found["gated"] and found["kept_share"] == pytest.approx(0.5)
    assert not derived(*[process(steady_ms=(1.0, 3.0, 3.0), others=0.4)] * 3)["gated"]


def test_part_of_the_first_call_that_a_framework_does_not_tell_is_empty():
    def without(*names: str) -> dict:
        untold = process()
        untold["events"] = [{k: None if k in names else v for k, v in e.items()} for e in untold["events"]]
        return untold

    assert first_split(process(), without("compile_s")) == (pytest.approx(10.0), None, None)
    assert first_split(process(), without("compile_s", "trace_s")) == (None,) * 3


@pytest.mark.parametrize(
    ("compiles", "second_ms", "words"),
    [
        ((1, 0, 0), 1.0, ("one slow run", "one slow run")),
        ((1, 1, 0), 50.0, ("two slow runs", "two slow runs")),
        ((1, 1, 0), 1.0, ("compilations and times disagree", "two slow runs")),
        ((None, None, None), 1.0, ("no data", "no data")),
    ],
)
def test_slow_runs_are_counted_by_compilations_and_by_times(compiles, second_ms, words):
    found = derived(process(compiles=compiles, second_ms=second_ms, steady_ms=(1.0,) * 20))
    assert tuple(found[f"slow_runs{how}"] for how in ("", "_by_compiles")) == words


def dispatched(returned_ms: tuple[float, ...], done_ms: tuple[float, ...]) -> dict:
    """A process that says when its single calls returned and when they were done."""
    found = process()
    returned, done = ([round(1e6 * ms) for ms in series] for series in (returned_ms, done_ms))
    told = {"event": "dispatch", "at_s": 1005.5, "returned_ns": returned, "total_ns": done}
    found["events"].insert(6, told)
    return found


def test_when_a_call_returned_is_the_median_of_the_medians():
    found = derived(
        dispatched((0.1, 0.2, 9.0), (1.0, 1.0, 1.0)),
        dispatched((0.4, 0.4, 0.4), (0.8, 0.8, 0.8)),
        dispatched((0.5,), (5.0,)),
    )
    assert found["returned_share"] == pytest.approx(0.2)
    assert found["returned_over_steady"] == pytest.approx(0.4)
    assert derived(dispatched((3.0,), (4.0,)))["returned_over_steady"] == 1.0
    # Rounds after the first do not say it.
    assert derived(dispatched((0.1,), (1.0,)), process())["returned_share"] == pytest.approx(0.1)
    assert "returned_share" not in derived(process())
