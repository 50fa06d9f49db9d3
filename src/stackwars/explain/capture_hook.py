"""Record the modules that a process compiles and how often it calls each.

`capture.py` starts the process with a copy of this file as sitecustomize, so it runs in the user's Python and imports
nothing of this package. A process writes each module of JAX when it compiles it, and `<pid>.json` when it ends:
[{"name", "file", "calls", "arguments"}]. A module of PyTorch/XLA is dumped by XLA into `xla-<pid>`, and PyTorch/XLA
writes its executions into `xla-<pid>.txt`.
"""

import atexit
import contextlib
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import sys
from pathlib import Path

FOLDER = "STACKWARS_CAPTURE"
"""Environment variable with the folder to write into."""
VALUES = "STACKWARS_CAPTURE_VALUES"
"""Environment variable that is not empty if the values of each module's arguments are saved, as .npz beside it."""
FEW = 16
"""Arrays with at most so many elements are recorded with their values: they may be a step, a rate or a key."""
SAMPLE = 1 << 22
"""Elements from which the moments of a floating-point array are computed."""


class Recorder:
    """The modules of this process, by the digest of their text."""

    def __init__(self, folder):
        self.folder, self.modules = folder, {}
        atexit.register(self.write)

    def add(self, name, text):
        """Return the module of a text, which is written to a file when it is new."""
        key = hashlib.sha256(text.encode()).hexdigest()
        if key not in self.modules:
            file = f"{os.getpid()}-{key}.mlir"
            (self.folder / file).write_text(text)
            self.modules[key] = {"name": name, "file": file, "calls": 0, "arguments": []}
        return self.modules[key]

    def count(self, module, arrays):
        """Count a call, and record the arguments of the first one."""
        module["calls"] += 1
        # A record that fails must not end the user's process.
        with contextlib.suppress(Exception):
            if module["calls"] == 1:
                module["arguments"] = [facts(array) for array in arrays]
                if os.environ.get(VALUES):
                    self.save(module, arrays)

    def save(self, module, arrays):
        import numpy as np

        path = (self.folder / module["file"]).with_suffix(".npz")
        np.savez(path, **{f"arg{number}": plain(array) for number, array in enumerate(arrays)})

    def write(self):
        (self.folder / f"{os.getpid()}.json").write_text(json.dumps(list(self.modules.values())))


def plain(array):
    """Return an array with a type that NumPy itself has: narrow floats in float32, narrow integers in int8."""
    import numpy as np

    array = np.ascontiguousarray(getattr(array, "_base_array", array))
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


def watch_jax(recorder):
    """Record what this process compiles, and count each call: JAX makes none in C++, where it could not be seen."""
    from jax._src import api, compiler, pjit, source_info_util
    from jax._src.interpreters import pxla

    # No operation is of a line of this file.
    source_info_util.register_exclusion(__file__)
    executables = {}
    compile_module, execute = compiler.compile_or_get_cached, pxla.ExecuteReplicated.__call__

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
            recorder.count(module, [one for place, one in enumerate(arguments) if place in self.kept_var_idx])
        return execute(self, *arguments)

    # What C++ needs to make later calls itself: those of jit, of compile(), and of pmap before 0.8.
    for owner, name in ((pjit, "_get_fastpath_data"), (pxla.MeshExecutable, "create_cpp_call")):
        getattr(owner, name)  # raises AttributeError if this release has another way
        setattr(owner, name, lambda *_, **__: None)
    if hasattr(api, "pmap_lib"):
        pmap = api.pmap_lib.pmap

        def pmap_in_python(function, first_call, *others, **options):
            return pmap(function, lambda *a, **k: (first_call(*a, **k)[0], None), *others, **options)

        api.pmap_lib.pmap = pmap_in_python
    compiler.compile_or_get_cached = compile_or_get_cached
    pxla.ExecuteReplicated.__call__ = call


def watch_torch_xla(folder):
    """Let XLA dump the modules of this process, and PyTorch/XLA write which of them it runs."""
    path = folder / f"xla-{os.getpid()}"
    flags = f"--xla_dump_to={path} --xla_dump_hlo_as_proto --xla_dump_hlo_as_text=false"
    os.environ["XLA_FLAGS"] = " ".join([*os.environ.get("XLA_FLAGS", "").split(), flags])
    os.environ.update(PT_XLA_DEBUG_LEVEL="2", PT_XLA_DEBUG_FILE=f"{path}.txt")


class Finder:
    """Prepares the capture when a framework is first imported."""

    def __init__(self, folder):
        self._folder, self._awaited = folder, {"torch_xla", "jax._src.api"}

    def find_spec(self, name, path=None, target=None):
        if name not in self._awaited:
            return None
        self._awaited.remove(name)
        if name == "torch_xla":
            watch_torch_xla(self._folder)
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None:
            execute, folder = spec.loader.exec_module, self._folder

            def exec_module(module):
                execute(module)
                try:
                    watch_jax(Recorder(folder))
                except (AttributeError, ImportError) as error:
                    print(f"stackwars: this release of JAX is not captured: {error}", file=sys.stderr)

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
