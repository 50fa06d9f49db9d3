"""A workload from one file of functions: `inputs()`, and the computation in each Python API.

    def inputs(rows=128, width=1024):   # sizes are the keyword parameters; a first parameter `rng` is optional
        return {"x": (rows, width)}     # see `program_inputs`; or inputs = "arrays.npz"
    def jax(x): ...                     # arrays in the order of inputs(); an array or a tuple of arrays
    def torch(x): ...
    def numpy(x): ...                   # optional: the reference, in float64
    def tensorflow(x): ...              # optional

In place of `torch`, `torch_module(<some of the sizes>)` may return a torch.nn.Module, with NAMES, {name of a parameter:
input that it takes its values from}; the module is called with the other inputs. Optional: TITLE, TABLE, ORDER as
in a `Workload`, `flops(<sizes>)`, and `calls()`, see `stackwars.measure.call_sequence`. Frameworks are imported inside
the functions.
"""

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from stackwars.measure import workloads
from stackwars.measure.workloads import program_inputs
from stackwars.measure.workloads.base import ProgramFileError, Workload, make_module

FORMS = ("jax", "torch", "numpy", "tensorflow")
INPUTS, RNG = "inputs", "rng"
"""The function of a program file that gives its inputs, and its parameter that is no size."""
MODULE, NAMES = "torch_module", "NAMES"
SEVERAL = (tuple, list)


