"""comparisons.csv: what the committed runs, whose rows are built again in test_committed_runs, do not have."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from made_tables import NEW, OLD, cell, compared, comparison, only, program, replay, rounds, word
from stackwars.core.hlo import COLLECTIVES
from stackwars.core.ratio import NO_DATA, SLOWER
from stackwars.measure import workloads
from stackwars.study.results import programs, published, schema, verdicts
from stackwars.study.results.verdicts import agreement, amount, largest_batch, runs_by_times, shape

JAX, TORCH = cell("jax"), cell("torch_xla")


def test_every_cell_with_a_baseline_has_its_rows_and_on_a_device_that_is_not_here_none():
    absent = {"status": "not run"}
    cells = [JAX, cell("torch_xla", **absent), cell("torch_xla", "mha", device="tpu", **absent)]
    table = compared([*cells, cell("torch_xla", "ffn", device="tpu", status="oom")])
    timed = table[table["quantity"].isin(["first", "second", "steady"])]
    assert set(timed["verdict"]) == {"no data"}
    rows = list(zip(timed["workload"], timed["device"], strict=True))
    assert rows == [("gemm", "cpu")] * 3 + [("ffn", "tpu")] * 3


def test_only_the_native_compiler_has_native_calls_and_a_control():
    own = {"native", "everything else", "margin", "control"}
    cells = [JAX, TORCH, replay("jax", NEW), replay("torch_xla", NEW)]
    assert not own & set(compared(cells)["quantity"])
    native = {NEW: {"environment": "an-xla", "native": True}}
    assert own <= set(compared(cells, compilers=native)["quantity"])


def test_rounds_without_a_ratio_say_why():
    paired = rounds("control", "jax", (1.0, 1.01), compiler=OLD)
    paired += [paired[0] | {"round": 2, "ratio": None, "basis": "failed"}]
    found = only(compared([JAX, replay("jax"), replay("torch_xla")], paired), quantity="control")
    assert (found["rounds"], found["detail"]) == (2, "1 of 3 rounds left out: the native process failed")


def timed(framework: str, workload: str, ms: float, spread: float = 0.02, **columns) -> dict:
    """A cell with a steady time and its interval over 3 processes."""
    ends = {f"steady_{end}_ms": ms * math.exp(sign * spread) for end, sign in (("low", -1), ("high", 1))}
    return cell(framework, workload, **{"steady_ms": ms, "steady_processes": 3, **ends, **columns})


def test_forms_of_two_nodes_are_not_compared():
    for nodes, count in ((("n1", "n2"), 0), (("n1", "n1"), 1)):
        pairs = zip(("scan_rnn", "unrolled_rnn"), nodes, strict=True)
        table = compared([timed("jax", name, 2.0, nodes=node) for name, node in pairs])
        assert len(table[table["quantity"] == "form"]) == count


def test_a_form_is_compared_with_the_plain_form_in_the_same_framework():
    scan = [timed("jax", "scan_rnn", 2.0), timed("numpy", "scan_rnn", 7.0)]
    table = compared([*scan, timed("jax", "unrolled_rnn", 1.0)])
    found = only(table, quantity="form", workload="unrolled_rnn")
    assert tuple(found[["subject", "baseline", "baseline_workload"]]) == ("jax", "jax", "scan_rnn")
    assert (found["variant"], found["ratio"], found["verdict"]) == ("steady", pytest.approx(0.5), "faster")
    # Two equal errors: their root sum of squares, with the degrees of freedom of the fewer processes.
    assert (found["dof"], math.log(found["high"] / 0.5)) == (2, pytest.approx(0.02 * math.sqrt(2)))


@pytest.mark.parametrize(
    ("cost", "verdict"),
    [
        (lambda v: 100 + (-1) ** v, "flat"),
        (lambda v: 100 + 10 * v + (v == 2), "grows"),
        (lambda v: 10 * v**2 + (v == 2), "grows faster than the size"),
        (lambda v: 10 * v * (1 + (v % 4 == 2)), "inconclusive"),
    ],
)
def test_how_the_cost_of_compiling_grows_with_a_size(cost, verdict):
    grown = {"mode": "growth", "size": "layers", "steady_ms": 1.0}
    cells = [cell("jax", "decode", first_ms=cost(v) + 1.0, value=v, **grown) for v in (1, 2, 4, 8)]
    found = only(compared(cells), quantity="scaling")
    assert (found["verdict"], found["variant"], found["rounds"]) == (verdict, "layers", 3)
    fit = stats.linregress(np.log([1, 2, 4, 8]), np.log([cost(v) for v in (1, 2, 4, 8)]))
    assert math.log2(found["ratio"]) == pytest.approx(fit.slope)
    assert (found["error"], found["dof"]) == (pytest.approx(fit.stderr * math.log(2)), 2)
    assert "scaling" not in set(compared(cells[:2])["quantity"])
    failed = [one | {"status": "timeout"} for one in cells]
    assert "scaling" not in set(compared(failed)["quantity"])


def test_a_run_that_kept_no_rounds_has_their_summary():
    one = rounds("steady", "torch_xla", (1.5,), error=0.02, basis="in turn")[0]
    found = only(compared([JAX, TORCH], [one | {"round": None, "rounds": 4}]), quantity="steady")
    assert tuple(found[["ratio", "error", "dof", "rounds"]]) == pytest.approx((1.5, 0.02, 3, 4))


def both(one: dict, base: dict, **columns) -> list[dict]:
    """The programs of both frameworks, with what each has and what both have."""
    return [program("jax", **columns, **base), program("torch_xla", **columns, **one)]


def collectives(**counts: int) -> str:
    return json.dumps({**dict.fromkeys(COLLECTIVES, 0), "bytes": 8, **counts})


@pytest.mark.parametrize(("count", "verdict"), [(1, "same"), (3, "different")])
def test_programs_divided_among_devices_are_compared_by_the_collectives_of_each_kind(count, verdict):
    texts = {
        name: {"collectives": collectives(all_reduce=n, bytes=64 * n)}
        for name, n in {"jax": 1, "jax_shard_map": 7, "torch_xla": count}.items()
    }
    cells = [cell(name, mode="sharded", size="tensor", value=4, **one) for name, one in texts.items()]
    found = only(compared(cells), quantity="collectives")
    assert (found["verdict"], found["ratio"], found["detail"]) == (verdict, count, f"{count} and 1")
    assert tuple(found[["subject", "device", "variant"]]) == ("torch_xla", "cpu", "tensor4")
    # Another kind, as often: not the same.
    cells[2] |= {"collectives": collectives(all_gather=1)}
    assert word(compared(cells), "collectives") == "different"
    # Likewise among the chips of a slice.
    sides = both(texts["torch_xla"], texts["jax"], target="tpu-v6e-4", variant="tensor4", devices=4)
    found = only(compared(programs=sides))
    assert tuple(found[["quantity", "device", "variant"]]) == ("collectives", "tpu-v6e-4", "tensor4")
    assert found["verdict"] == verdict
    for none in ({"devices": 1}, {"collectives": ""}):
        assert compared(programs=[side | none for side in sides]).empty


def test_every_workload_of_the_lecture_has_all_three_frameworks():
    found = published.read_lecture()
    done = found[found.what == published.DONE].groupby("workload").framework.agg(set)
    assert set(done.index) == {n for n in workloads.names() if workloads.load(n).TABLE == "lecture"}
    assert all(names == {"jax", "torch_eager", "torch_inductor"} for names in done)
    assert set(found.device) == {"A100"}


def with_published(workload: str = "gemm", ratio: float = 2.0, **columns):
    """The row of a comparison with what is published beside it."""
    table = schema.table("comparisons", [comparison(workload, ratio, **columns)])
    return published.compared(table).iloc[0]


def test_pairs_of_the_lecture_s_frameworks_stand_beside_its_times():
    names = {"subject": "torch_inductor", "baseline": "torch_eager", "quantity": "pairwise"}
    found = with_published("elementwise_chain", verdict="faster", **names)
    assert found["published_ratio"] == pytest.approx(1 / 6.7, rel=0.02)
    assert found["agreement"] == "agrees"


@pytest.mark.parametrize("columns", [
    {"workload": "newton"}, {"device": "cpu-1t"}, {"quantity": "replay"},
    {"subject": "torch_inductor", "baseline": "torch_eager"},
])  # fmt: skip
def test_what_was_not_published_has_nothing_beside_it(columns):
    found = with_published(**columns)
    assert pd.isna(found["published_ratio"]) and found["agreement"] == ""


@pytest.mark.parametrize(("rule", "given", "word"), [
    (agreement, (0.5, SLOWER), verdicts.DIFFERS),
    (agreement, (None, SLOWER), verdicts.NOT_COMPARABLE),
    (runs_by_times, ("warm-up", 7), verdicts.MORE_SLOW_RUNS),
    (runs_by_times, ("", math.nan), NO_DATA),
    (shape, (False, 2), "compiled again"),
    (shape, (True, None), ""),
    (amount, (1000, 0), NO_DATA),
    (largest_batch, ((200, math.nan), (200, math.nan)), verdicts.NOT_SEPARATED),
    (largest_batch, ((math.nan, math.nan), (200, 201)), NO_DATA),
])  # fmt: skip
def test_words(rule, given, word):
    assert rule(*given) == word


def test_names_of_compilers_targets_and_variants():
    compilers = ["iree-3.13", "jaxlib-0.10.2-no-ynn", "jaxlib-0.10.2", "jaxlib-0.7.1"]
    titles = ["IREE 3.13", "jaxlib 0.10.2 without YNN", "jaxlib 0.10.2", "jaxlib 0.7.1"]
    assert [programs.compiler_title(name) for name in compilers] == titles
    assert programs.base_compiler(compilers[1]) == programs.base_compiler(compilers[2]) == compilers[2]
    row = {"batch": 8.0, "sequence": 512.0}
    assert programs.variant_title(row) == "8\u00d7512"
    assert programs.variant_title(row | {"sequence": math.nan}) == "8"
    assert programs.variant_title(row | {"batch": math.nan}) == "not recorded"
