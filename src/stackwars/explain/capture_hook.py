"""Record the modules that a process compiles and how often it calls each.

`capture.py` starts the process with a copy of this file as sitecustomize, so it runs in the user's Python and imports
nothing of this package. A process writes each module of JAX when it compiles it, and `<pid>.json` when it ends:
{"modules": [{"name", "file", "calls", "arguments"}], "is_exact": whether all calls are counted, "inductor_graphs":
graphs that TorchInductor compiled, which are not captured}. A module of PyTorch/XLA is dumped by XLA into `xla-<pid>`,
and PyTorch/XLA writes its executions into `xla-<pid>.txt`.
"""

import atexit
import contextlib
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import sys
import threading
from pathlib import Path

FOLDER = "STACKWARS_CAPTURE"
"""Environment variable with the folder to write into."""
VALUES = "STACKWARS_CAPTURE_VALUES"
"""Environment variable that is not empty if the values of each module's arguments are saved, as .npz beside it."""
FEW = 16
"""Arrays with at most so many elements are recorded with their values: they may be a step, a rate or a key."""
SAMPLE = 1 << 22
"""Elements from which the moments of a floating-point array are computed."""


class Module:
    def __init__(self, name, file):
        self.name, self.file = name, file
        self.calls, self.arguments = 0, None


class Recorder:
    """The modules of this process. is_exact: whether every call was counted for its module."""

    def __init__(self, folder):
        self.folder, self.modules, self.is_exact, self.inductor_graphs = folder, {}, True, 0
        atexit.register(self.write)

    def add(self, name, text):
        """Return the module of a text, which is written to a file when it is new."""
        key = hashlib.sha256(text.encode()).hexdigest()
        if key not in self.modules:
            file = f"{os.getpid()}-{key}.mlir"
            (self.folder / file).write_text(text)
            self.modules[key] = Module(name, file)
        return self.modules[key]

    def record_arguments(self, module, arrays):
        module.arguments = []
        # A record that fails must not end the user's process.
        with contextlib.suppress(Exception):
            module.arguments = [facts(array) for array in arrays]
            if os.environ.get(VALUES):
                self.save(module, arrays)

    def save(self, module, arrays):
        import numpy as np

        path = (self.folder / module.file).with_suffix(".npz")
        np.savez(path, **{f"arg{number}": plain(array) for number, array in enumerate(arrays)})

    def write(self):
        document = {
            "modules": [vars(one) for one in self.modules.values()],
            "is_exact": self.is_exact,
            "inductor_graphs": self.inductor_graphs,
        }
        (self.folder / f"{os.getpid()}.json").write_text(json.dumps(document))


def plain(array):
    """Return an array with a type that NumPy itself has: narrow floats in float32, narrow integers in int8."""
    import numpy as np

    array = np.asarray(
        getattr(array, "_base_array", array), order="C"
    )  # ascontiguousarray gives a scalar an axis
    if array.dtype.isbuiltin == 1:
        return array
    return array.astype(np.float32 if "float" in array.dtype.name else np.int8)


