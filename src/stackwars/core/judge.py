"""Judge a program's outputs by its expected values: how many elements are wrong, which, and by how much.

Integers, booleans and indices must be equal. Floating-point values must agree within a limit, all together (relative
L2 error) and element by element (error over the largest value of the reference): one wrong row of 32,769 has a
relative L2 error of 9e-6 and an element's error of 1e-3 and more. Not-a-number and infinities are values: they must
stand where the reference has them.

The limit follows from the program: the larger of what rounding does to its longest sum (4 standard deviations,
u sqrt(n): Higham and Mary, SIAM J. Sci. Comput. 41, 2019) and 8 times the difference between evaluations of the same
program in its precision and in float64.

`expected.npz` has the values: `output0` and `output1`, the output of a call with each set of inputs (`output0/1` and so
on are further results), and `state/<name>`, the state after the first call of a workload that updates it.
`expected.json` says who computed them and the limits of the errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stackwars.core import documents, evaluate
from stackwars.core.compilers import INPUT_SETS
from stackwars.core.outcome import Failed
from stackwars.core.program import Graph, GraphError
from stackwars.core.program_text import refusal
from stackwars.core.types import is_float

if TYPE_CHECKING:
    from stackwars.core.client import Worker

ROUNDINGS = 32
"""The least limit in units of roundoff: libraries' exponentials and the like are a few apart."""
DEVIATIONS = 4
"""Standard deviations of the rounding error of a sum that a limit allows."""
MARGIN = 8
"""Factor between the errors of two evaluations in the program's precision that a limit allows."""
MOST = 1e-2
"""The largest limit that measured rounding may require, unless the narrowest type requires more."""
USEFUL = 0.25
"""A larger limit would let anything pass."""
RANDOM = {"stablehlo.rng", "stablehlo.rng_bit_generator"}
"""Operations whose results are not the same in every compiler."""
ARRAYS, DOCUMENT = "expected.npz", "expected.json"
OUTPUT = "output"
"""Name of a call's result; further results are output/1, output/2 and so on."""
OUTPUTS = "values.npz"
"""File of the outputs of a process: {"<call>/<key of the expected values>": array}."""


def output_names(count: int) -> list[str]:
    return [f"{OUTPUT}/{number}" if number else OUTPUT for number in range(count)]


def value_key(name: str, which: int) -> str | None:
    """Return the key of a result's expected values, for a call with this set of inputs; None if it has none.

    State that a program updates is expected after the first call alone.
    """
    output, _, number = name.partition("/")
    if output == OUTPUT:
        return f"{OUTPUT}{which}/{number}" if number else f"{OUTPUT}{which}"
    return f"state/{name}" if which == 0 else None


def output_values(returned: np.ndarray | tuple[np.ndarray, ...], which: int) -> dict[str, np.ndarray]:
    """Return the results of a call with this set of inputs, an array or several, by the keys of expected values."""
    each = returned if isinstance(returned, tuple) else (returned,)
    return {value_key(name, which): value for name, value in zip(output_names(len(each)), each, strict=True)}


@dataclass(frozen=True)
class Expected:
    """The expected values of a program.

    judge: their evaluator; reason: why there are none, else ""; disputed: whether there are none because two frontends'
    programs compute different things. limits: bounds of the relative L2 error and of an element's error over the
    largest value, by key. values: by key; a file's are read as they are used. certain: masks of integers that do not
    depend on rounding, by key; without one all elements are. rounding: error in the program's types, by result.
    odd: why a program is wrong in every compiler, by its label: the others agree on other values. difference: how
    programs differ in the types of their results. left_open: why values other than the expected ones are no fault.
    """

    judge: str = ""
    reason: str = ""
    limits: dict[str, float] = field(default_factory=dict)
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    rounding: dict[str, float] = field(default_factory=dict)
    disputed: bool = False
    certain: dict[str, np.ndarray] = field(default_factory=dict)
    odd: dict[str, str] = field(default_factory=dict)
    difference: str = ""
    left_open: str = ""

    def compare(self, key: str, values: np.ndarray) -> Agreement:
        right, certain = self.values[key], self.certain.get(key)
        if certain is not None and values.shape == right.shape:
            values = np.where(certain, values, right)
        return agreement(values, right, self.limits[key])

    def document(self) -> dict[str, Any]:
        """Return the content of expected.json: all fields but the arrays."""
        arrays = ("values", "certain")
        return {"schema": 1, **{name: value for name, value in vars(self).items() if name not in arrays}}


