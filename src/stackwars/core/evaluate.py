"""Evaluate a StableHLO program without trusting a compiler's optimisations: the judge of every other result.

A small program is evaluated by the StableHLO reference interpreter. Any other is evaluated one operation at a time: XLA
compiles each alone, so that nothing is fused, folded or simplified. Both take a program in float64, in which narrower
floats become float64, or as it is. In float64 a cast to a narrower float still rounds to that type, and in the
evaluation of one operation at a time a value beyond the range of its type is still an infinity.
"""

from __future__ import annotations

import itertools
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stackwars.core import types
from stackwars.core.compilers import INPUT_SETS
from stackwars.core.outcome import Failed, Status
from stackwars.core.program import Argument, Graph, Op
from stackwars.core.program_text import not_donated, readable, with_chlo_erf
from stackwars.core.types import DTYPES, dtype, element, finfo, is_float, is_tensor, shape

if TYPE_CHECKING:
    from stackwars.core.client import Worker

INTERPRETED_WORK = 1e7
"""Most scalar operations that the interpreter evaluates; each takes a few microseconds."""
INTERPRETED_S = 60
"""Time limit of the interpreter, which copies full arrays in each step of a loop."""
NOT_INTERPRETED = {
    f"stablehlo.{name}"
    for name in (
        "batch_norm_grad", "batch_norm_inference", "batch_norm_training", "broadcast", "cholesky", "composite",
        "create_token", "custom_call", "dot", "einsum", "fft", "rng", "rng_bit_generator", "torch_index_select",
        "set_dimension_size", "trace", "triangular_solve", "unary_einsum",
    )
}  # fmt: skip
"""Operations at which the interpreter aborts the process (StableHLO issue 1571)."""
ALONE = {
    "xla_disable_hlo_passes": "algsimp,constant_folding,fusion,cpu-instruction-fusion,cse,reshape-mover,dot-merger,"
    "simplify-fp-conversions,while-loop-constant-sinking,while-loop-invariant-code-motion",
    "xla_cpu_experimental_ynn_fusion_type": "",
    "xla_backend_optimization_level": "1",
}
"""XLA's options for single operations, each of which runs once: an optimisation must not be the fault."""
UNIT_ROUNDOFF = {
    name: float(finfo(np.dtype(kind)).eps) / 2 for name, kind in DTYPES.items() if is_float(np.dtype(kind))
}
"""Half of the distance between 1 and the next number."""
Values = Sequence[Argument]
"""The arguments of a program, in order."""
_TOO_LONG: set[int] = set()
"""Hashes of the programs that the interpreter took too long for."""
_LAYOUT = re.compile(r'(, )?(xla_shape = "[^"]*"|result_layout = dense<[^>]*> : tensor<\d+xindex>)')
_HEXADECIMAL = re.compile(r'dense<("?)0x([0-9A-Fa-f]+)"?> : tensor<((?:\d+x)*(?:complex<)?)(f32|f16|bf16)>')
_LIST = re.compile(r"dense<(\[[^>\"]*0x[^>\"]*)> : tensor<((?:\d+x)*(?:complex<)?)(f32|f16|bf16)>")
_NUMBER = re.compile(r"0x([0-9A-Fa-f]+)")
_NARROW = re.compile(r"tensor<((?:\d+x)*(?:complex<)?)(?:f32|f16|bf16)>")
_NARROWING = re.compile(
    r"(\"?)stablehlo\.convert\1(\()?(%[\w#]+)\)? : "
    r"\(tensor<((?:\d+x)*)(f64|f32|f16)>\) -> tensor<(?:\d+x)*(f32|f16|bf16)>"
)
_FLOATS = re.compile(r"(?:x|<)(bf16|f16|f32|f64|f8\w+)>")


