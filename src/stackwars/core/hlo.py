"""Read the text of an HLO module, as XLA dumps it after optimisation, count its contents, and class its operations.

Standard library only: it runs in compilers' environments, and the tables name the classes by it.

`Module.runs` says how often each computation runs, so that a sum over a program counts a loop's body as often as XLA
says that it runs. Collectives are counted as they stand in the text: one in a loop's body counts once. Their bytes are
the bytes of an instruction's result on a device: all gathered elements for an all-gather, and for a
reduce-scatter the part that stays on a device.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

_SHAPE = re.compile(r"([a-z]+[0-9]*(?:e\d+m\d+\w*)?)\[([\d,<=]*)\]")
_NAME = re.compile(r"%([\w.\-]+)")
_CALLED = re.compile(r"\b(calls|to_apply|body|condition|called_computations|branch_computations)=")
_BITS = {"pred": 8, "s4": 4, "u4": 4, "s2": 2, "u2": 2, "token": 0, "opaque": 0, "f4e2m1fn": 4}
CALLS = ("call", "conditional", "async-start", "custom-call")
"""Operations that only run other computations: in place, concurrently, or (custom) on another core."""


@dataclass(frozen=True)
class Array:
    """One array of a shape: element type and extents."""

    dtype: str
    extents: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Return the bytes of the elements, without a layout's padding."""
        digits = re.search(r"\d+", self.dtype)
        bits = _BITS.get(self.dtype, int(digits[0]) if digits else 0)
        return math.ceil(math.prod(self.extents) * bits / 8)


@dataclass(frozen=True)
class Instruction:
    """One line of a computation."""

    name: str
    opcode: str
    arrays: tuple[Array, ...]
    operands: tuple[str, ...]
    attributes: str

    @property
    def bytes(self) -> int:
        return sum(array.bytes for array in self.arrays)

    def attribute(self, key: str) -> str:
        """Return the word or the {...} after `key=`; "" if there is none."""
        result = re.search(rf"\b{key}=(\{{[^}}]*\}}|[^,\s]+)", self.attributes)
        return result[1] if result else ""

    @cached_property
    def called(self) -> tuple[str, ...]:
        """Return the names of the called computations, in the order of the text."""
        names = []
        for match in _CALLED.finditer(self.attributes):
            rest = self.attributes[match.end() :]
            end = rest.find("}") if rest.startswith("{") else rest.find(",")
            names += _NAME.findall(rest if end < 0 else rest[:end])
        return tuple(names)


@dataclass
class Computation:
    """Instructions by name, in the order of the text."""

    name: str
    instructions: dict[str, Instruction] = field(default_factory=dict)


@dataclass(frozen=True)
class Module:
    """All computations, and the name of the entry."""

    computations: dict[str, Computation]
    entry: str

    @cached_property
    def runs(self) -> dict[str, int | None]:
        """Return {control computation: how often one call of the program runs it, None if unknown}.

        Control computations are the entry, loop bodies, branches, and the computations that CALLS call. A computation
        that a fusion, a reduction or the like calls is part of that operation. Every branch counts as taken.
        """
        runs: dict[str, int | None] = {}

        def enter(name: str, times: int | None) -> None:
            before = runs.get(name, 0)
            runs[name] = None if None in (before, times) else before + times
            for i in self.computations[name].instructions.values():
                if i.opcode == "while":
                    known = re.search(r'"known_trip_count":\{"n":"(\d+)"', i.attributes)
                    trips = None if known is None or times is None else int(known[1]) * times
                    enter(i.attribute("body").lstrip("%"), trips)
                elif i.opcode in CALLS:
                    for called in i.called:
                        enter(called, times)

        enter(self.entry, 1)
        return runs

    @property
    def instructions(self) -> list[Instruction]:
        return [i for computation in self.computations.values() for i in computation.instructions.values()]

    def inside(self, instruction: Instruction) -> list[Instruction]:
        """Return the instructions of a fusion, and of the fusions in it."""
        result = []
        for name in instruction.called:
            for i in self.computations[name].instructions.values():
                result.append(i)
                if i.opcode == "fusion":
                    result += self.inside(i)
        return result


def read(text: str) -> Module:
    """Return the module of an HLO dump; raises ValueError if the text has no entry computation."""
    computations: dict[str, Computation] = {}
    entry, current = "", None
    for line in text.splitlines():
        if current is None:
            if line.endswith("{") and not line.startswith((" ", "HloModule")):
                name = _NAME.search(line) or re.search(r"(?:ENTRY )?([\w.\-]+) ", line)
                current = computations.setdefault(name.group(1), Computation(name.group(1)))
                entry = current.name if line.startswith("ENTRY") else entry
        elif line.startswith("}"):
            current = None
        elif " = " in line:
            instruction = _instruction(line)
            current.instructions[instruction.name] = instruction
    if not entry:
        raise ValueError("expected the text of an HLO module, got no ENTRY computation")
    return Module(computations, entry)