def write(folder: Path, values: Mapping[str, np.ndarray], document: dict[str, Any]) -> None:
    """Write expected values, and in the document their judge, reason and limits.

    Values in float64 are written in float32 if its rounding is far below their limit.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = dict(values)
    for key, value in values.items():
        if value.dtype == np.float64 and document["limits"][key] > 8 * 2.0**-25:
            largest = np.abs(value[np.isfinite(value)]).max(initial=0.0)
            if largest < np.finfo(np.float32).max:
                written[key] = value.astype(np.float32)
    np.savez(folder / ARRAYS, **written)
    documents.write(folder / DOCUMENT, document)


def read(folder: Path) -> Expected:
    document = documents.read(folder / DOCUMENT)
    names = {one.name for one in fields(Expected)} & document.keys()
    values = {} if document["reason"] else np.load(folder / ARRAYS)
    return Expected(values=values, **{name: document[name] for name in names})


def least_limit(roundoff: float, terms: int) -> float:
    """Return the least limit of an error: the effect of rounding on a sum of so many terms."""
    # Compilers use a wider accumulator for sums that are too long for their own type.
    return max(ROUNDINGS * roundoff, min(DEVIATIONS * math.sqrt(terms) * roundoff, USEFUL))


def limit(least: float, rounding: float) -> float:
    """Return the limit of an error; infinite if no limit is useful: the program amplifies rounding.

    least: see `least_limit`. rounding: the error of an evaluation in the program's precision.
    """
    result = max(least, MARGIN * rounding) if MARGIN * rounding <= max(MOST, least) else least
    return result if rounding <= least <= USEFUL or result > least else math.inf


def drawn(who: str, operations: Iterable[str]) -> str:
    """Return why a program with these random operations is not judged."""
    return f"{who} draws random numbers ({', '.join(sorted(operations))}), which every compiler draws in its own way"


def amplified(rounding: float, roundoff: float) -> str:
    """Return why a program with such a rounding error is not judged."""
    if not math.isfinite(rounding):
        return "this program amplifies rounding without bound: it is finite in float64 and not in its own precision"
    if least_limit(roundoff, 1) > USEFUL:
        return f"its narrowest type rounds by {roundoff:.1g}, so that no limit of an error is useful"
    return (
        f"this program amplifies rounding by {rounding / roundoff:.0f}: in its own precision it differs from float64 "
        f"by {rounding:.1g} of its largest value"
    )


def worst_error(values: np.ndarray, right: np.ndarray) -> float:
    """Return the larger one of the relative L2 error and the largest error over the largest value."""
    verdict = agreement(values, right, np.inf)
    return max(verdict.l2, verdict.largest)


def expected_values(
    worker: Worker,
    graph: Graph,
    values: evaluate.Values,
    *,
    text: str = "",
    sets: int = INPUT_SETS,
) -> Expected:
    """Return the expected values of a program, evaluated in float64 by an XLA that is not under test.

    values: its arguments. text: the emitted text; "" for a part of a program.

    :raises GraphError: for a program with a result that is not a tensor of known extents.
    :raises Failed: if it cannot be evaluated.
    """
    if why := refusal(text):
        return Expected(reason=why)
    if random := graph.names & RANDOM:
        return Expected(reason=drawn("it", random))
    if op := evaluate.unsupported(graph):
        raise GraphError(
            f"{op.name} has a result that is no tensor of known extents: {graph.types[op.results[0]]}"
        )
    exact, by = evaluate.results(worker, graph, values, double=True, sets=sets, text=text)
    (rounded,), _ = evaluate.results(worker, graph, values, double=False, sets=1, text=text)
    if any(map(overflows, rounded, exact[0])):
        # Operations keep the range of their types only if they are evaluated alone.
        exact, by = evaluate.results(worker, graph, values, double=True, sets=sets, text=text, alone=True)
    names = output_names(len(graph.results))
    roundoff = evaluate.unit_roundoff(text or graph.module())
    least = least_limit(roundoff, graph.accumulation)
    left_open = evaluate.left_open(worker, graph, values, sets)
    if text and not left_open:  # a part of a program is judged like the full program
        left_open = left_to_rounding(worker, graph, values, text)
    result = Expected(f"jaxlib {worker.versions()['jaxlib']}, {by} in float64", left_open=left_open)
    # Rounding was measured with the first set of inputs.
    result.rounding.update(zip(names, map(worst_error, rounded, exact[0]), strict=True))
    worst = max(result.rounding.values(), default=0.0)
    if math.isinf(limit(least, worst)):
        return Expected(reason=amplified(worst, roundoff), rounding=result.rounding)
    for number, arrays in enumerate(exact):
        for name, right, other in zip(names, arrays, rounded, strict=True):
            if not (key := value_key(name, number)):
                continue
            result.values[key] = right
            result.limits[key] = limit(least, result.rounding[name])
            if number == 0 and right.dtype.kind in "biu" and not np.array_equal(right, other):
                result.certain[key] = right == other
    return result


def left_to_rounding(worker: Worker, graph: Graph, values: evaluate.Values, text: str) -> str:
    """Return why rounding a small program's numbers in another way gives another valid result; "" if it does not.

    A large program is not tried.
    """
    if sum(op.work for op in graph.ops) > evaluate.INTERPRETED_WORK:
        return ""

    def alone(shaken: bool) -> list[np.ndarray]:
        return evaluate.results(
            worker, graph, values, double=True, sets=1, text=text, alone=True, shaken=shaken
        )[0][0]

    def apart(moved: np.ndarray, right: np.ndarray) -> float:
        """Return the error of a result; for integers, few of which may turn, the share that differs."""
        return worst_error(moved, right) if _have_rounding(moved, right) else agreement(moved, right, np.inf).l2

    try:
        error = max(map(apart, alone(True), alone(False)), default=0.0)
    except Failed:  # an operation that XLA does not take alone
        return ""
    if error <= max(MOST, least_limit(evaluate.unit_roundoff(text), graph.accumulation)):
        return ""
    return f"rounding decides the result: moved by one roundoff, its numbers give another (error {error:.1g})"


def overflows(rounded: np.ndarray, exact: np.ndarray) -> bool:
    """Return whether a result is finite only in float64."""
    if not is_float(rounded.dtype):
        return False
    return bool((~np.isfinite(rounded.astype(np.float64)) & np.isfinite(exact.astype(np.float64))).any())


def judge(outputs: Mapping[str, np.ndarray], expected: Expected) -> dict[str, Any] | None:
    """Return the verdict on the worst of a program's outputs; None if they cannot be judged.

    outputs: {"<call>/<key>": array}. {"judge", "wrong", "total", "l2", "largest", "where", "limit", "flaky"}: as in
    `Agreement`, and None for an infinite error; flaky: calls with the same inputs differ, and one of them is wrong.
    """
    if expected.reason:
        return None
    worst, limit, flaky = Agreement(0, 0, 0.0, 0.0), 0.0, False
    for key, right in expected.values.items():
        calls = [outputs[name] for name in outputs if name.partition("/")[2] == key]
        verdicts = [expected.compare(key, values) for values in calls]
        if not calls:
            verdicts = [Agreement(right.size, right.size, np.inf, np.inf, f"no result {key}")]
        differ = any(values.tobytes() != calls[0].tobytes() for values in calls[1:])
        flaky |= differ and any(verdict.wrong for verdict in verdicts)
        for verdict in verdicts:
            if not worst.total or (bool(verdict.wrong), verdict.largest) > (bool(worst.wrong), worst.largest):
                worst, limit = verdict, expected.limits[key]
    if worst.wrong and expected.left_open:
        return None
    return {
        "judge": expected.judge,
        **{key: getattr(worst, key) for key in ("wrong", "total", "where")},
        **{
            key: float(error) if np.isfinite(error := getattr(worst, key)) else None
            for key in ("l2", "largest")
        },
        "limit": limit,
        "flaky": flaky,
    }


def worst(verdicts: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Return the worst of several processes' verdicts; None if none was judged."""
    known = [verdict for verdict in verdicts if verdict]
    if not known:
        return None

    def badness(verdict: dict[str, Any]) -> tuple[bool, float]:
        return bool(verdict["wrong"]), np.inf if verdict["largest"] is None else verdict["largest"]

    wrong = sum(bool(verdict["wrong"]) for verdict in known)
    is_flaky = 0 < wrong < len(known) or any(verdict["flaky"] for verdict in known)
    return max(known, key=badness) | {"flaky": is_flaky}


