"""Ways to compile and run a dialect: one small file each, all with the same verbs.

Every module here has its texts for readers, and can be imported without its framework:

    TITLE             its name in tables and figures
    DIALECT           the Python API that it runs: it builds a workload's form in_<DIALECT>
    COLOUR            the colour of its marks in the report: no other has it; contrast on white is 3 to 1
    VARIANT           only in a variant: its name in a table, beneath the framework that it varies
    NOTE              only if it differs from the others in what it does: the difference
    PROGRAM_OF        the framework whose programs it runs, if only the first two runs differ

and a class `Session(device, precision)` whose constructor imports the framework
and raises RuntimeError if the device is absent. Only the process of a cell makes one; a framework
that gives programs alone (no `environments` in the configuration) has none. Its verbs, in the order in
which a cell uses them:

    put(array)        place a NumPy array on the device; the host copy may die afterwards
    build(build, sizes, seed, inputs)
                      make the workload from its dialect's `build`; place every set of inputs in the list
    settle()          wait until weights and inputs are on the device
    call(which)       start one forward pass on that set of inputs, return its output (not yet computed), or a tuple
                      of them
    fence(output)     return only when the device has finished the output
    fetch(output)     the output's values as a NumPy array; of a tuple a tuple of arrays
    counters()        cumulative Counters
    stablehlo()       StableHLO text of what call(0) runs; if there is none, the line `// no program: <why>`
    device_kind()     what the framework calls the device
    versions()        package versions, {name: version}

Some workloads update what they keep, in place: a training step its weights, a decoder its cache. A JAX
function that does has an attribute `leaves`, its parameters are a pair (constant, state), and it returns the
pair (new state, output); a torch module, or a function of TensorFlow or NumPy, that does has a method or an
attribute `leaves`. A session that has the verb

    state()           what the calls have updated, {name: NumPy array} in torch's layout; {} if nothing is

runs them; a session without it refuses them with NotImplementedError.

Some cannot be one program of known shapes, and say so for the frameworks that have no form of that: a torch
module with `GRAPH_BREAKS` reads values back while it runs, one with `DEVICE_LOOP` has a loop whose body is a
graph of its own, and a function of TensorFlow with `SIZES_FROM_VALUES` has sizes that depend on values.

A framework that can report them also has

    outside_compiler()
                      names of the operations that it computed without its compiler since it was loaded; a
                      module with `GRAPH_BREAKS` may have some, any other cell is then unsupported
    generated()       counts since it was loaded, {name: count}: `graphs` that it compiled, `graph_breaks`,
                      places where it could not go on with one, and `kernels` that it wrote itself
    forms()           what its compiler makes of call(0), {name of the form: text}, from the traced program to
                      the optimised one; may compile again, so it comes after every timed call
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


def names() -> list[str]:
    """Return every framework that has a module here."""
    return sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))


def load(name: str) -> ModuleType:
    """Return the module of a framework."""
    return import_module(f"{__name__}.{name}")


def title(name: str) -> str:
    """Return the name that a reader sees."""
    return load(name).TITLE


def variant(name: str) -> str:
    """Return the name of a variant beneath the framework that it varies; empty for the others."""
    return getattr(load(name), "VARIANT", "")


def program_of(name: str) -> str:
    """Return the framework whose programs it runs: itself, or the one that it varies."""
    return getattr(load(name), "PROGRAM_OF", name)


def each(output: Any) -> tuple:
    """Return the results of a call, one or several."""
    return output if isinstance(output, tuple) else (output,)


def mapped(function: Callable, output: Any) -> Any:
    """Return what a function makes of each result of a call, one or several."""
    return tuple(map(function, output)) if isinstance(output, tuple) else function(output)


@dataclass(frozen=True)
class Counters:
    """The events that a framework counts since it was loaded.

    compiles: executables built; None for a framework that compiles nothing. cache_hits: executables that
    were read from a cache on disk instead.
    trace_s, compile_s: seconds spent tracing (and lowering to StableHLO, if the framework reports it)
    and compiling; None if it does not report it.
    """

    compiles: int | None
    cache_hits: int
    trace_s: float | None
    compile_s: float | None

    def since(self, earlier: Counters) -> Counters:
        """Return the events between the earlier reading and this one."""
        pairs = zip(astuple(self), astuple(earlier), strict=True)
        return Counters(*(None if None in (now, then) else now - then for now, then in pairs))
