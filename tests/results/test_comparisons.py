"""Ratios of times in comparisons.csv: their intervals, their verdicts, and what follows from them."""

import math

import numpy as np
import pytest
from scipy import stats

from made_tables import NEW, OLD, cell, compared, only, replay, rounds
from stackwars.core.ratio import LogRatio

JAX, TORCH = cell("jax"), cell("torch_xla")
STEADY = (2.1, 2.0, 1.96)
REPLAY = (1.8, 1.71, 1.67)


def scattered(ratio: float, spread: float) -> tuple[float, ...]:
    """Ratios of six rounds with this geometric mean and about this spread, relative."""
    return tuple(ratio * np.exp(spread * z) for z in (-1.2, -0.8, -0.4, 0.4, 0.8, 1.2))


def split(calls=STEADY, program=REPLAY, control=(1.0, 1.01, 1.02), compiler=OLD, **changes):
    """comparisons.csv of GEMM: native ratios, and those of both programs in a compiler."""
    where = {"compiler": compiler}
    paired = rounds("replay", "torch_xla", program, **where) + rounds("native", "torch_xla", calls, **where)
    rest = [one / other for one, other in zip(calls, program, strict=False)]
    paired += rounds("everything else", "torch_xla", tuple(rest), **where)
    margins = tuple(one / other for one, other in zip(program, rest, strict=False))
    paired += rounds("margin", "torch_xla", margins, **where)
    paired += rounds("control", "jax", control, **where, subject_ms=2.0, baseline_ms=0.7)
    programs = [replay(name, compiler) for name in ("jax", "torch_xla")]
    return compared([JAX, TORCH, *programs], paired, **changes)


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        (scattered(2.0, 0.1), "slower"),
        (scattered(0.5, 0.1), "faster"),
        (scattered(1.0, 0.01), "equivalent"),
        (scattered(1.0, 0.3), "inconclusive"),
        ((2.0,), "no interval"),
        ((), "no data"),
    ],
)
def test_verdicts_of_times_are_words(ratios, verdict):
    found = only(compared([JAX, TORCH], rounds("first", "torch_xla", ratios)), quantity="first")
    assert (found["verdict"], found["title"], found["kind"]) == (verdict, "GEMM", "basic")
    if len(ratios) > 1:
        known = LogRatio.of_rounds(ratios).detectable()
        assert (found["confidence"], found["detectable"]) == pytest.approx((0.95, known))
    else:
        assert found[["low", "high", "confidence", "detectable"]].isna().all()


def test_every_cell_with_a_baseline_has_its_rows_and_on_a_device_that_is_not_here_none():
    absent = {"status": "not run"}
    cells = [JAX, cell("torch_xla", **absent), cell("torch_xla", "mha", device="tpu", **absent)]
    table = compared([*cells, cell("torch_xla", "ffn", device="tpu", status="oom")])
    timed = table[table["quantity"].isin(["first", "second", "steady"])]
    assert set(timed["verdict"]) == {"no data"}
    rows = list(zip(timed["workload"], timed["device"], strict=True))
    assert rows == [("gemm", "cpu")] * 3 + [("ffn", "tpu")] * 3


@pytest.mark.parametrize(
    ("undisturbed", "verdict", "detail"),
    [
        ((1.3, 1.31, 1.3), "slower", ""),
        ((0.9, 0.91, 0.9), "inconclusive", "the two estimators differ in sign"),
        ((), "slower", ""),
    ],
)
def test_a_direction_needs_the_undisturbed_series_to_agree_in_sign(undisturbed, verdict, detail):
    paired = rounds("steady", "torch_xla", STEADY) + rounds(
        "undisturbed", "torch_xla", undisturbed, basis="call"
    )
    table = compared([JAX, TORCH], paired)
    found = only(table, quantity="steady")
    assert (found["verdict"], found["detail"]) == (verdict, detail)
    assert ("undisturbed" in set(table["quantity"])) == bool(undisturbed)