def _instruction(line: str) -> Instruction:
    left, _, right = re.sub(r"/\*.*?\*/", "", line).strip().partition(" = ")
    end = _closing(right, 0) + 1 if right.startswith("(") else right.index(" ")
    start = right.index("(", end)
    opcode, close = right[end:start].strip(), _closing(right, start)
    return Instruction(
        name=left.removeprefix("ROOT ").lstrip("%"),
        opcode=opcode,
        arrays=tuple(
            Array(dtype, tuple(int(e.lstrip("<=")) for e in extents.split(",") if e))
            for dtype, extents in _SHAPE.findall(right[:end])
        ),
        operands=() if opcode == "constant" else tuple(_NAME.findall(right[start + 1 : close])),
        attributes=right[close + 1 :],
    )


def _closing(text: str, start: int) -> int:
    """Return where the parenthesis that opens at `start` closes."""
    depth = 0
    for match in re.compile(r"[()]").finditer(text, start):
        depth += 1 if match.group() == "(" else -1
        if depth == 0:
            return match.start()
    raise ValueError(f"expected a closing parenthesis in: {text[:200]}")


# Facts of a program

LAYOUT = ("copy", "transpose", "reshape", "broadcast")
"""Operations that only change where elements stand."""
FORWARDS = ("bitcast", "tuple", "get-tuple-element", "parameter", "constant")
"""Operations that move nothing."""
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute")
_EMITTED = re.compile(rf"\"?stablehlo\.({'|'.join(COLLECTIVES)})\"?\(")


def facts(text: str, estimated: bool = True) -> dict:
    """Return counts over one optimised module. estimated: whether its cycles are estimates of the final code.

    operations_by_kind: every instruction of every computation, each counted once, fused ones included, the most
    frequent kind first. layout_bytes: bytes written by operations (or fusions of nothing else) that only change where
    elements stand, loops multiplied. depth: operations on the longest path through the entry, a loop's body once.
    estimated_cycles: XLA's own estimate, summed over the operations that run by themselves, loops multiplied. Bytes
    and cycles are None if XLA does not say how often such a loop runs; cycles also if it has no estimate. collectives:
    see `partitioned_collectives`.
    """
    module = read(text)
    kinds = Counter(i.opcode for i in module.instructions)
    return {
        "operations_by_kind": dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0]))),
        "layout_bytes": _times(module, lambda i: i.bytes if _only_layout(module, i) else 0),
        "depth": _depth(module, module.entry),
        "estimated_cycles": (_times(module, _cycles) or None) if estimated else None,
        "collectives": partitioned_collectives(module),
    }


def counts(text: str) -> dict[str, int]:
    """Return the FACTS of an optimised module for the CPU. Raises ValueError for a text that is not an HLO module."""
    instructions = read(text).instructions
    kinds = Counter(i.opcode for i in instructions)
    return {
        "fusions": kinds["fusion"],
        "products": kinds["dot"] + kinds["convolution"],
        "ynn": sum(i.opcode == "fusion" and '"kind":"__ynn_fusion"' in i.attributes for i in instructions),
        "library_calls": kinds["custom-call"],
        "transposes": kinds["transpose"],
        "copies": kinds["copy"],
    }


def _only_layout(module: Module, i: Instruction) -> bool:
    if i.opcode != "fusion":
        return i.opcode in LAYOUT
    inside = {j.opcode for j in module.inside(i)} - {"fusion", *FORWARDS}
    return bool(inside) and inside <= set(LAYOUT)


def _times(module: Module, value: Callable[[Instruction], int]) -> int | None:
    """Return the sum of a value over all operations that run by themselves, loops multiplied."""
    total = 0
    for name, times in module.runs.items():
        once = sum(value(i) for i in module.computations[name].instructions.values())
        if once and times is None:
            return None
        total += once * (times or 0)
    return total


def _cycles(i: Instruction) -> int:
    result = re.search(r'"estimated_cycles":"?(\d+)', i.attributes)
    cycles = int(result[1]) if result and i.opcode != "while" else 0
    # libtpu writes the largest 64-bit number if it has no estimate.
    return cycles if cycles < 2**62 else 0


def _depth(module: Module, name: str) -> int:
    longest: dict[str, int] = {}
    # Instructions stand in an order in which operands come first.
    for i in module.computations[name].instructions.values():
        before = max((longest[operand] for operand in i.operands), default=0)
        if i.opcode == "while" or (i.opcode in CALLS and i.called):
            before += max((_depth(module, called) for called in i.called), default=0)
        elif i.opcode not in (*FORWARDS, "copy-done", "async-done"):
            before += 1
        longest[i.name] = before
    return max(longest.values(), default=0)


