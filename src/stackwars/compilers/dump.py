"""What XLA leaves in the folder of `--xla_dump_to`: the optimised HLO, and how its buffers lie in memory.

`hlo_modules()` of an executable fails on large programs of libtpu 0.0.51, and a refused program has no
executable at all; the dump has both. The sum of the buffers in the main memory is what libtpu 0.0.51
itself compares with the memory available (32.26G in its refusal, 32.2613 GiB in the buffers), while
the temporaries of an executable's memory statistics leave small ones out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

OPTIMISED = "after_optimizations.txt"
"""How the name of a file with optimised HLO ends."""
_ALLOCATION = re.compile(r"^allocation \d+: size (\d+), ([^\n]*)", re.MULTILINE)
_COLOUR = re.compile(r"\bcolor (\d+)\b")
# module_0001.jit_f.cl_795515814.after_codegen.txt; a GPU's has .sm_9.0_gpu_after_optimizations.txt
_MODULE = re.compile(r"module_(\d+)\.(.+?)\.(?:cl_\d+\.|sm_|before_|after_|gpu_)")


@dataclass(frozen=True)
class Buffers:
    """Bytes that a compiled program takes, padding included.

    argument, output, temp, alias: in the device's main memory; alias is what outputs share with
    arguments, constants count as temporaries.
    """

    argument: int
    output: int
    temp: int
    alias: int

    @property
    def hbm(self) -> int:
        return self.argument + self.output + self.temp - self.alias


def flags(folder: Path) -> str:
    """XLA_FLAGS for the smallest dump that has what is read here: text, and no single pass."""
    return f"--xla_dump_to={folder} --xla_dump_hlo_as_text"


def optimised_hlo(folder: Path) -> tuple[str | None, str]:
    """The text of the program's module, and of what moment: `codegen`, which knows the estimated
    cycles, or, where the compiler did not come that far, `optimised`. (None, "") where there is none.
    """
    for ending, moment in (("after_codegen.txt", "codegen"), (OPTIMISED, "optimised")):
        path = _first(folder, ending)
        if path is not None:
            return path.read_text(), moment
    return None, ""


def buffers(folder: Path) -> Buffers | None:
    """The program's buffers; None where the compiler assigned none."""
    path = _first(folder, "after_optimizations-buffer-assignment.txt")
    if path is None:
        return None
    sums = {"argument": 0, "output": 0, "temp": 0, "alias": 0}
    # The values that the allocations hold follow each; only lines that begin one count.
    for size, rest in _ALLOCATION.findall(path.read_text()):
        colour = _COLOUR.search(rest)
        # Values inside fused computations have no memory of their own; other colours are on the chip.
        if "thread-local" in rest or (colour and colour.group(1) != "0"):
            continue
        if "parameter" in rest:
            sums["argument"] += int(size)
            if "maybe-live-out" in rest:
                sums["output"] += int(size)
                sums["alias"] += int(size)
        else:
            sums["output" if "output" in rest else "temp"] += int(size)
    return Buffers(**sums)


def buffers_assigned(folder: Path) -> bool:
    """Whether the compiler has assigned the program's buffers and begun to write them down."""
    names = ("after_optimizations-buffer-assignment.txt", OPTIMISED)
    return all(_first(folder, name) is not None for name in names)


def _first(folder: Path, ending: str) -> Path | None:
    """The program's own file of this kind.

    The program is the module with the lowest number in the folder. libtpu 0.0.51 makes modules of
    parts of it as well, of other names, and ends them before it; 0.0.21 may give the program itself a
    higher number once it is optimised.
    """
    modules = [(int(match[1]), match[2], path) for path in folder.glob("module_*")
               if (match := _MODULE.match(path.name))]  # fmt: skip
    program = min(modules, default=(0, "", folder))[1]
    result = [(n, path) for n, name, path in modules if name == program and str(path).endswith(ending)]
    return min(result, default=(0, None))[1]
