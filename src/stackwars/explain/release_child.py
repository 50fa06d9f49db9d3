"""Compile, call and time one program in one release of jaxlib or IREE, in the environment of that release.

It runs in releases of several years, so it imports nothing of this package, and calls what all of them have. It is a
script: `python release_child.py JOB`, a JSON file with
  project     "jaxlib" or "iree"
  program     file of the portable artifact
  arguments   {number of the set of inputs: files of the arguments as .npy}
  folder      where it writes events.jsonl, and the results if `judged` is true
  flags       of iree-compile; one that a release does not know is left out
  judged      whether the results of a call with each set of inputs, and with the first again, are written
  seconds     how long calls are timed, at least `least` of them; nothing is timed if it is 0
"""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np

WARM = 2
"""Calls before those that are timed."""


class Refused(Exception):
    """The release does not read or compile the program."""


class Jaxlib:
    """XLA of a jaxlib, compiling as its `jax.jit` does."""

    def __init__(self):
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax

        # Programs of PyTorch have 64-bit integers among their arguments.
        jax.config.update("jax_enable_x64", True)
        self._jax, self._device = jax, jax.devices("cpu")[0]

    def versions(self):
        import jaxlib
        from jaxlib.mlir.dialects import stablehlo

        read = stablehlo.get_current_version() if hasattr(stablehlo, "get_current_version") else ""
        return {"jaxlib": jaxlib.__version__, "stablehlo": read}

    def compile(self, program, folder):
        from jax._src import compiler
        from jax._src.interpreters import mlir
        from jaxlib import xla_client

        options = compiler.get_compile_options(1, 1, np.array([[self._device.id]]))
        client = self._device.client
        with mlir.make_ir_context():
            # That of jaxlib.mlir.dialects.stablehlo ends the process in 0.4.30. It returns text, and later a module.
            read = xla_client._xla.mlir.deserialize_portable_artifact(program)
            self._load_lapack(str(read))
            start = time.perf_counter()
            if hasattr(client, "compile_and_load"):
                devices = xla_client.DeviceList((self._device,))
                self._executable = client.compile_and_load(read, devices, options)
            else:
                self._executable = client.compile(read, options)
        return time.perf_counter() - start

    def _load_lapack(self, text):
        """Register LAPACK's kernels, as `jax.jit` does while it lowers a call of one."""
        if "lapack_" in text:
            from jaxlib import lapack

            lapack._lapack.initialize()

    def put(self, array):
        return self._jax.device_put(array, self._device).block_until_ready()

    def call(self, arguments):
        results = self._executable.execute(arguments)
        for result in results:
            result.block_until_ready()
        return results

    def fetch(self, results):
        return [np.asarray(result) for result in results]


class Iree:
    """IREE's compiler for this machine's CPU, and its runtime on the cores that this process may use."""

    def __init__(self, flags):
        from iree import runtime

        self._flags = flags

        cores = ",".join(str(core) for core in sorted(os.sched_getaffinity(0)))
        runtime.flags.parse_flags("--task_topology_cpu_ids=" + cores)
        self._runtime, self._config = runtime, runtime.Config("local-task")

    def versions(self):
        from importlib import metadata

        return {name: metadata.version(name) for name in ("iree-base-compiler", "iree-base-runtime")}

    def compile(self, program, folder):
        from iree.compiler.tools.binaries import find_tool

        tool, target, source = find_tool("iree-compile"), folder / "program.vmfb", folder / "program.mlirbc"
        source.write_bytes(program)
        known = _say([tool, "--help"])[1]
        flags = [flag for flag in self._flags if flag.partition("=")[0] in known]
        start = time.perf_counter()
        status, said = _say([tool, source, "-o", target, *flags])
        seconds = time.perf_counter() - start
        if status < 0:
            # Ends as its compiler ended, so that the parent sees a crash.
            print(said, flush=True)
            os.kill(os.getpid(), -status)
        if status:
            raise Refused(f"iree-compile ended with {status} and said {said}")
        runtime, config = self._runtime, self._config
        module = runtime.VmModule.copy_buffer(config.vm_instance, target.read_bytes())
        self._main = module.lookup_function("main")
        self._context = runtime.VmContext(config.vm_instance, modules=[*config.default_vm_modules, module])
        return seconds

    def put(self, array):
        return self._runtime.asdevicearray(self._config.device, array)._buffer_view

    def call(self, arguments):
        given = self._runtime.VmVariantList(len(arguments))
        for argument in arguments:
            given.push_ref(argument)
        results = self._runtime.VmVariantList(1)
        self._context.invoke(self._main, given, results)
        return results

    def fetch(self, results):
        views = [results.get_as_object(place, self._runtime.HalBufferView) for place in range(len(results))]
        device = self._config.device
        made = [self._runtime.DeviceArray(device, view, implicit_host_transfer=True) for view in views]
        return [np.array(one.to_host()) for one in made]


def _say(command):
    """Run a command; return its status and what it said."""
    import subprocess

    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode(errors="replace")


def run(job, write):
    """Do the job; write(event, **values) is called as each step begins and ends."""
    release = Iree(job["flags"]) if job["project"] == "iree" else Jaxlib()
    write("build", versions=release.versions())
    program, folder = Path(job["program"]).read_bytes(), Path(job["folder"])
    write("compile")
    try:
        seconds = release.compile(program, folder)
    except Exception as error:
        said = str(error).replace(str(folder), "")[:2000]
        raise Refused(f"the release refuses it: {type(error).__name__}: {said}") from error
    write("compiled", seconds=seconds)
    placed, sets = {}, []
    for number in sorted(job["arguments"]):
        for path in job["arguments"][number]:
            if path not in placed:
                placed[path] = release.put(np.load(path))
        sets.append([placed[path] for path in job["arguments"][number]])
    write("run")
    for number, which in enumerate([*range(len(sets)), 0]):
        results = release.call(sets[which])
        write("called", call=number)
        if job["judged"]:
            for place, array in enumerate(release.fetch(results)):
                np.save(folder / f"result-{number}-{place}.npy", array)
    if job["seconds"]:
        write("timed", **timed(release, sets, job["seconds"], job["least"]))


def timed(release, sets, seconds, least):
    """Return the nanoseconds of the wall and of this process's cores of each call; calls alternate between sets."""
    wall, cores, total = [], [], 0
    for number in range(1 << 30):
        if number >= WARM + least and total >= seconds * 1e9:
            break
        start, used = time.perf_counter_ns(), time.process_time_ns()
        results = release.call(sets[number % len(sets)])
        ns, spent = time.perf_counter_ns() - start, time.process_time_ns() - used
        del results
        total += ns
        if number >= WARM:
            wall.append(ns)
            cores.append(spent)
    return {"wall_ns": wall, "cpu_ns": cores}


def main():
    """Run the job of the file that the command names; events.jsonl ends with `end` or `raised`."""
    job = json.loads(Path(sys.argv[1]).read_text())
    with Path(job["folder"], "events.jsonl").open("a", buffering=1) as events:

        def write(event, **values):
            events.write(json.dumps({"event": event, "at_s": time.time(), **values}) + "\n")

        write("import")
        try:
            run(job, write)
        except BaseException as error:
            kind = "NotImplementedError" if isinstance(error, Refused) else type(error).__name__
            write("raised", type=kind, message=str(error)[-4000:], compiles=None)
            raise
        write("end")


if __name__ == "__main__":
    main()