def float64_text(text: str) -> str:
    """Return the program with float64 in place of narrower floating-point types."""

    def literal(match: re.Match) -> str:
        # Without quotes it is one value, most significant byte first; with them bytes in the memory's order.
        digits = _widened(match[2], match[4], 1 if match[1] else -1)
        return f"dense<{match[1]}0x{digits}{match[1]}> : tensor<{match[3]}f64>"

    def listed(match: re.Match) -> str:
        # In a list, numbers that are not finite are hexadecimal.
        values = _NUMBER.sub(lambda one: f"0x{_widened(one[1], match[3], -1)}", match[1])
        return f"dense<{values}> : tensor<{match[2]}{match[3]}>"

    text = _LIST.sub(listed, _HEXADECIMAL.sub(literal, _LAYOUT.sub("", text)))
    return _NARROW.sub(r"tensor<\1f64>", _NARROWING.sub(_rounded, text))


def _rounded(cast: re.Match) -> str:
    """Return the operation that rounds a float64 as a cast to a narrower float does, in the same form as the cast."""
    quote, _, operand, extents, source, target = cast.groups()
    if UNIT_ROUNDOFF[target] <= UNIT_ROUNDOFF[source]:
        return cast[0]
    format_, kind = finfo(np.dtype(DTYPES[target])), f"tensor<{extents}f64>"
    if not quote:
        return f"stablehlo.reduce_precision {operand}, format = e{format_.nexp}m{format_.nmant} : {kind}"
    bits = f"exponent_bits = {format_.nexp} : i32, mantissa_bits = {format_.nmant} : i32"
    return f'"stablehlo.reduce_precision"({operand}) <{{{bits}}}> : ({kind}) -> {kind}'


def _widened(digits: str, name: str, order: int) -> str:
    """Return the hexadecimal digits, as float64, of numbers of an element type; order: -1 reverses all bytes."""
    numbers = np.frombuffer(bytes.fromhex(digits)[::order], DTYPES[name]).astype(np.float64)
    return numbers.tobytes()[::order].hex().upper()


def unit_roundoff(text: str) -> float:
    """Return the unit roundoff of the program's least precise floating-point type; 0 if it has none."""
    return max((UNIT_ROUNDOFF.get(name, 2.0**-2) for name in set(_FLOATS.findall(text))), default=0.0)


# A request for an evaluation, in the process of the client


class Evaluated:
    """Arrays of a graph's values, and fingerprints of all values in the first set of inputs; only the arrays if certain
    values were requested.
    """

    def __init__(self, folder: Path, prints: dict[int, dict[str, Any]], files: dict[int, list[Path]]) -> None:
        self._folder, self._prints, self._files = folder, prints, files

    def print(self, value: int) -> dict[str, Any]:
        return self._prints[value]

    def is_informative(self, value: int) -> bool:
        """Return whether the value can be distinguished from others."""
        return value in self._prints and self._prints[value]["informative"]

    def array(self, value: int, number: int = 0) -> np.ndarray:
        """Return a value as it is on disk, in float64 if it is a float; an argument in its type.

        :raises KeyError: for a value that was not saved.
        """
        if value in self._files:
            files = self._files[value]
            return types.load(files[number % len(files)], mapped=True)
        path = self._folder / f"{number}-{value}.npy"
        if not path.exists():
            raise KeyError(f"value {value} was not saved")
        return types.load(path, mapped=True)