def emitted_collectives(text: str) -> dict[str, int]:
    """Return {kind: count} and `bytes` of a StableHLO program; the types in a manual computation are a device's."""
    totals = dict.fromkeys((*COLLECTIVES, "bytes"), 0)
    open_ = False
    for line in text.splitlines():
        if match := _EMITTED.search(line):
            totals[match[1]] += 1
            open_ = True
        # A reduction's type follows its region.
        if open_ and (result := re.search(r"-> \(?(tensor<.*)$", line)):
            for extents, bits in re.findall(r"tensor<((?:\d+x)*)[a-z]+(\d+)[^>]*>", result[1]):
                count = math.prod(int(extent) for extent in extents.split("x") if extent)
                totals["bytes"] += count * max(8, int(bits)) // 8
            open_ = False
    return totals


def partitioned_collectives(module: Module) -> dict[str, int]:
    """Return {kind: count} and `bytes` of an optimised HLO module; a collective in two halves counts once."""
    result = dict.fromkeys((*COLLECTIVES, "bytes"), 0)
    for instruction in module.instructions:
        kind = instruction.opcode.removesuffix("-start").replace("-", "_")
        if kind not in COLLECTIVES:
            continue
        result[kind] += 1
        arrays = instruction.arrays
        if instruction.opcode in ("all-gather-start", "collective-permute-start"):
            # The tuple has operands, then results, then possibly numbers of its own.
            sent = len(instruction.operands)
            arrays = arrays[sent : 2 * sent]
        result["bytes"] += sum(array.bytes for array in arrays)
    return result


# Classes of work

PRODUCTS, TRANSPOSES, REDUCTIONS = "products", "transposes", "reductions"
ELEMENTWISE, LIBRARY, DISPATCH = "elementwise", "library", "dispatch"
CLASSES: dict[str, str] = {
    PRODUCTS: "products and convolutions",
    TRANSPOSES: "transposes and copies",
    REDUCTIONS: "reductions and norms",
    ELEMENTWISE: "elementwise",
    LIBRARY: "other library calls",
    DISPATCH: "dispatch",
}
"""{class: its name for a reader}. Dispatch is the time of a call that no operation takes."""

_PRODUCTS = {"dot", "convolution", "ragged-dot"}
_REDUCTIONS = {"reduce", "reduce-window", "select-and-scatter", "batch-norm-training", "batch-norm-inference"}
_MOVES = {*LAYOUT, "slice", "concatenate", "pad", "reverse", "gather", "dynamic-slice"}
_MOVES |= {"dynamic-update-slice", "copy-start", "copy-done"}
_LIBRARY = {"custom-call", "fft", "cholesky", "triangular-solve", "topk"}
_CONTROL = {"while", "conditional"}


def class_of(module: Module, instruction: Instruction) -> str:
    """Return the class of one operation that runs by itself.

    A fusion or a call is classified by its body: if that has a product, it is a product (a YNN fusion of a dot too);
    else if it has a reduction, a reduction; else if it calls a library, a library call; if it only moves elements, a
    transpose; else elementwise. A loop's own work is dispatch.
    """
    if instruction.opcode in _CONTROL:
        return DISPATCH
    if instruction.opcode == "custom-call":
        target = instruction.attribute("custom_call_target").lower()
        # oneDNN's __onednn$matmul, cuBLAS's __cublas$gemm and the like.
        if re.search(r"matmul|gemm|dot|conv", target):
            return PRODUCTS
        return REDUCTIONS if re.search(r"layernorm|batchnorm|softmax|reduce", target) else LIBRARY
    kinds = _kinds(module, instruction) - set(FORWARDS)
    if kinds & _PRODUCTS:
        return PRODUCTS
    if kinds & _REDUCTIONS:
        return REDUCTIONS
    if kinds & _LIBRARY:
        return LIBRARY
    return TRANSPOSES if kinds <= _MOVES else ELEMENTWISE


def _kinds(module: Module, instruction: Instruction) -> set[str]:
    """Return the opcodes that run in an operation: its own, or in the bodies of a fusion or a call."""
    if instruction.opcode not in ("fusion", "call"):
        return {instruction.opcode}
    result: set[str] = set()
    for name in instruction.called:
        for inner in module.computations[name].instructions.values():
            result |= _kinds(module, inner)
    return result


def callers(module: Module) -> dict[str, str]:
    """Return {operation: the loop or call in whose body it runs}, without operations of the entry and of fusions."""
    return {
        inner: instruction.name
        for instruction in module.instructions
        if instruction.opcode in (*CALLS, *_CONTROL)
        for name in instruction.called
        for inner in module.computations[name].instructions
    }