def problem(verdict: dict[str, Any] | None) -> str:
    """Return what is wrong, in words; "" if nothing is, or nothing was judged."""
    if not verdict or not verdict["wrong"]:
        return ""
    kind = "flaky: " if verdict["flaky"] else ""
    error = "" if verdict["largest"] is None else f", largest error {verdict['largest']:.1e}"
    where = f" ({verdict['where']})" if verdict["where"] else ""
    return f"{kind}{verdict['wrong']:,} of {verdict['total']:,} elements wrong{where}{error}, by {verdict['judge']}"


# Agreement


@dataclass(frozen=True)
class Agreement:
    """wrong: how many of `total` elements. l2, largest: relative L2 error, and the largest element's error over the
    reference's largest value; infinite if the values cannot be compared. where: which elements are wrong, in words.
    """

    wrong: int
    total: int
    l2: float
    largest: float
    where: str = ""

    @property
    def right(self) -> bool:
        return not self.wrong

    def __str__(self) -> str:
        if self.right:
            return f"all {self.total:,} elements right, largest error {self.largest:.1e}"
        return (
            f"{self.wrong:,} of {self.total:,} elements wrong ({self.where}), largest error {self.largest:.1e}"
        )


def agreement(values: np.ndarray, reference: np.ndarray, limit: float) -> Agreement:
    """Compare values with a reference of the same shape; extents of 1 do not count.

    limit: bounds the relative L2 error and each element's error over the reference's largest value. An element is
    wrong if its error is over the limit; if only the L2 error is over it, every element that differs is.
    """
    if _long(values.shape) != _long(reference.shape):
        where = f"expected the shape {reference.shape}, got {values.shape}"
        return Agreement(max(1, reference.size), max(1, reference.size), np.inf, np.inf, where)
    values = values.reshape(reference.shape)
    wrong, l2, largest = errors(values, reference, limit)
    where = describe(wrong)
    if not _have_rounding(values, reference):
        got, right = (np.sort(np.atleast_1d(array)[wrong]) for array in (values, reference))
        if got.size > 1 and np.array_equal(got, right):
            where += "; the right values in another order, as of equal keys in a sort"
    return Agreement(int(wrong.sum()), wrong.size, l2, largest, where)


