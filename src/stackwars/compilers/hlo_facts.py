"""Facts of a program: counts over the optimised HLO, and its collectives as emitted and as optimised.

Collectives are counted as they stand in the text: one in a loop's body counts once. Their bytes are those of an
instruction's result on a device, which for an all-gather is all that is gathered, and for a reduce-scatter the
part that a device keeps.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from stackwars.compilers.hlo import CALLS, Instruction, Module, read

_CYCLES = re.compile(r'"estimated_cycles":"?(\d+)')
_YNN = '"kind":"__ynn_fusion"'
_UNKNOWN = 2**62  # libtpu writes the largest 64-bit number where it has no estimate
LAYOUT = ("copy", "transpose", "reshape", "broadcast")
"""Operations that only change where elements stand."""
FORWARDS = ("bitcast", "tuple", "get-tuple-element", "parameter", "constant")
"""Operations that move nothing."""
_NO_STEP = (*FORWARDS, "copy-done", "async-done")

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute")
_EMITTED = re.compile(rf"\"?stablehlo\.({'|'.join(COLLECTIVES)})\"?\(")
_RESULT = re.compile(r"-> \(?(tensor<.*)$")
_TENSOR = re.compile(r"tensor<((?:\d+x)*)([a-z]+)(\d+)[^>]*>")


def facts(text: str, estimated: bool = True) -> dict:
    """Counts over one optimised module; estimated: whether its cycles are estimates of the final code.

    operations_by_kind: every instruction of every computation, each counted once, fused ones
    included, the most frequent kind first. layout_bytes: written by operations (or fusions of nothing
    else) that only change where elements stand, loops multiplied. depth: operations on the longest
    path through the entry, a loop's body once. estimated_cycles: XLA's own estimate, summed over the
    operations that run by themselves, loops multiplied. Bytes and cycles are null where XLA does not
    tell how often a loop that has some runs; cycles also where it gives none. collectives: those of
    `partitioned_collectives`.
    """
    module = read(text)
    kinds = Counter(i.opcode for c in module.computations.values() for i in c.instructions.values())
    return {
        "operations_by_kind": dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0]))),
        "layout_bytes": _times(module, lambda i: i.bytes if _only_layout(module, i) else 0),
        "depth": _depth(module, module.entry),
        "estimated_cycles": _cycles(module) if estimated else None,
        "collectives": partitioned_collectives(module),
    }


def counts(text: str) -> dict[str, int]:
    """Return the FACTS of an optimised module for the CPU. Raises ValueError for a text that is no HLO module."""
    module = read(text)
    every = [i for c in module.computations.values() for i in c.instructions.values()]
    kinds = Counter(i.opcode for i in every)
    return {
        "fusions": kinds["fusion"],
        "products": kinds["dot"] + kinds["convolution"],
        "ynn": sum(i.opcode == "fusion" and _YNN in i.attributes for i in every),
        "library_calls": kinds["custom-call"],
        "transposes": kinds["transpose"],
        "copies": kinds["copy"],
    }


def _only_layout(module: Module, i: Instruction) -> bool:
    if i.opcode != "fusion":
        return i.opcode in LAYOUT
    inside = {j.opcode for j in module.inside(i)} - {"fusion", *FORWARDS}
    return bool(inside) and inside <= set(LAYOUT)


def _times(module: Module, value) -> int | None:
    """The sum of a value over all operations that run by themselves, loops multiplied."""
    total = 0
    for name, times in module.runs.items():
        once = sum(value(i) for i in module.computations[name].instructions.values())
        if once and times is None:
            return None
        total += once * (times or 0)
    return total


def _cycles(module: Module) -> int | None:
    def of(i: Instruction) -> int:
        result = _CYCLES.search(i.attributes)
        cycles = int(result.group(1)) if result and i.opcode != "while" else 0
        return cycles if cycles < _UNKNOWN else 0

    return _times(module, of) or None


def _depth(module: Module, name: str) -> int:
    longest: dict[str, int] = {}
    # Instructions stand in an order in which operands come first.
    for i in module.computations[name].instructions.values():
        before = max((longest[operand] for operand in i.operands), default=0)
        if i.opcode == "while" or (i.opcode in CALLS and i.called):
            before += max((_depth(module, called) for called in i.called), default=0)
        elif i.opcode not in _NO_STEP:
            before += 1
        longest[i.name] = before
    return max(longest.values(), default=0)


def emitted_collectives(text: str) -> dict[str, int]:
    """{kind: count} and `bytes` of a StableHLO program; the types in a manual computation are a device's."""
    found = dict.fromkeys((*COLLECTIVES, "bytes"), 0)
    open_ = False
    for line in text.splitlines():
        match = _EMITTED.search(line)
        if match:
            found[match[1]] += 1
        # A reduction's type stands after its region.
        open_ = bool(match) or open_
        if open_ and (result := _RESULT.search(line)):
            found["bytes"] += sum(_tensor_bytes(*one) for one in _TENSOR.findall(result[1]))
            open_ = False
    return found


def _tensor_bytes(extents: str, kind: str, bits: str) -> int:
    count = math.prod(int(extent) for extent in extents.split("x") if extent)
    return count * max(8, int(bits)) // 8


def partitioned_collectives(module: Module) -> dict[str, int]:
    """The same of an optimised HLO module; one that is started and awaited apart is one."""
    result = dict.fromkeys((*COLLECTIVES, "bytes"), 0)
    for computation in module.computations.values():
        for instruction in computation.instructions.values():
            kind = instruction.opcode.removesuffix("-start").replace("-", "_")
            if kind not in COLLECTIVES:
                continue
            result[kind] += 1
            arrays = instruction.arrays
            if instruction.opcode in ("all-gather-start", "collective-permute-start"):
                # Operands and results in one tuple, at last perhaps numbers of its own.
                sent = len(instruction.operands)
                arrays = arrays[sent : 2 * sent]
            result["bytes"] += sum(array.bytes for array in arrays)
    return result
