"""Programs of public reports whose right answer is known, judged in XLA and IREE."""

import numpy as np
import pytest

from ir.spellings import of_x, program
from stackwars.core import check, judge
from stackwars.core.client import Worker
from stackwars.core.judge import Expected
from stackwars.core.outcome import Failed, Status
from stackwars.core.program import Argument, Program, fixed
from stackwars.core.program_text import refusal
from stackwars.core.types import DTYPES
from stackwars.explain.files import drawn, plain_arguments

LOG_EXP = of_x("%0 = exponential %x : T; %r = log %0 : T", "tensor<6xf32>")
"""openxla/xla issue 42732: the logarithm of an exponential that overflows float32."""
CAST = of_x(
    "%0 = convert %x : (T) -> tensor<256xbf16>; %1 = convert %0 : (tensor<256xbf16>) -> T; %r = subtract %x, %1 : T",
    "tensor<256xf32>",
)
"""openxla/xla issue 41605: what the rounding to bfloat16 takes away."""
LOST = program(
    "%t = add %x, %y : T; %d = subtract %t, %x : T; %r = subtract %y, %d : T",
    "%x: T, %y: T", "T", T="tensor<64xbf16>",
)  # fmt: skip
"""jax-ml/jax issue 23007: the rounding error of a sum in bfloat16."""
CANCELLING = of_x(
    "%big = constant dense<1.0e+06> : T; %0 = add %x, %big : T; %r = subtract %0, %big : T", "tensor<64xf32>"
)
RANDOM = of_x(
    "%a = constant dense<0.0> : tensor<f32>; %b = constant dense<1.0> : tensor<f32>; "
    "%s = constant dense<64> : tensor<1xi64>; %u = rng %a, %b, %s, distribution = UNIFORM : "
    "(tensor<f32>, tensor<f32>, tensor<1xi64>) -> T; %r = add %x, %u : T",
    "tensor<64xf32>",
)
ABSOLUTE = of_x("%0 = multiply %x, %x : T; %r = abs %0 : T", "tensor<64xi8>")
"""tensorflow issue 117142: a simplification drops abs after a square that wraps."""
CALLBACK = of_x(
    "%r = stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) {mhlo.backend_config = {index = 0 : ui64}} : (T) -> T"
)
LOG1P = of_x("%r = log_plus_one %x : T", "tensor<1001xf64>")
"""jax-ml/jax issue 39707: log1p of float64 is 129 units in the last place off."""
RATIOS = program(
    "%zero = constant dense<0.0> : V; %0 = complex %b, %zero : C; %1 = divide %a, %0 : C; "
    "%r = concatenate %1, %0, dim = 0 : (C, C) -> tensor<8xcomplex<f32>>",
    "%a: C, %b: V", "tensor<8xcomplex<f32>>", C="tensor<4xcomplex<f32>>",
)  # fmt: skip
"""jax-ml/jax issue 23958: joined complex ratios."""
CLAMP = program(
    "%high = constant dense<1.0> : L; %r = clamp %low, %x, %high : (L, T, L) -> T",
    "%x: T, %low: L", "T", T="tensor<3xf32>", L="tensor<f32>",
)  # fmt: skip
"""r-xla/anvl issue 545: a limit that is not a number."""
TO_INTEGER = of_x("%r = convert %x : (T) -> tensor<4xi32>", "V", "tensor<4xi32>")
"""tensorflow issue 126212: not-a-number as a whole number."""
QUOTIENT = program("%r = divide %x, %y : T", "%x: T, %y: T", "T", T="tensor<4xi32>")
"""openxla/xla issue 49248: whole numbers divided by zero."""


def expected(worker: Worker, text: str, *arrays: np.ndarray) -> tuple[Program, Expected]:
    """Return a program, on these arrays or on drawn ones, and its expected values."""
    graph = worker.graph(text)
    # A worker places equal keys once.
    arguments: tuple[Argument, ...] = tuple(
        fixed(array, f"{array.dtype} {array.tobytes()}") for array in arrays
    )
    arguments = arguments or plain_arguments(graph, {}, 1)
    return Program("program", text, arguments), judge.expected_values(worker, graph, arguments, text=text)


BEYOND = np.array([1, 50, 88, 89, 100, 200], np.float32)
REPORTS = {
    "infinity": (LOG_EXP, [BEYOND], "wrong", "ok"),
    "cast": (CAST, [], "ok", "ok"),
    "lost": (LOST, [], "ok", "ok"),
    "absolute": (ABSOLUTE, [], "wrong", "ok"),
    "log1p": (LOG1P, [np.linspace(-0.53, -0.28, 1001)], "wrong", ""),
    "ratios": (RATIOS, [], "ok", ""),
    "clamp": (CLAMP, [np.array([-1, 0.5, 2], np.float32), np.float32(np.nan)], "ok", ""),
}
"""{report: (program, arguments, or [] for drawn ones, status in XLA, status in IREE or "" if it is not asked)}."""