def errors(values: np.ndarray, reference: np.ndarray, limit: float) -> tuple[np.ndarray, float, float]:
    """Return (which elements are wrong, the L2 error, the largest) of values of the reference's shape."""
    if not _have_rounding(values, reference):
        wrong = np.atleast_1d(values != reference)
        return wrong, float(wrong.mean()) if wrong.size else 0.0, float(wrong.any())
    precise = np.complex128 if reference.dtype.kind == "c" else np.float64
    got, expected = np.atleast_1d(values.astype(precise)), np.atleast_1d(reference.astype(precise))
    finite = np.isfinite(expected)
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    misplaced = ~same & (~finite | ~np.isfinite(got))
    size = np.abs(expected[finite])
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(got - expected))
    error[misplaced] = np.inf
    scale, norm = float(size.max(initial=0.0)) or 1.0, float(np.linalg.norm(size)) or 1.0
    l2, largest = float(np.linalg.norm(error)) / norm, float(error.max(initial=0.0)) / scale
    wrong = error > limit * scale
    if l2 > limit and not wrong.any():
        wrong = error > 0
    return wrong, l2, largest


def _have_rounding(*arrays: np.ndarray) -> bool:
    return all(is_float(array.dtype) or array.dtype.kind == "c" for array in arrays)


def _long(shape: tuple[int, ...]) -> list[int]:
    return [extent for extent in shape if extent != 1]


def describe(wrong: np.ndarray) -> str:
    """Return which elements of a mask are set: by axis if they are a product of ranges, else the first and last."""
    places = np.nonzero(wrong)
    if not places[0].size:
        return ""
    if places[0].size == wrong.size:
        return "all"
    chosen = [np.unique(axis) for axis in places]
    if math.prod(len(one) for one in chosen) == places[0].size:
        parts = (
            _of_axis(axis, one, extent)
            for axis, (one, extent) in enumerate(zip(chosen, wrong.shape, strict=True))
        )
        return " and ".join(filter(None, parts))
    ends = (tuple(int(axis[place]) for axis in places) for place in (0, -1))
    return "from {} to {}".format(*ends)


def _of_axis(axis: int, chosen: np.ndarray, extent: int) -> str:
    """Return which coordinates of an axis are chosen, in words; "" if all are."""
    first, last, count = int(chosen[0]), int(chosen[-1]), len(chosen)
    if count == extent:
        return ""
    steps = set(np.diff(chosen).tolist())
    if steps <= {1}:
        if count == 1 and 0 < first < extent - 1:
            return f"{first} of axis {axis}"
        if last == extent - 1:
            return f"the last {count} of axis {axis}"
        return f"the first {count} of axis {axis}" if not first else f"{first} to {last} of axis {axis}"
    if len(steps) == 1:
        return f"every {steps.pop()}. of axis {axis} from {first}"
    return f"{count} between {first} and {last} of axis {axis}"