@pytest.mark.parametrize(
    ("calls", "program", "verdict"),
    [
        ((2.0, 2.02, 2.01), (2.0, 2.01, 2.02), "the program"),
        ((2.0, 2.02, 2.01), (1.0, 1.01, 1.0), "everything else"),
        ((0.5, 0.51, 0.5), (0.5, 0.5, 0.51), "the program"),  # also if it is the faster one
        ((2.0, 2.02, 2.01), (1.41, 1.42, 1.42), "not separated"),  # half of the logarithm each
        ((2.0, 2.02, 2.01), (2.0, 1.1, 3.0), "not separated"),  # one of them hardly known
        ((2.0,), (1.0,), "no data"),
        ((), (1.0, 1.01, 1.0), "no data"),
    ],
)
def test_a_native_ratio_is_due_to_the_larger_factor_if_the_interval_of_both_decides(calls, program, verdict):
    assert only(split(calls, program), quantity="margin")["verdict"] == verdict


def test_only_the_native_compiler_has_native_calls_and_a_control():
    own = {"native", "everything else", "margin", "control"}
    assert not own & set(split(compiler=NEW)["quantity"])
    native = {NEW: {"environment": "an-xla", "native": True}}
    assert own <= set(split(compiler=NEW, compilers=native)["quantity"])


@pytest.mark.parametrize(
    ("basis", "why"),
    [
        ("no memory", "no memory for the native process beside the replay"),
        ("failed", "the native process failed"),
        ("apart", "not measured together"),
    ],
)
def test_rounds_without_a_ratio_say_why(basis, why):
    paired = rounds("control", "jax", (1.0, 1.01), compiler=OLD)
    paired += [paired[0] | {"round": 2, "ratio": None, "basis": basis}]
    found = only(compared([JAX, replay("jax"), replay("torch_xla")], paired), quantity="control")
    assert (found["rounds"], found["detail"]) == (2, f"1 of 3 rounds left out: {why}")


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((1.0, 1.001, 1.002), "passed"),
        ((1.02, 1.021, 1.02), "passed"),
        ((2.0, 2.01, 2.0), "native slower"),
        ((0.5, 0.51, 0.5), "native faster"),
        ((1.0, 1.02, 1.04), "inconclusive"),
        ((1.0,), "no data"),
        ((), "no data"),
    ],
)
def test_control_tells_whether_a_native_call_takes_the_time_of_the_replay(ratios, verdict):
    found = only(split(control=ratios), quantity="control", subject="jax")
    assert (found["baseline"], found["verdict"]) == ("jax", verdict)
    difference = "the native call takes 1.3 ms more than the replay"
    assert (found["detail"] == difference) == verdict.startswith("native")


def timed(framework: str, workload: str, ms: float, spread: float = 0.02, **columns) -> dict:
    """A cell with a steady time and its interval over 3 processes."""
    ends = {f"steady_{end}_ms": ms * math.exp(sign * spread) for end, sign in (("low", -1), ("high", 1))}
    return cell(framework, workload, **{"steady_ms": ms, "steady_processes": 3, **ends, **columns})


def test_forms_of_two_nodes_are_not_compared():
    for nodes, count in ((("n1", "n2"), 0), (("n1", "n1"), 1)):
        pairs = zip(("scan_rnn", "unrolled_rnn"), nodes, strict=True)
        table = compared([timed("jax", name, 2.0, nodes=node) for name, node in pairs])
        assert len(table[table["quantity"] == "form"]) == count


def form(*cells, **where):
    return only(compared(cells), quantity="form", workload="unrolled_rnn", **where)


def test_a_form_is_compared_with_the_plain_form_in_the_same_framework():
    scan = [timed("jax", "scan_rnn", 2.0), timed("numpy", "scan_rnn", 7.0)]
    found = form(*scan, timed("jax", "unrolled_rnn", 1.0))
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
