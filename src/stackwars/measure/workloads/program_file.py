"""A program file as Python: run it, find the lines of its functions, and read its sizes."""

import inspect
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from stackwars.measure import workloads
from stackwars.measure.workloads.base import ProgramFileError

INPUTS, RNG = "inputs", "rng"
"""The function of a program file that gives its inputs, and its parameter that is no size."""


def error(path: Path, at: int, expected: str, got: Any, fix: str) -> ProgramFileError:
    """Return the error about a line of a program file."""
    return ProgramFileError(f"{path.name}:{at}: expected {expected}, got {got}; fix: {fix}")


def line(function: Callable | None) -> int:
    """Return the line of a function in its file; 1 without one."""
    return function.__code__.co_firstlineno if function else 1


def run(path: Path, name: str) -> ModuleType:
    """Return the module of a program file. Dynamo looks for it by its name."""
    path = path.resolve()
    if not path.is_file():
        raise ProgramFileError(f"{path}: expected a file, got none; fix: the path")
    spec = spec_from_file_location(name, path)
    module = module_from_spec(spec)
    workloads.PROGRAM_FILES.add(module.__file__)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as problem:
        at = workloads.user_line(problem) or f"{path.name}:{getattr(problem, 'lineno', None) or 1}: "
        del sys.modules[name]
        expected = "a file that can be imported with NumPy and the standard library alone"
        fix = "import frameworks inside the functions" if isinstance(problem, ImportError) else "that line"
        raise ProgramFileError(
            f"{at}expected {expected}, got {type(problem).__name__}: {getattr(problem, 'msg', problem)}; fix: {fix}"
        ) from None
    if not inspect.isfunction(getattr(module, INPUTS, None)):
        given = getattr(module, INPUTS, getattr(module, INPUTS.upper(), None))
        if given is None:
            raise error(path, 1, "a function inputs()", "none", 'def inputs(): return {"x": (8, 3)}')
        if not isinstance(given, str) or not (path.parent / given).is_file():
            raise error(path, 1, "inputs to be a function or the name of an .npz file", repr(given), "inputs")
    return module


def default_sizes(path: Path, function: Callable) -> dict[str, int]:
    """Return {size: default} of `inputs`."""
    result = {}
    for name, one in inspect.signature(function).parameters.items():
        if name == RNG and not result:
            continue
        if one.kind not in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) or one.default is one.empty:
            expected = "every parameter of inputs() to be a size with a default, such as rows=128"
            raise error(path, line(function), expected, f"{one}", "give it a number")
        if not isinstance(one.default, int) or isinstance(one.default, bool):
            expected = f"the size {name} of inputs() to be a whole number"
            raise error(path, line(function), expected, repr(one.default), "give it a whole number")
        result[name] = one.default
    return result
