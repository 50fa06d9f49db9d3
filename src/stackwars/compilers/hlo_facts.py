"""What a compiler made of a program: counts over the optimised HLO, for one row of a table."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import asdict

from stackwars.compilers.hlo import CALLS, Computation, Instruction, Module, read
from stackwars.compilers.hlo_work import work

_CYCLES = re.compile(r'"estimated_cycles":"?(\d+)')
_UNKNOWN = 2**62  # libtpu writes the largest 64-bit number where it has no estimate
LAYOUT = ("copy", "transpose", "reshape", "broadcast")
_FORWARDS = ("bitcast", "tuple", "get-tuple-element", "parameter", "constant")
# A fusion is named by the first of these that it contains, else by what its root computes.
_HEROES = (
    *("convolution", "dot", "custom-call", "scatter", "sort", "gather", "select-and-scatter"),
    *("reduce-window", "reduce", "dynamic-update-slice", "dynamic-slice"),
)
_NO_STEP = (*_FORWARDS, "copy-done", "async-done")


def facts(text: str, estimated: bool = True) -> dict:
    """Counts over one optimised module; estimated: whether its cycles are estimates of the final code.

    instructions and operations_by_kind: every instruction of every computation, each counted once,
    fused ones included. fusions, fusion_kinds, fused_computations (by hero, else by root): fusions
    that run by themselves. convolutions, copies, transposes, reshapes, broadcasts, constants, dots:
    wherever they stand. layout_bytes: written by operations (or fusions of nothing else) that only
    change where elements stand, loops multiplied. depth: operations on the longest path through the
    entry, a loop's body once. estimated_cycles: XLA's own estimate, summed over the operations that
    run by themselves, loops multiplied; null where it gives none or a loop's count is unknown.
    flops, bytes_accessed, hbm_bytes_accessed, loops, unknown_loops: see `hlo_work`.
    """
    module = read(text)
    everything = [i for c in module.computations.values() for i in c.instructions.values()]
    kinds = Counter(i.opcode for i in everything)
    control = [(n, i) for n in module.runs for i in module.computations[n].instructions.values()]
    fusions = [i for _, i in control if i.opcode == "fusion"]
    return {
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "instructions": len(everything),
        "operations_by_kind": _ordered(kinds),
        "fusions": len(fusions),
        "fusion_kinds": _ordered(Counter(i.attribute("kind") for i in fusions)),
        "fused_computations": _ordered(Counter(hero(module, i) for i in fusions)),
        "convolutions": kinds["convolution"],
        "dots": kinds["dot"],
        "dot_ranks": _ordered(Counter(_ranks(c, i) for c, i in _products(module))),
        "copies": kinds["copy"],
        "transposes": kinds["transpose"],
        "reshapes": kinds["reshape"],
        "broadcasts": kinds["broadcast"],
        "constants": kinds["constant"],
        "layout_bytes": _times(module, lambda i: i.bytes if _only_layout(module, i) else 0),
        "depth": _depth(module, module.entry),
        "estimated_cycles": _cycles(module, control) if estimated else None,
        **asdict(work(module)),
    }


def hero(module: Module, fusion: Instruction) -> str:
    """The operation that a fusion is about."""
    inside = module.inside(fusion)
    opcodes = {i.opcode for i in inside}
    for opcode in _HEROES:
        if opcode in opcodes:
            return opcode
    return _computes(module, module.computations[fusion.called[0]])


def _computes(module: Module, computation: Computation) -> str:
    """What the root computes, through operations that only forward it."""
    i = computation.root
    while i.opcode in ("bitcast", "tuple", "get-tuple-element") and i.operands:
        i = computation.instructions[i.operands[0]]
    if i.opcode == "fusion":
        return _computes(module, module.computations[i.called[0]])
    return "bitcast" if i.opcode == "parameter" else i.opcode


def _products(module: Module):
    for computation in module.computations.values():
        for i in computation.instructions.values():
            if i.opcode in ("dot", "convolution"):
                yield computation, i


def _ranks(computation: Computation, i: Instruction) -> str:
    """Ranks of both operands and the result of a product, such as `3x2->3`."""
    left, right = (len(computation.instructions[n].arrays[0].extents) for n in i.operands[:2])
    return f"{left}x{right}->{len(i.arrays[0].extents)}"


def _only_layout(module: Module, i: Instruction) -> bool:
    if i.opcode != "fusion":
        return i.opcode in LAYOUT
    inside = {j.opcode for j in module.inside(i)} - {"fusion", *_FORWARDS}
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


def _cycles(module: Module, control: list[tuple[str, Instruction]]) -> int | None:
    def of(i: Instruction) -> int:
        found = _CYCLES.search(i.attributes)
        cycles = int(found.group(1)) if found and i.opcode != "while" else 0
        return cycles if cycles < _UNKNOWN else 0

    return _times(module, of) if any(of(i) for _, i in control) else None


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


def _ordered(counts: Counter) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
