"""The collectives of a program: how many of each kind, and the bytes of their results on a device.

Of StableHLO as a frontend emits it, and of HLO as XLA leaves it once it has divided the program. Counted as
they stand in the text: one in a loop's body counts once. The bytes are those of an instruction's result, which
for an all-gather is all that is gathered, and for a reduce-scatter the part that a device keeps.
"""

from __future__ import annotations

import math
import re

from stackwars.compilers import hlo

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute")
_EMITTED = re.compile(rf"\"?stablehlo\.({'|'.join(KINDS)})\"?\(")
_RESULT = re.compile(r"-> \(?(tensor<.*)$")
_TENSOR = re.compile(r"tensor<((?:\d+x)*)([a-z]+)(\d+)[^>]*>")


def emitted(text: str) -> dict[str, int]:
    """{kind: count} and `bytes` of a StableHLO program; the types in a manual computation are a device's."""
    found = dict.fromkeys((*KINDS, "bytes"), 0)
    open_ = False
    for line in text.splitlines():
        match = _EMITTED.search(line)
        if match:
            found[match[1]] += 1
        # A reduction's type stands after its region.
        open_ = bool(match) or open_
        if open_ and (result := _RESULT.search(line)):
            found["bytes"] += sum(_bytes(*one) for one in _TENSOR.findall(result[1]))
            open_ = False
    return found


def _bytes(extents: str, kind: str, bits: str) -> int:
    count = math.prod(int(extent) for extent in extents.split("x") if extent)
    return count * max(8, int(bits)) // 8


def partitioned(module: hlo.Module) -> dict[str, int]:
    """The same of an optimised HLO module; one that is started and awaited apart is one."""
    found = dict.fromkeys((*KINDS, "bytes"), 0)
    for computation in module.computations.values():
        for instruction in computation.instructions.values():
            kind = instruction.opcode.removesuffix("-start").replace("-", "_")
            if kind not in KINDS:
                continue
            found[kind] += 1
            arrays = instruction.arrays
            if instruction.opcode in ("all-gather-start", "collective-permute-start"):
                # Operands and results in one tuple, at last perhaps numbers of its own.
                sent = len(instruction.operands)
                arrays = arrays[sent : 2 * sent]
            found["bytes"] += sum(array.bytes for array in arrays)
    return found