def facts(array):
    """Return an array's digest, and what values like its own are drawn from."""
    import numpy as np

    array = plain(array)
    values = array.reshape(-1)
    content = hashlib.blake2b(f"{array.dtype}{array.shape}".encode(), digest_size=16)
    content.update(values.view(np.uint8))
    found = {"digest": content.hexdigest()}
    if values.dtype.kind == "c":
        return found
    if values.size <= FEW:
        return found | {"values": values.tolist()}
    if values.dtype.kind == "f":
        values = values[:: max(1, values.size // SAMPLE)].astype(np.float64)
    values = values[np.isfinite(values)]
    names = ("mean", "std", "min", "max") if values.size else ()
    return found | {name: getattr(values, name)().item() for name in names}


class State(threading.local):
    """module: that this thread ran last. inner: the function by which JAX calls a jaxpr that it did not trace now.

    is_compiling: whether this thread is in TorchInductor.
    """

    module = inner = None
    is_compiling = False


class Fast:
    """Modules of a jitted function, by the signature of its arguments, for calls that JAX makes in C++."""

    def __init__(self):
        self.modules, self.by_signature = set(), {}


def watch_jax(recorder):
    """Count the calls of modules in this process. JAX calls `hook` after a call in C++, and Python for any other."""
    from jax._src import api, compiler, pjit, source_info_util
    from jax._src.interpreters import pxla
    from jax._src.lib import jax_jit

    # No operation is of a line of this file.
    source_info_util.register_exclusion(__file__)
    state, executables, functions = State(), {}, {}
    compile_module, execute = compiler.compile_or_get_cached, pxla.ExecuteReplicated.__call__
    create_cpp_call, as_function = pxla.MeshExecutable.create_cpp_call, pjit._get_jaxpr_as_fun

    def signatures(arguments):
        """Return two keys of arguments: with the values of Python's scalars, which may be static, and without."""
        leaves = api.tree_flatten(arguments)[0]
        kinds = [getattr(leaf, "aval", None) or getattr(leaf, "shape", None) for leaf in leaves]
        plain = [leaf if isinstance(leaf, (bool, int, float, str)) else type(leaf) for leaf in leaves]
        exact = [one if kind is None else kind for kind, one in zip(kinds, plain, strict=True)]
        loose = [type(leaf) if kind is None else kind for kind, leaf in zip(kinds, leaves, strict=True)]
        return (True, *exact), (False, *loose)

    def associate(function, arguments=()):
        if state.module is not None:
            fast = functions.setdefault(id(function), Fast())
            fast.modules.add(state.module)
            fast.by_signature.update(dict.fromkeys(signatures(arguments), state.module))

    def compile_or_get_cached(backend, computation, *arguments, **options):
        text = computation.operation.get_asm(enable_debug_info=True)
        name = str(computation.operation.attributes["sym_name"]).strip('"')
        executable = compile_module(backend, computation, *arguments, **options)
        # A later executable at this address replaces one that is gone.
        executables[id(executable)] = recorder.add(name, text)
        return executable

    def call(self, *arguments):
        module = executables.get(id(self.xla_executable))
        if module is not None:
            # Before the call, which may take over the arguments' memory.
            if module.arguments is None:
                kept = [one for place, one in enumerate(arguments) if place in self.kept_var_idx]
                recorder.record_arguments(module, kept)
            module.calls += 1
            state.module = module
        return execute(self, *arguments)

    def in_python(original, called):
        """Wrap what a jitted function runs if JAX cannot call it in C++. called: its function and arguments."""

        def run(*arguments, **options):
            state.module = state.inner = None
            result = original(*arguments, **options)
            if pjit.core.trace_state_clean():
                associate(*called(*arguments, **options))
            return result

        return run

    def call_jaxpr(*arguments, **options):
        inner, state.inner = state.inner, None
        result = call_jaxpr_in_python(*arguments, **options)
        if inner is not None:
            associate(inner)
        return result

    def jaxpr_as_function(*arguments, **options):
        state.inner = as_function(*arguments, **options)
        return state.inner

    def ahead_of_time(self, *arguments, **options):
        result = create_cpp_call(self, *arguments, **options)
        state.module = executables.get(id(self.xla_executable))
        if result is not None:
            ahead.append(result)  # its address must not become another function's
            associate(result)
        return result

    def hook(function, arguments, options, results):
        known = getattr(function, "_fun", None)
        if known is None:
            known, state.inner = state.inner or function, None
        fast = functions.get(id(known))
        if fast is None:
            recorder.is_exact = False
            return
        if len(fast.modules) == 1:
            (module,) = fast.modules
        else:
            exact, loose = signatures((arguments, options))
            module = fast.by_signature.get(exact) or fast.by_signature.get(loose)
        if module is None:
            recorder.is_exact = False
        else:
            module.calls += 1
            state.module = module

    ahead = []
    compiler.compile_or_get_cached = compile_or_get_cached
    pxla.ExecuteReplicated.__call__ = call
    pxla.MeshExecutable.create_cpp_call = ahead_of_time
    pjit._get_jaxpr_as_fun = jaxpr_as_function
    call_jaxpr_in_python, pjit._pjit_call_impl_python = pjit._pjit_call_impl_python, call_jaxpr
    if hasattr(pjit, "_run_python_pjit"):
        pjit._run_python_pjit = in_python(
            pjit._run_python_pjit, lambda _, __, function, args, kwargs: (function, (args, kwargs))
        )
    else:
        pjit._python_pjit_helper = in_python(
            pjit._python_pjit_helper, lambda function, _, *args, **kwargs: (function, (args, kwargs))
        )
    if hasattr(api, "_post_hook_state"):
        api._post_hook_state.set_global(hook)
    else:
        jax_jit.global_state().post_hook = hook

    def note_other_hooks():
        from jax import config

        # A check for NaN takes the place of `hook`.
        recorder.is_exact &= not (config.jax_debug_nans or config.jax_debug_infs)

    atexit.register(note_other_hooks)


def watch_torch_xla(folder):
    """Let XLA dump the modules of this process, and PyTorch/XLA write which of them it runs."""
    path = folder / f"xla-{os.getpid()}"
    flags = f"--xla_dump_to={path} --xla_dump_hlo_as_proto --xla_dump_hlo_as_text=false"
    os.environ["XLA_FLAGS"] = " ".join([*os.environ.get("XLA_FLAGS", "").split(), flags])
    os.environ.update(PT_XLA_DEBUG_LEVEL="2", PT_XLA_DEBUG_FILE=f"{path}.txt")


def watch_inductor(recorder):
    """Count the graphs that TorchInductor compiles in this process."""
    module, state = sys.modules["torch._inductor.compile_fx"], State()
    compile_graph = module.compile_fx

    def compile_fx(*arguments, **options):
        # With options it calls itself.
        if state.is_compiling:
            return compile_graph(*arguments, **options)
        recorder.inductor_graphs += 1
        state.is_compiling = True
        try:
            return compile_graph(*arguments, **options)
        finally:
            state.is_compiling = False

    module.compile_fx = compile_fx


WATCHERS = {"jax._src.api": watch_jax, "torch._inductor.compile_fx": watch_inductor}
"""{module: what runs after it is imported}."""


class Finder:
    """Prepares the capture when a framework is first imported."""

    def __init__(self, folder):
        self._folder, self._seen, self._recorder = folder, set(), None

    def find_spec(self, name, path=None, target=None):
        if name in self._seen:
            return None
        if name == "torch_xla":
            self._seen.add(name)
            watch_torch_xla(self._folder)
        if name not in WATCHERS:
            return None
        self._seen.add(name)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                self._recorder = self._recorder or Recorder(self._folder)
                try:
                    WATCHERS[name](self._recorder)
                except (AttributeError, ImportError) as error:
                    package = name.partition(".")[0]
                    print(f"stackwars: this release of {package} is not captured: {error}", file=sys.stderr)

            spec.loader.exec_module = exec_module
        return spec


def start(here):
    """Watch the imports of this process, and run the sitecustomize that this file hides."""
    sys.path[:] = [path for path in sys.path if Path(path).resolve() != here]
    sys.meta_path.insert(0, Finder(Path(os.environ[FOLDER])))
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if __name__ == "sitecustomize":
    start(Path(__file__).resolve().parent)