class Functions(Workload):
    """The workload that a program file declares."""

    ORDER, TABLE = 9000, "other"
    IS_REFERENCE_TESTED = False

    def __init__(self, path: Path, module: ModuleType) -> None:
        self.path, self.module = path, module
        first = (module.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        self.TITLE = first or path.stem
        for name in ("TITLE", "TABLE", "ORDER"):
            setattr(self, name, getattr(module, name, getattr(self, name)))
        given = getattr(module, INPUTS, getattr(module, INPUTS.upper(), None))
        self._npz = path.parent / given if isinstance(given, str) else None
        self.SIZES = {} if self._npz else {name: f"{name} of inputs()" for name in default_sizes(path, given)}
        self.DEFAULTS = {} if self._npz else default_sizes(path, given)
        specs = self._specs(self.DEFAULTS, 0)
        self.INPUTS = {name: one.shape for name, one in specs.items()}
        self.SETS_DIFFER = self._has_rng() or any(
            isinstance(one, program_inputs.Spec) for one in specs.values()
        )
        self.NO_FORM = {one: f"{path.name} has no function {one}" for one in FORMS if not self._has(one)}

    def function(self, name: str) -> Callable | None:
        """Return a function of the file, or None if it has no such function."""
        found = vars(self.module).get(name)
        return found if inspect.isfunction(found) else None

    def modules(self):
        own = [self.module.__name__] if self.module.__name__.startswith(__package__) else []
        return [*own, __name__]

    def inputs(self, sizes, seed):
        return {name: program_inputs.draw(name, one, seed) for name, one in self._specs(sizes, seed).items()}

    def items(self, sizes):
        return next(iter(sizes.values()), 1)

    def flops(self, sizes):
        function = self.function("flops")
        return int(function(**sizes)) if function else 0

    def minimum_bytes(self, sizes):
        """Return 0: a file does not say whether its functions read their inputs completely."""
        return 0

    def preload(self, dialect):
        """Have JAX keep elements of 64 bits if an input has them; torchax computes torch's form with JAX."""
        if any(map(program_inputs.is_wide, self._specs(self.DEFAULTS, 0).values())):
            os.environ["JAX_ENABLE_X64"] = "1"
            if "jax" in sys.modules:
                sys.modules["jax"].config.update("jax_enable_x64", True)

    def has_form(self, dialect):
        return dialect in FORMS

    def form(self, dialect, sizes, xp, *framework):
        def function(weights, *inputs):
            return self.call(dialect, *inputs)

        return function

    def in_torch(self, sizes, torch):
        """Return the module that calls the file's `torch`, or the module of its `torch_module`.

        Neither has parameters: an input takes the place of each in every call, because a weight of the other
        APIs' forms is an input too.
        """
        nothing = torch.nn.Module()
        if not self._has(MODULE):
            function = self.function("torch")
            return make_module(
                torch,
                lambda _, *tensors: self.results("torch", function(*tensors)),
                without_weights=nothing,
            )
        made, inputs = self.function(MODULE), list(self.INPUTS)
        with torch.device("cpu"):
            module = made(**{name: sizes[name] for name in inspect.signature(made).parameters})
        names = self._names_of(module)
        parameter_places = [(name, inputs.index(one)) for name, one in names.items()]
        places = [place for place, one in enumerate(inputs) if one not in names.values()]
        for name in names:
            owner, _, last = name.rpartition(".")
            leaves = module.get_submodule(owner)
            (leaves._parameters if last in leaves._parameters else leaves._buffers).pop(last)

        def forward(form, *tensors):
            parameters = {name: tensors[place] for name, place in parameter_places}
            others = tuple(tensors[place] for place in places)
            return self.results(MODULE, torch.func.functional_call(form.module, parameters, others))

        return make_module(torch, forward, without_weights=nothing, module=module)

    def _names_of(self, module: Any) -> dict[str, str]:
        """Return NAMES, {name of a parameter: input}, which must have every parameter of the module and no others."""
        names = getattr(self.module, NAMES, {})
        own = [*dict(module.named_parameters(remove_duplicate=False)), *dict(module.named_buffers())]
        known = [name for name, _ in module.named_parameters()]
        unknown = [name for name in names if name not in own]
        missing = [name for name in known if name not in names]
        if unknown or missing:
            got = f"no such {', '.join(unknown)}" if unknown else f"no input for {', '.join(missing)}"
            expected = f"NAMES to name every parameter of the module ({', '.join(known)})"
            raise self.error(MODULE, expected, got, NAMES)
        return names

    def holder_in_torch(self, module):
        return module.without_weights

    def finish_in_torch(self, module, sizes, seed, put):
        """Place the constants that the module keeps as buffers."""
        for owner in module.modules():
            for name, constant in owner._buffers.items():
                if constant is not None:
                    owner._buffers[name] = put(constant.numpy())

    def call(self, form: str, *arrays: Any) -> Any:
        """Return the result of a function of the file, several results as a tuple."""
        return self.results(form, self.function(form)(*arrays))

    def results(self, form: str, returned: Any) -> Any:
        """Return what a function returned, several results as a tuple."""
        each = tuple(returned) if isinstance(returned, SEVERAL) else (returned,)
        for one in each:
            if not hasattr(one, "shape"):
                expected = f"{form} to return an array or a tuple of arrays"
                raise self.error(form, expected, type(one).__name__, f"{form}()")
        return each if len(each) > 1 else each[0]

    def reference(self, *arguments: Any) -> tuple[list, dict]:
        evaluate = super().reference
        return self._guarded("numpy", lambda: evaluate(*arguments))

    def error(self, function: str, expected: str, got: Any, fix: str) -> ProgramFileError:
        """Return the error about a function, by its line."""
        return error(self.path, line(self.function(function)), expected, got, fix)

    def _has(self, form: str) -> bool:
        return self.function(form) is not None or (form == "torch" and self.function(MODULE) is not None)

    def _has_rng(self) -> bool:
        return not self._npz and RNG in inspect.signature(self.function(INPUTS)).parameters

    def _specs(self, sizes: Mapping[str, int], seed: int) -> dict:
        """Return what `inputs()` returns for these sizes, checked. seed: its `rng`'s."""
        if self._npz:
            returned = program_inputs.from_npz(self._npz)
        else:
            function = self.function(INPUTS)
            rng = {RNG: np.random.default_rng(seed)} if self._has_rng() else {}
            returned = self._guarded(INPUTS, lambda: function(**rng, **sizes))
        if not isinstance(returned, Mapping) or not returned:
            expected = 'inputs() to return {"name": shape, ...}'
            raise self.error(INPUTS, expected, returned, "return a dictionary with an input or more")
        try:
            return {str(name): program_inputs.spec(str(name), one) for name, one in returned.items()}
        except ValueError as problem:
            at = f"{self.path.name}:{line(self.function(INPUTS))}"
            raise ProgramFileError(f"{at}: {problem}; fix: inputs()") from None

    def _guarded(self, name: str, call: Callable[[], Any]) -> Any:
        """Return what a call of a function of the file returns; an exception becomes one line that says where."""
        try:
            return call()
        except ProgramFileError:
            raise
        except (Exception, SystemExit) as problem:
            said = f"{name}() failed: {type(problem).__name__}: {problem}"
            at = workloads.user_line(problem) or f"{self.path.name}:{line(self.function(name))}: "
            raise ProgramFileError(f"{at}{said}; fix: that line") from problem


def read(path: Path, name: str = "") -> Functions:
    """Return the workload that a program file declares, without importing a framework.

    name: its module's, if it belongs to this package.

    :raises ProgramFileError: for a mistake in it.
    """
    workload = Functions(path, run(path, name or f"program_file_{path.stem}"))
    if not any(map(workload._has, ("jax", "torch"))):
        expected = "a function jax or torch (or torch_module)"
        raise error(path, 1, expected, "neither", "write the computation as one of them")
    if workload.function("torch") and workload.function(MODULE):
        raise workload.error(MODULE, "either torch or torch_module", "both", "delete one of them")
    for form in filter(workload.function, FORMS):
        _check_arrays(workload, form)
    for form in filter(workload.function, (MODULE, "flops")):
        _check_some_sizes(workload, form)
    if workload.function(MODULE):
        _check_names(workload)
    return workload


def _check_arrays(workload: Functions, form: str) -> None:
    """Refuse a function that cannot be called with the inputs."""
    names = list(workload.INPUTS)
    signature = inspect.signature(workload.function(form))
    try:
        signature.bind(*names)
    except TypeError:
        expected = f"{form} to take {len(names)} arrays ({', '.join(names)}), those of inputs()"
        raise workload.error(form, expected, f"{form}{signature}", "its parameters, or inputs()") from None


def _check_some_sizes(workload: Functions, form: str) -> None:
    unknown = [
        name for name in inspect.signature(workload.function(form)).parameters if name not in workload.SIZES
    ]
    if unknown:
        expected = f"{form} to take sizes of inputs() ({', '.join(workload.SIZES) or 'it has none'})"
        raise workload.error(form, expected, ", ".join(unknown), "its parameters, or those of inputs()")


def _check_names(workload: Functions) -> None:
    names = getattr(workload.module, NAMES, {})
    unknown = [one for one in names.values() if one not in workload.INPUTS]
    if unknown:
        expected = f"NAMES to give inputs ({', '.join(workload.INPUTS)}) to parameters"
        raise workload.error(MODULE, expected, ", ".join(unknown), "NAMES")


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