@pytest.mark.env
@pytest.mark.parametrize("name", REPORTS)
def test_programs_of_public_reports_are_judged_as_the_specification_says(
    worker: Worker, iree: Worker, name: str
) -> None:
    text, arrays, *statuses = REPORTS[name]
    program, right = expected(worker, text, *map(np.asarray, arrays))
    for compiler, status in zip((worker, iree), filter(None, statuses), strict=False):
        found = check.check(compiler, program, right)
        assert found.outcome.status == status, found.outcome.detail
    value = right.values["output0"]
    if text is LOG_EXP:
        assert np.isinf(value[3:]).all() and np.isfinite(value[:3]).all()
    if text in (CAST, LOST):
        assert set(right.limits.values()) == {32 * 2.0**-8}
    if text is CAST:
        assert 0 < np.abs(value).max() < 0.02, "the cast keeps its meaning in float64"
    if text is ABSOLUTE:
        assert "the StableHLO interpreter" in right.judge


@pytest.mark.env
@pytest.mark.parametrize(
    ("text", "reason"),
    [(CANCELLING, "amplifies rounding by"), (RANDOM, "draws random numbers (stablehlo.rng)")],
)
def test_a_program_without_one_right_answer_is_not_judged(worker: Worker, text: str, reason: str) -> None:
    program, right = expected(worker, text)
    assert reason in right.reason
    found = check.check(worker, program, right)
    assert (found.outcome.status, found.outcome.detail) == (Status.NOT_JUDGED, right.reason)


@pytest.mark.env
@pytest.mark.parametrize(
    ("text", "open_values", "plain_values"),
    [
        (TO_INTEGER, [[1, np.nan, 2, 3]], [[1, -1.5, 2, 3]]),
        (TO_INTEGER, [[1, 2.0**31, 2, 3]], [[1, -(2.0**31), 2, 3]]),
        (QUOTIENT, [[1, 2, 3, 4], [1, 0, 2, 2]], [[1, 2, 3, 4], [1, 3, 2, 2]]),
        (QUOTIENT, [[-(2**31), 2, 3, 4], [-1, 1, 2, 2]], [[-(2**31), 2, 3, 4], [1, 1, 2, 2]]),
    ],
)
def test_values_that_the_specification_leaves_open_accuse_nobody(
    worker: Worker, text: str, open_values: list, plain_values: list
) -> None:
    kind = np.float32 if text is TO_INTEGER else np.int32
    for values, is_open in ((open_values, True), (plain_values, False)):
        program, right = expected(worker, text, *(np.array(one, kind) for one in values))
        assert bool(right.left_open) == is_open
        assert check.check(worker, program, right).outcome.status is Status.OK
        other = {f"first/{key}": value + 1 for key, value in right.values.items()}
        assert (judge.judge(other, right) is None) == is_open


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_drawn_values_have_their_type_and_range(name: str) -> None:
    dtype = np.dtype(DTYPES[name])
    first, second = (drawn((1000,), dtype, 0, 1, which) for which in range(2))
    assert first.dtype == second.dtype == dtype
    if dtype.kind in "iu":
        assert first.min() >= 0 and first.max() < 8
        assert second.max() > np.iinfo(dtype).max // 2 and (second.min() < 0) == (dtype.kind == "i")
        assert 0 <= drawn((), dtype, 0, 1, 1) < 8


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("HloModule f\n", "got HLO"),
        ("tensor<8x!quant.uniform<i8:f32, 0.05>>", "quantised"),
        (CALLBACK, "calls back into the Python process"),
        ("module attributes {mhlo.num_partitions = 2 : i32} {", "divided among 2 devices"),
        (ABSOLUTE, ""),
        ("module attributes {mhlo.num_partitions = 1 : i32} {", ""),
    ],
)
def test_what_no_worker_can_run_is_unsupported_in_one_line(text: str, reason: str) -> None:
    found = refusal(text)
    assert (reason in found and "\n" not in found) if reason else not found


@pytest.mark.env
def test_an_unsupported_program_is_not_run(worker: Worker) -> None:
    found = check.check(worker, Program("callback", CALLBACK), Expected(reason="not asked"))
    assert found.outcome.status is Status.UNSUPPORTED and "Python process" in found.outcome.detail
    with pytest.raises(Failed, match="got HLO"):
        worker.graph("HloModule f")
