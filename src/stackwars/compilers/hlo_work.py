"""Arithmetic and memory traffic of an HLO module, loop bodies counted as often as they run.

XLA's own cost analysis counts a loop's body once and gives negative numbers where an operation has
no cost; these counts follow its formulas for what they cover, multiplied by `Module.runs`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from stackwars.compilers.hlo import CALLS, Array, Computation, Instruction, Module

_WINDOW = re.compile(r"(size|stride|pad|lhs_dilate|rhs_dilate)=([\dx_\-]+)")
# Operations that name, forward or reserve what is already in memory.
_FREE = {
    *("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "while", "copy-done"),
    *("async-done", "async-update", "after-all", "partition-id", "replica-id", "opt-barrier"),
}
_SLICES = ("dynamic-slice", "slice", "gather")


@dataclass(frozen=True)
class Work:
    """flops: 2 for each multiply-add of matrix products and convolutions; None where a loop's count is
    unknown. bytes_accessed: read and written by every operation that runs by itself; hbm_bytes_accessed:
    those of arrays in the device's main memory. loops: how many; unknown_loops: without a count.
    """

    flops: int | None
    bytes_accessed: int | None
    hbm_bytes_accessed: int | None
    loops: int
    unknown_loops: int


def work(module: Module) -> Work:
    """The whole program's."""
    flops = all_bytes = hbm_bytes = 0
    for name, times in module.runs.items():
        computation = module.computations[name]
        once = _computation(module, computation)
        if any(once) and times is None:
            unknown = sum(t is None for t in module.trips.values())
            return Work(None, None, None, len(module.trips), unknown)
        flops += (times or 0) * once[0]
        all_bytes += (times or 0) * once[1]
        hbm_bytes += (times or 0) * once[2]
    unknown = sum(t is None for t in module.trips.values())
    return Work(flops, all_bytes, hbm_bytes, len(module.trips), unknown)


def _computation(module: Module, computation: Computation) -> tuple[int, int, int]:
    """FLOPs, bytes and main-memory bytes of one run of a control computation, loops inside it apart."""
    flops = everywhere = in_hbm = 0
    for i in computation.instructions.values():
        if i.opcode in _FREE or (i.opcode in CALLS and i.called):
            continue
        flops += instruction_flops(computation, i)
        if i.opcode == "fusion":
            flops += _fused_flops(module, module.computations[i.called[0]])
        moved, moved_hbm = _traffic(module, computation, i)
        everywhere, in_hbm = everywhere + moved, in_hbm + moved_hbm
    return flops, everywhere, in_hbm


def _fused_flops(module: Module, computation: Computation) -> int:
    total = 0
    for i in computation.instructions.values():
        total += instruction_flops(computation, i)
        if i.opcode == "fusion":
            total += _fused_flops(module, module.computations[i.called[0]])
    return total


def instruction_flops(computation: Computation, i: Instruction) -> int:
    """2 x multiply-adds of a dot or a convolution, 0 of anything else.

    As HloCostAnalysis counts: a dot's output times its contracted extents; a convolution's output
    times the kernel's input features and the kernel positions that fall on an element, not on
    padding or on a hole of dilation.
    """
    if i.opcode == "dot":
        left = computation.instructions[i.operands[0]].arrays[0].extents
        axes = [int(a) for a in re.findall(r"\d+", i.attribute("lhs_contracting_dims"))]
        return 2 * i.arrays[0].elements * math.prod(left[axis] for axis in axes)
    if i.opcode == "convolution":
        return _convolution(computation, i)
    return 0


def _convolution(computation: Computation, i: Instruction) -> int:
    left, kernel = (computation.instructions[name].arrays[0].extents for name in i.operands[:2])
    inputs, kernels, outputs = re.match(r"(\w+)_(\w+)->(\w+)", i.attribute("dim_labels")).groups()
    out = i.arrays[0].extents
    window = dict(_WINDOW.findall(_braced(i.attributes, "window=")))
    spatial = sorted(label for label in inputs if label.isdigit())
    total = out[outputs.index("b")] * out[outputs.index("f")] * kernel[kernels.index("i")]
    for number, label in enumerate(spatial):
        total *= _valid_positions(
            left[inputs.index(label)],
            kernel[kernels.index(label)],
            out[outputs.index(label)],
            *_dimension(window, number),
        )
    return 2 * total