def evaluate(
    worker: Worker,
    graph: Graph,
    values: Values,
    folder: Path,
    *,
    double: bool = True,
    sets: int = INPUT_SETS,
    save: Iterable[int] | None = None,
    shaken: bool = False,
) -> Evaluated:
    """Evaluate every operation alone in XLA.

    worker: has an XLA that is not under test if values are to be judged. folder: for the arrays, a few times the size
    of the values; must exist. double: compute floats in float64. save: values whose arrays are wanted; by default
    informative ones and the program's results. shaken: see `results`.

    :raises Failed: for an operation that the compiler does not take alone.
    """
    files: dict[int, list[Path]] = {}
    for argument, get in zip(graph.arguments, values, strict=True):
        numbers = range(1 if get.is_fixed else INPUT_SETS)
        files[argument] = [folder / f"argument-{argument}-{number}.npy" for number in numbers]
        for number, path in enumerate(files[argument]):
            types.save(path, np.asarray(get(number)))
    texts: dict[str, list[str]] = {}
    last = _last_reads(graph)
    steps = []
    for op in graph.ops:
        key = f"{op.form()} : {[graph.types[value] for value in op.reads]}{'' if double else ' as it is'}"
        if key not in texts:
            plain = with_chlo_erf(graph.part([op], op.reads, op.results))
            texts[key] = [float64_text(plain) if double else plain, plain]
        kinds = [graph.types[value] for value in op.results]
        steps.append(
            {"key": key, "reads": op.reads, "results": op.results, "free": last[op.number]}
            | {"most": [_most(kind) if double else None for kind in kinds]}
            | {"roundoff": [UNIT_ROUNDOFF.get(element(kind), 0.0) * shaken for kind in kinds]}
        )
    job = {
        "texts": texts, "steps": steps, "sets": sets, "folder": str(folder),
        "arguments": {value: list(map(str, paths)) for value, paths in files.items()},
        "save": list(graph.results if save is None else save), "save_informative": save is None,
    }  # fmt: skip
    prints = worker.evaluate(job, folder)
    return Evaluated(folder, {int(value): mark for value, mark in prints.items()}, files)


def results(
    worker: Worker,
    graph: Graph,
    values: Values,
    *,
    double: bool,
    sets: int = INPUT_SETS,
    text: str = "",
    alone: bool = False,
    shaken: bool = False,
) -> tuple[list[list[np.ndarray]], str]:
    """Return a program's results in each set of inputs, and their evaluator: the interpreter, or single operations.

    text: the program as it was emitted; "" for a part of one. alone: do not use the interpreter. shaken: likewise, and
    move every number that its type rounds by one roundoff, as another implementation may round it.

    :raises Failed: if neither takes it.
    """
    text = readable(not_donated(with_chlo_erf(text or graph.module())))
    if not (alone or shaken) and hash(text) not in _TOO_LONG and is_interpretable(graph, text):
        patience, worker.timeout_s = worker.timeout_s, min(worker.timeout_s, INTERPRETED_S)
        try:
            wanted = float64_text(text) if double else text
            outputs = [worker.interpret(wanted, [get(number) for get in values]) for number in range(sets)]
            return outputs, "the StableHLO interpreter"
        except Failed as error:
            if error.outcome.status not in (Status.UNSUPPORTED, Status.CRASH, Status.TIMEOUT):
                raise
            if error.outcome.status is Status.TIMEOUT:
                _TOO_LONG.add(hash(text))
        finally:
            worker.timeout_s = patience
    with tempfile.TemporaryDirectory(prefix="stackwars-") as folder:
        options = {"double": double, "sets": sets, "save": graph.results, "shaken": shaken}
        done = evaluate(worker, graph, values, Path(folder), **options)
        return [
            [np.array(done.array(value, number)).reshape(shape(graph.types[value])) for value in graph.results]
            for number in range(sets)
        ], "operation by operation"


def is_interpretable(graph: Graph, text: str) -> bool:
    """Return whether the interpreter has all of a program's operations, and finishes in seconds."""
    # MLIR's bindings hand out no values of bfloat16 and narrower floats.
    has_numpy_types = not re.search(r"bf16>|f8\w+>|[<x]u?i[24]>", text)
    work = sum(op.work for op in graph.ops)
    return (
        bool(graph.names) and work <= INTERPRETED_WORK and not graph.names & NOT_INTERPRETED and has_numpy_types
    )


def _most(kind: str) -> float | None:
    """Return the size from which a float64 is an infinity in a tensor type; None for float64 and integers."""
    scalar = dtype(kind) if is_tensor(kind) else np.dtype(np.int8)
    if not is_float(scalar) or scalar == np.float64:
        return None
    largest = float(finfo(scalar).max)
    # Half a unit in the last place above the largest number still rounds to it.
    return largest * (1 + UNIT_ROUNDOFF[element(kind)] / 2)


