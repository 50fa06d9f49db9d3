"""The workloads: one sub-package each, the same computation in every dialect.

A workload is found by its directory alone. Its ``__init__`` needs nothing but NumPy and tells the
shapes, inputs, weights, floating-point operations and bytes; ``in_<dialect>`` beside it holds the
computation, and is imported only by the process that runs that dialect. Its ``build`` raises
NotImplementedError, with the reason, where the workload has no form in the dialect.

A workload whose calls update something in place says what in ``STATE``; how a dialect does is described in
``stackwars.frameworks``. One that trains has ``losses_rel(sizes)``: how far its losses of two frameworks may
part, relative, within the steps that are told.
"""

import importlib
import pkgutil
import sys
from types import ModuleType


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name}")


def names() -> list[str]:
    """The names of all workloads, in the order of their ``ORDER``: that of the paper's tables."""
    found = [entry.name for entry in pkgutil.iter_modules(__path__) if entry.ispkg]
    return sorted(found, key=lambda name: (_module(name).ORDER, name))


def load(name: str) -> ModuleType:
    """The workload of this name; raises ValueError where there is none."""
    if f"{__name__}.{name}" not in sys.modules and name not in names():
        raise ValueError(
            f"workload: expected one of {', '.join(names())}; got {name!r}. "
            "Check the spelling, or add a directory of that name under stackwars/workloads."
        )
    return _module(name)