def _braced(attributes: str, key: str) -> str:
    start = attributes.find(key)
    return "" if start < 0 else attributes[start : attributes.find("}", start)]


def _dimension(window: dict[str, str], number: int) -> tuple[int, int, int, int]:
    """(stride, low padding, dilation of the input, of the kernel) of one spatial dimension."""

    def of(key: str, default: str) -> str:
        return window[key].split("x")[number] if key in window else default

    low = int(of("pad", "0_0").split("_")[0])
    return int(of("stride", "1")), low, int(of("lhs_dilate", "1")), int(of("rhs_dilate", "1"))


def _valid_positions(
    size: int, kernel: int, out: int, stride: int, low: int, base: int, dilation: int
) -> int:
    """Pairs of output and kernel position that meet an element of the input."""
    last = (size - 1) * base
    divisor = math.gcd(stride, base)
    period = base // divisor
    # A dot over batches is written as a convolution whose dilation and kernel are the batch, so that
    # trying every pair would take its square: of each kernel position the outputs are solved for.
    inverse = pow(stride // divisor, -1, period) if period > 1 else 0
    count = 0
    for k in range(kernel):
        offset = low - k * dilation
        if offset % divisor:
            continue
        # out*stride - offset in [0, last], and a multiple of base
        first = max(0, math.ceil(offset / stride))
        end = min(out - 1, (last + offset) // stride)
        residue = (offset // divisor) * inverse % period
        first += (residue - first) % period
        if end >= first:
            count += (end - first) // period + 1
    return count


def _traffic(module: Module, computation: Computation, i: Instruction) -> tuple[int, int]:
    """Bytes that one operation reads and writes: (anywhere, in main memory)."""
    arrays = list(i.arrays)
    if i.opcode == "copy-start":
        arrays = arrays[:1]  # its shape repeats the operand, and adds what waits for the copy
    if i.opcode in _SLICES or i.opcode == "dynamic-update-slice":
        moved = arrays if i.opcode in _SLICES else computation.instructions[i.operands[1]].arrays
        size = sum(a.bytes for a in moved)
        source = computation.instructions[i.operands[0]].arrays
        return 2 * size, size * sum(a.space == 0 for a in (source[0], arrays[0]))
    total, in_hbm = _sum(arrays)
    called = module.computations[i.called[0]] if i.opcode == "fusion" else None
    for number, name in enumerate(i.operands):
        operand = computation.instructions[name].arrays
        read = sum(a.bytes for a in operand)
        if called is not None:
            read = min(read, _read_by_fusion(module, called, number, read))
        total += read
        in_hbm += read if all(a.space == 0 for a in operand) else 0
    return total, in_hbm


def _read_by_fusion(module: Module, called: Computation, number: int, whole: int) -> int:
    """Bytes of a parameter that a fusion reads: less than all where it only takes slices of it."""
    parameter = called.parameter(number)
    users = [i for i in called.instructions.values() if parameter and parameter.name in i.operands]
    if not users:
        return 0
    total = 0
    for user in users:
        if user.opcode in _SLICES and user.operands[0] == parameter.name:
            total += user.bytes
        elif user.opcode == "dynamic-update-slice" and user.operands[0] == parameter.name:
            continue  # overwritten in place
        elif user.opcode in ("fusion", "bitcast"):
            if user.opcode == "bitcast":
                return whole
            inner = module.computations[user.called[0]]
            total += _read_by_fusion(module, inner, user.operands.index(parameter.name), whole)
        else:
            return whole
    return total


def _sum(arrays: list[Array]) -> tuple[int, int]:
    return sum(a.bytes for a in arrays), sum(a.bytes for a in arrays if a.space == 0)