def _last_reads(graph: Graph) -> dict[int, list[int]]:
    """Return {number of an operation: the values that no later one reads}, without the program's results."""
    last: dict[int, int] = {}
    for op in graph.ops:
        last |= dict.fromkeys((*op.results, *op.reads), op.number)
    result = defaultdict(list)
    for value, number in last.items():
        if value not in graph.results:
            result[number].append(value)
    return result


def unsupported(graph: Graph) -> Op | None:
    """Return the first operation with a result that is not a tensor of known extents, such as a token."""
    return next((op for op in graph.ops if not all(is_tensor(graph.types[one]) for one in op.results)), None)


def left_open(worker: Worker, graph: Graph, values: Values, sets: int = INPUT_SETS) -> str:
    """Return why StableHLO leaves a result of these inputs to the implementation; "" if it leaves none.

    It does so for a number converted to an integer type that cannot hold it, and for a division of integers by zero.

    :raises Failed: if the operations before it cannot be evaluated.
    """
    tests = {op: test for op in graph.ops if (test := _is_left_open(op, graph.types))}
    if not tests:
        return ""
    save = {value for op in tests for value in op.operands}
    with tempfile.TemporaryDirectory(prefix="stackwars-") as folder:
        done = evaluate(worker, graph, values, Path(folder), sets=sets, save=save)
        for (op, test), number in itertools.product(tests.items(), range(sets)):
            if test(*(np.asarray(done.array(value, number)) for value in op.operands)):
                kind = graph.types[op.results[0]]
                return f"{op.name} to {kind} has values whose result StableHLO leaves to the implementation"
    return ""


def _is_left_open(op: Op, kinds: Mapping[int, str]) -> Callable[..., bool] | None:
    """Return a test of an operation's operands for such values; None if they cannot have any."""
    name, result = op.name.rpartition(".")[2], kinds[op.results[0]] if op.results else ""
    bits = re.search(r"[x<](u?)i(\d+)>$", result)
    if not bits or bits[2] == "1":
        return None
    low, high = (0, 2 ** int(bits[2])) if bits[1] else (-(2 ** (int(bits[2]) - 1)), 2 ** (int(bits[2]) - 1))
    if name == "convert" and _FLOATS.search(kinds[op.operands[0]]):
        return lambda array: not bool(((np.trunc(array) >= low) & (np.trunc(array) < high)).all())
    if name in ("divide", "remainder"):
        return lambda a, b: bool(((b == 0) | ((low < 0) & (a == low) & (b == -1))).any())
    return None


# The evaluation, in the process of a worker


