"""Compilers for every framework's StableHLO: lower it, replay it on the CPU, compile it for targets.

It reads jobs and programs (program.mlir.gz with its arguments.json) and writes programs, replay.json and
profile.json for the replay of a workload's programs in one process, ahead.json for a compilation for a
target, and largest_batch.json for the search for the largest batch that fits one.

A compiler that replays is a module here with a class `Compiler(device, options)`, whose constructor imports
the compiler and opens the device (cpu, cuda or tpu), and a function `preload(device)` that imports the compiler and
opens none, so that the process can be forked. Verbs of a Compiler:

    compile(text)     a StableHLO program, ready to be called; raises what the compiler says against it
    load(text, bytes) the same from what its `serialize` returned in another process
    put(array)        place a NumPy array on the device; return the buffer once it is there
    device_kind()     what the compiler calls the device
    versions()        package versions, {name: version}

What `compile` returns has

    types             shape and element type of each argument
    buffers           for each set of inputs, a buffer from `put` for each argument; to be filled
    call(which)       start one call on that set of inputs, return its results
    fence(results)    return only when the device has finished them
    fetch(results)    their values, a list of NumPy arrays
    serialize()       the compiled program as bytes
    facts()           some of FACTS, counted in the optimised program
    optimised_hlo()   of XLA alone: the text of the optimised program, which a profile is joined with
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType


class CompilerCrash(Exception):
    """A signal ended the process of a compiler that has one of its own."""


XLA = "xla"
"""The module of a compiler whose row names none."""

FACTS = {
    "fusions": "fusions in the optimised program, YNN's too; this and the next five of XLA",
    "products": "dots and convolutions in it, fused ones too",
    "ynn": "fusions that the library YNN computes",
    "library_calls": "other custom calls in it; a dot that Eigen computes is none",
    "transposes": "transposes in it, fused ones too",
    "copies": "copies in it, fused ones too",
    "dispatches": "kernels that one call dispatches; of compilers that are not XLA",
}
"""What is counted in an optimised program, and what a column of that name has."""


def names() -> list[str]:
    """Every module here that is a compiler of replays."""
    return _modules("", "\nclass Compiler:\n")


def frontends() -> list[str]:
    """Every way to write a program for several devices: a module sharded_<name> here."""
    return _modules("sharded_", "\nclass Session")


def dividing() -> list[str]:
    """Every framework whose programs are lowered for several devices too, without running there."""
    return _modules("lower_", "source.division")


def _modules(prefix: str, holding: str) -> list[str]:
    files = Path(__file__).parent.glob(f"{prefix}*.py")
    return sorted(path.stem.removeprefix(prefix) for path in files if holding in path.read_text())


def load(name: str) -> ModuleType:
    return import_module(f"{__name__}.{name}")
