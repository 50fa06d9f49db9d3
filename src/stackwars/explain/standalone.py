"""The code of a reproducer: each function's source is copied into it, so none uses anything else of this package.

A case is {"program": text, "options": XLA's options or IREE's flags, "arguments": arrays, "expected": [{"at", "values",
"scale", "limit"} for each result]}. at: places in the flattened result; scale: the largest size of its right values.
A case of a long compilation has "seconds" of the processor besides, and "first", a small program. A case of a gap has
"other", a faster program, "others", its arguments, and "bound", in place of expected values.
A function that compiles returns a function of arrays, which returns a function that calls the program once.
"""

import os
import signal
import subprocess
import sys
import time

import numpy as np

WRONG, REFUSED, LONG = 10, 11, 12  # exit statuses of the child
PROCESSES, STUDENT, SECONDS = (
    5,
    2.776,
    1.0,
)  # of a gap: fresh processes, their t of 95 %, and the timing in each


def compile_xla(program, options):
    """Compile with XLA for the CPU, as jax.jit does."""
    import os

    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir

    jax.config.update("jax_enable_x64", True)
    print("jaxlib", jax.lib.__version__, flush=True)
    device = jax.devices("cpu")[0]
    if "@lapack_" in program:
        from jaxlib import lapack

        lapack._lapack.initialize()
    chosen = compiler.get_compile_options(1, 1, np.array([[0]]), env_options_overrides=options)
    with mlir.make_ir_context():
        module = ir.Module.parse(program)
        if "sym_name" not in module.operation.attributes:  # JAX requires it
            module.operation.attributes["sym_name"] = ir.StringAttr.get("program")
        if hasattr(compiler, "backend_compile_and_load"):
            devices = xla_client.DeviceList((device,))
            loaded = compiler.backend_compile_and_load(device.client, module, devices, chosen, [])
        else:
            loaded = compiler.backend_compile(device.client, module, chosen, [])

    def bind(arrays):
        buffers = [jax.device_put(array, device) for array in arrays]
        return lambda: [np.asarray(one) for one in loaded.execute(buffers)]

    return bind


def compile_iree(program, options):
    """Compile with IREE; options: flags."""
    from importlib import metadata

    from iree import compiler, runtime

    print("iree-base-compiler", metadata.version("iree-base-compiler"), flush=True)
    compiled = compiler.compile_str(program, extra_args=options)
    config = runtime.Config("local-task")
    main = runtime.load_vm_module(runtime.VmModule.copy_buffer(config.vm_instance, compiled), config)["main"]

    def bind(arrays):
        buffers = [runtime.asdevicearray(config.device, array) for array in arrays]

        def call():
            results = main(*buffers)
            return [one.to_host() for one in (results if isinstance(results, tuple | list) else (results,))]

        return call

    return bind


def wrong_elements(values, expected):
    """Return a line for each element that is wrong; values: a result, expected: as of a case."""
    lines, values = [], np.asarray(values)
    for at, right in zip(expected["at"], expected["values"], strict=True):
        value = values.ravel()[at].item()
        same = value == right or (value != value and right != right)
        if same or (np.isfinite(right) and abs(value - right) <= expected["limit"] * expected["scale"]):
            continue
        place = [int(one) for one in np.unravel_index(at, values.shape)]
        lines.append(f"element {place}: expected {right}, got {value}")
    return lines


def check_compilation(case, compile_program):
    """Compile a small program, which starts the compiler, and the program; exit with LONG or 0."""
    for program in (case["first"], case["program"]):
        start = sum(os.times()[:4])
        compile_program(program, case["options"])
        seconds = sum(os.times()[:4]) - start
    print(f"compiled in {seconds:.2f} processor seconds; long: {case['seconds']:.2f} or more", flush=True)
    sys.exit(LONG if seconds >= case["seconds"] else 0)