class Evaluator:
    """Evaluates operations alone. A compiled operation serves every program that has it."""

    def __init__(self, compiler: Callable[[dict[str, Any]], Any]) -> None:
        """compiler: returns an XLA with these options."""
        self._compiler, self._single = compiler(ALONE), {}
        try:
            self._compiler.compile("func.func @main() { return }")
        except Exception:  # a release without YNN refuses its option
            self._compiler = compiler({name: value for name, value in ALONE.items() if "ynn" not in name})

    def run(self, job: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Evaluate a program; return {value: its fingerprint in the first set of inputs}.

        job: {texts: {key: [the operation in float64, as it is]}; steps, in order: {key, reads, results, free, most: the
        size from which a result is an infinity in its own type, or None, roundoff: by which a result is moved, or 0};
        arguments: {value: [file of each set]}; sets: of inputs; save: values written as "<set>-<value>.npy" into the
        folder; save_informative: whether informative values are written too; folder}.
        """
        with ThreadPoolExecutor(2) as pool:
            new = [key for key in job["texts"] if key not in self._single]
            compiled = pool.map(lambda key: self._compile(*job["texts"][key]), new)
            self._single |= dict(zip(new, compiled, strict=True))
        prints: dict[str, dict[str, Any]] = {}
        for number in range(job["sets"]):
            self._evaluate(job, number, prints)
        return prints

    def _compile(self, double: str, plain: str) -> Any:
        try:
            return self._compiler.compile(double)
        except Exception:
            # A bit cast, for example, has no form in float64.
            return self._compiler.compile(plain)

    def _evaluate(self, job: dict, number: int, prints: dict[str, dict[str, Any]]) -> None:
        values: dict[int, Any] = {
            int(value): types.load(Path(files[number % len(files)]), mapped=True)
            for value, files in job["arguments"].items()
        }
        for value, array in values.items():
            self._note(job, number, value, array, prints)
        for step in job["steps"]:
            inputs = [values[value] for value in step["reads"]]
            try:
                arrays = self._call(self._single[step["key"]], inputs)
            except Exception:
                # A call of LAPACK in float32, for example, refuses float64 as it runs.
                self._single[step["key"]] = self._compiler.compile(job["texts"][step["key"]][1])
                arrays = self._call(self._single[step["key"]], inputs)
            columns = (step["results"], arrays, step["most"], step["roundoff"])
            for value, array, most, roundoff in zip(*columns, strict=True):
                if is_float(array.dtype):
                    array = array.astype(np.float64)
                    array = shake(array, roundoff, value) if roundoff else array
                    if most is not None:
                        array = np.where(np.abs(array) >= most, np.copysign(np.inf, array), array)
                values[value] = array
                self._note(job, number, value, array, prints)
            for value in step["free"]:
                del values[value]

    def _call(self, program: Any, arrays: list[np.ndarray]) -> list[np.ndarray]:
        program.buffers[0] = [
            self._compiler.put(array.reshape(extents).astype(dtype))
            for array, (extents, dtype) in zip(arrays, program.types, strict=True)
        ]
        outputs = program.call(0)
        program.fence(outputs)
        result = program.fetch(outputs)
        program.buffers[0] = [None] * len(program.types)
        return result

    def _note(self, job: dict, number: int, value: int, array: np.ndarray, prints: dict[str, dict]) -> None:
        if job["save_informative"] and str(value) not in prints:
            prints[str(value)] = fingerprint(array)
        is_wanted = value in job["save"] or (job["save_informative"] and prints[str(value)]["informative"])
        if is_wanted and str(value) not in job["arguments"]:
            types.save(Path(job["folder"], f"{number}-{value}.npy"), array)


def shake(array: np.ndarray, roundoff: float, seed: int) -> np.ndarray:
    """Return float64 numbers moved up or down by a type's unit roundoff, except those that the type has.

    >>> shake(np.array([0.5, 3.0]), 2.0**-24, 1).tolist()
    [0.5, 3.0]
    """
    with np.errstate(invalid="ignore"):
        units = np.frexp(array)[0] / roundoff
        is_rounded = np.isfinite(array) & (units != np.floor(units))
        signs = np.random.default_rng(seed).choice((-1, 1), array.shape)
        return np.where(is_rounded, array * (1 + signs * roundoff), array)


def fingerprint(array: np.ndarray) -> dict[str, Any]:
    """Return a summary by which arrays with the same elements in another order are recognised.

    Size, kind, whether it is informative, and six moments of the finite elements: the root mean square, and relative to
    it the mean absolute value, the mean cube of the absolute value, the largest, the smallest and the mean element.
    """
    flat = array.reshape(-1)
    kind = "f" if is_float(array.dtype) else array.dtype.kind
    if kind == "c":
        flat = flat.view(flat.real.dtype)
    return {"size": array.size, "kind": kind, "informative": is_informative(array), "moments": moments(flat)}


def is_informative(array: np.ndarray) -> bool:
    """Return whether an array has enough different elements to be matched: no constant, mask or broadcast."""
    sample = array.reshape(-1)[: 1 << 16]
    return array.size > 8 and np.unique(sample).size > max(4, sample.size // 20)


def moments(flat: np.ndarray) -> list[float]:
    x = flat.astype(np.float64)
    if not np.isfinite(x).all():
        x = x[np.isfinite(x)]
    if not x.size:
        return [0.0] * 6
    absolute = np.abs(x)
    scale = max(float(np.sqrt(np.mean(absolute * absolute))), 1e-300)
    absolute /= scale
    cube = float(np.mean(absolute * absolute * absolute))
    return [scale, float(absolute.mean()), cube, *(float(one) / scale for one in (x.max(), x.min(), x.mean()))]