def check(case, compile_program):
    """Compile the program and run it three times; exit with WRONG, REFUSED or 0."""
    tries = []
    try:
        bind = compile_program(case["program"], case["options"])
        print("compiled", flush=True)
        call = bind(case["arguments"])
        tries = [call() for _ in range(3)]
    except (ImportError, AttributeError):  # another package, or a release with another interface
        raise
    except Exception as error:
        print(f"{type(error).__name__}: {str(error)[:2000]}", flush=True)
        sys.exit(REFUSED)
    lines = []
    for results in tries:
        found = [
            f"result {number}, {line}"
            for number, expected in enumerate(case["expected"])
            for line in wrong_elements(results[number], expected)
        ]
        lines = lines or found
    print("\n".join(lines) or "no value is known to be wrong", flush=True)
    sys.exit(WRONG if lines else 0)


def main(case, compile_program, timeout_s):
    """Check in a child process; exit with 1 while the fault is there, 0 once it is gone, and 2 if that is unknown."""
    if sys.argv[1:] == ["--child"]:
        (check_compilation if "seconds" in case else check)(case, compile_program)
    child = subprocess.Popen([sys.executable, __file__, "--child"])
    try:
        status = child.wait(timeout_s)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        sys.exit(f"FAULT: no end after {timeout_s:g} s")
    if status < 0:
        sys.exit(f"FAULT: {signal.Signals(-status).name} ended the process")
    if status == LONG:
        sys.exit("FAULT: it compiles long")
    if status in (WRONG, REFUSED):
        sys.exit("FAULT: wrong values" if status == WRONG else "FAULT: the compiler or its runtime refuses it")
    print("no fault" if status == 0 else "expected JAX or IREE, and NumPy; fix: install them")
    sys.exit(2 if status else 0)


def time_both(case, compile_program):
    """Time two programs in alternating rounds, and print the ratio of the fastest tenths of their rounds."""
    sides = (("program", "arguments"), ("other", "others"))
    calls = [compile_program(case[text], case["options"])(case[arrays]) for text, arrays in sides]
    for call in calls:
        call()
    rounds, end = [], time.perf_counter() + SECONDS
    while len(rounds) < 3 or time.perf_counter() < end:
        seconds = [0.0, 0.0]
        for side in (0, 1) if len(rounds) % 2 else (1, 0):
            start = time.perf_counter()
            calls[side]()
            seconds[side] = time.perf_counter() - start
        rounds.append(seconds)
    a, b = np.quantile(rounds, 0.1, axis=0)
    print(f"{1e3 * a:.4g} ms and {1e3 * b:.4g} ms: {a / b:.4f}", flush=True)


def compare(case, compile_program, timeout_s):
    """Time both programs in fresh processes; exit with 1 while the gap is there, 0 once it is gone, 2 if unknown."""
    if sys.argv[1:] == ["--child"]:
        time_both(case, compile_program)
        sys.exit(0)
    ratios = []
    for _ in range(PROCESSES):
        child = [sys.executable, __file__, "--child"]
        try:
            done = subprocess.run(child, stdout=subprocess.PIPE, text=True, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            print(f"no end after {timeout_s:g} s")
            sys.exit(2)
        print(done.stdout, end="", flush=True)
        if done.returncode:
            print("expected two programs that run, in JAX or IREE with NumPy")
            sys.exit(2)
        ratios.append(float(done.stdout.split()[-1]))
    logs = np.log(ratios)
    half = STUDENT * logs.std(ddof=1) / PROCESSES**0.5
    value, low, high = np.exp([logs.mean(), logs.mean() - half, logs.mean() + half])
    print(f"ratio {value:.3f} ({low:.3f} to {high:.3f}) of {PROCESSES} fresh processes", flush=True)
    most = 1 + case["bound"]
    if low > most:
        sys.exit("FAULT: the first program is slower")
    print("no gap" if high <= most else "the interval includes the bound")
    sys.exit(0 if high <= most else 2)
