"""The process that times one cell once.

It runs in the framework's own environment and appends what it has done to an event file, line by
line, so that whatever ends it, its parent knows how far it came and keeps what was measured.
"""

from __future__ import annotations

import gc
import gzip
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np

from stackwars import workloads
from stackwars.frameworks import each
from stackwars.measure import FORMS, judge
from stackwars.measure.checks import checked, leaf_samples, sample
from stackwars.measure.contention import Meter, Usage, frequencies_mhz, pressure, wait_share
from stackwars.measure.documents import EVENTS, Events
from stackwars.measure.inputs import input_sets
from stackwars.measure.interleaved import REPLY, run_interleaved_blocks
from stackwars.workloads.base import Workload
from stackwars.workloads.losses import STEPS

EXTRACTED = (0, 1)
"""The rounds in which the StableHLO is extracted: two tell whether every process has the same one."""
TURNS = 2
"""How often every shape is called."""
DISPATCHED = 32
DISPATCH_S = 0.2
"""Maximum of steady calls of which it is told when they returned, and of seconds in which they begin."""


def timed_call(session: Any, which: int) -> tuple[Any, int, int]:
    """One fenced call: (output, nanoseconds until call() returned, nanoseconds until the fence did)."""
    start = time.perf_counter_ns()
    output = session.call(which)
    returned = time.perf_counter_ns()
    session.fence(output)
    return output, returned - start, time.perf_counter_ns() - start


def single_call(session: Any, events: Events, name: str, which: int, **what: Any) -> Any:
    """Time one call on its own and say how it divides, and `what` of it; return its output."""
    before = session.counters()
    try:
        output, returned_ns, total_ns = timed_call(session, which)
    except Exception as error:
        # Tells a refusal by the compiler from one of the program that it built.
        error.compiles = session.counters().since(before).compiles
        raise
    done = session.counters().since(before)
    trace_s = done.trace_s
    if trace_s is None and done.compiles is not None:
        # A framework that records until it is asked for a value: what it does inside the call is tracing.
        trace_s = returned_ns / 1e9
    events.write(
        name,
        ns=total_ns,
        returned_ns=returned_ns,
        compiles=done.compiles,
        cache_hits=done.cache_hits,
        trace_s=trace_s,
        compile_s=done.compile_s,
        **what,
    )
    return output


def refuse_outside_compiler(session: Any, workload: Workload) -> None:
    """Raise NotImplementedError if operations ran outside the framework's compiler, unless the workload breaks
    its graph by intention: the time would be that of another program.
    """
    outside = session.outside_compiler() if hasattr(session, "outside_compiler") else []
    if outside and not workload.GRAPH_BREAKS:
        raise NotImplementedError(f"ran outside the compiler: {', '.join(outside)}")


def block(session: Any, calls: int, first: int, outputs: list[Any]) -> int:
    """Nanoseconds of some fenced calls in a row, on alternating sets of inputs, beginning with the set `first`.

    Fills `outputs`, the last output of each set. They stay alive until the set's next call is fenced:
    torch_xla computes nothing whose result is dropped.
    """
    which = first
    start = time.perf_counter_ns()
    for _ in range(calls):
        output = session.call(which)
        session.fence(output)
        outputs[which] = output
        which = (which + 1) % len(outputs)
    return time.perf_counter_ns() - start


def steady_calls(session: Any, events: Events, settings: dict, outputs: list[Any]) -> float:
    """Time blocks of calls until the settings are satisfied; return the median of their wait shares.

    `outputs` has the last of each set then.
    """
    calls, samples, used = settings["block_calls"], [], []
    before, meter, outside_s = session.counters(), Meter(), 0.0
    start = time.perf_counter()
    while len(samples) < settings["steady_max_blocks"]:
        enough = time.perf_counter() - start >= settings["steady_seconds"]
        if enough and len(samples) >= settings["steady_min_blocks"]:
            break
        # An odd number of calls would otherwise give one set of inputs more of them.
        first = len(samples) * calls % len(outputs)
        pause = time.perf_counter()
        meter.read()
        outside_s += time.perf_counter() - pause
        samples.append(block(session, calls, first, outputs))
        pause = time.perf_counter()
        used.append(meter.read())
        outside_s += time.perf_counter() - pause
    others_share, seconds = meter.other_processes_share(), time.perf_counter() - start
    done = session.counters().since(before)
    events.write(
        "steady",
        ns=samples,
        calls=calls,
        **{f"{name}_ns": [getattr(usage, name) for usage in used] for name in Usage._fields},
        seconds=seconds,
        outside_s=outside_s,
        other_processes_share=others_share,
        compiles=done.compiles,
        cache_hits=done.cache_hits,
        threads=meter.workers(),
    )
    return statistics.median(wait_share(usage.run, usage.wait) for usage in used)


def dispatch_calls(session: Any, events: Events, outputs: list[Any]) -> None:
    """Time single calls after the steady ones: until each had returned, and until it was done; one at least.

    Apart from the blocks, because a clock that is read between call and fence is part of what it times.
    """
    returned, done = [], []
    start = time.perf_counter()
    while not done or (len(done) < DISPATCHED and time.perf_counter() - start < DISPATCH_S):
        which = len(done) % len(outputs)
        outputs[which], returned_ns, total_ns = timed_call(session, which)
        returned.append(returned_ns)
        done.append(total_ns)
    events.write("dispatch", returned_ns=returned, total_ns=done)


def follow_losses(session: Any, events: Events, outputs: list[Any]) -> None:
    """Go on to STEPS steps of training, of which two are done, and tell the loss before each.

    Two runs whose every step agrees to rounding may still part; how far is told by this.
    """
    losses = [float(session.fetch(output)) for output in outputs]
    while len(losses) < STEPS:
        which = len(losses) % len(outputs)
        outputs[which], _, _ = timed_call(session, which)
        losses.append(float(session.fetch(outputs[which])))
    events.write("losses", values=losses)


def opened(spec: dict) -> tuple[Any, Workload, Callable]:
    """Return the framework's session, the workload, and its `build` in the framework's dialect."""
    framework = import_module(f"stackwars.frameworks.{spec['framework']}")
    session = framework.Session(spec["device"], spec["settings"]["matmul_precision"])
    return session, workloads.load(spec["workload"]), workloads.build(spec["workload"], spec["dialect"])


def fetched(session: Any, output: Any, call: str, spec: dict) -> tuple[np.ndarray, ...]:
    """Return the values of a call's results.

    Raises FloatingPointError for values that are not finite, if nothing says whether they should be.
    """
    values = each(session.fetch(output))
    return values if spec["expected"] else tuple(checked(one, call) for one in values)


def samples_of(values: tuple[np.ndarray, ...], seed: int) -> list[np.ndarray]:
    """Return some values of each result."""
    return [sample(one, seed) for one in values]


def measure(spec: dict, events: Events, folder: Path) -> None:
    """Run the whole process that the specification describes; see `supervisor.ProcessJob`."""
    settings, sizes, seed = spec["settings"], spec["sizes"], spec["settings"]["seed"]
    events.write("import")
    session, workload, build = opened(spec)
    versions = {"numpy": np.__version__, **session.versions(), **_models_library()}
    events.write("build", device_kind=session.device_kind(), versions=versions)
    session.build(build, sizes, seed, input_sets(workload, sizes, seed))
    session.settle()
    gc.collect()
    gc.disable()
    events.write("run", **surroundings())
    outputs, samples, judged = [], [], {}
    for which, name in enumerate(("first", "second")):
        outputs.append(single_call(session, events, name, which))
        refuse_outside_compiler(session, workload)
        if which == 0 or hasattr(workload, "STATE"):
            values = fetched(session, outputs[which], name, spec)
        if which == 0:
            judged |= {f"first/{key}": np.array(one) for key, one in judge.output_values(values, 0).items()}
        if hasattr(workload, "STATE"):
            # What later calls give depends on how many there were.
            state = session.state()
            samples.append(np.concatenate([*samples_of(values, seed), leaf_samples(state, seed)]))
            if which == 0:
                judged |= {f"first/state/{leaf}": np.array(value) for leaf, value in state.items()}
    if hasattr(workload, "losses_rel"):
        follow_losses(session, events, outputs)
    usual = steady_calls(session, events, settings, outputs)
    dispatch_calls(session, events, outputs)
    if REPLY in os.environ:
        calls = settings["block_calls"]
        run_interleaved_blocks(
            lambda number: block(session, calls, number * calls % len(outputs), outputs),
            calls,
            settings["interleaved_slice_seconds"],
            usual,
            events,
        )
    last = [fetched(session, output, "last", spec) for output in outputs]
    gc.enable()
    if not samples:
        samples = [one for values in last for one in samples_of(values, seed)]
        for which, values in enumerate(last):
            judged |= {f"last/{key}": one for key, one in judge.output_values(values, which).items()}
    np.save(folder / "output.npy", np.concatenate(samples))
    generated = session.generated() if hasattr(session, "generated") else {}
    events.write("timed", output_shape=list(last[0][0].shape), **generated, **surroundings())
    partner = REPLY in os.environ and spec["partner"] is None
    if spec["expected"] and not partner:
        np.savez(folder / judge.OUTPUTS, **judged)
    if partner or spec["repetition"] not in EXTRACTED:
        events.write("end")
        return
    # After the timed calls: JAX keeps what it traced, and lowering first would shorten run 1.
    _write(folder / "stablehlo.mlir.gz", session.stablehlo())
    if spec["forms"] and hasattr(session, "forms"):
        (folder / FORMS).mkdir()
        for name, text in _forms(session).items():
            _write(folder / FORMS / f"{name}.txt.gz", text)
    events.write("end")


def measure_shapes(spec: dict, events: Events, folder: Path) -> None:
    """Call one workload with several shapes in turn, twice, and tell what each call compiled.

    spec: of a ProcessJob whose settings have `size` and `values`.
    """
    settings, sizes = spec["settings"], spec["sizes"]
    events.write("import")
    session, workload, build = opened(spec)
    events.write("build", device_kind=session.device_kind(), versions=session.versions())
    sets = [
        workload.inputs(sizes | {settings["size"]: value}, settings["seed"]) for value in settings["values"]
    ]
    session.build(build, sizes, settings["seed"], sets)
    session.settle()
    events.write("run")
    for turn in range(TURNS):
        for which, value in enumerate(settings["values"]):
            single_call(session, events, "shape", which, turn=turn, value=value)
    events.write("end")


def _forms(session: Any) -> dict[str, str]:
    """The session's forms, or why there are none: what was timed stands without them."""
    try:
        return session.forms()
    except Exception as error:
        return {"problem": f"{type(error).__name__}: {error}\n"}


def _write(path: Path, text: str) -> None:
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        file.write(text.encode())


def surroundings() -> dict[str, Any]:
    """What else goes on around this process: cores it may use, load, frequencies, pressure, flags of XLA."""
    return {
        "affinity": sorted(os.sched_getaffinity(0)),
        "load": os.getloadavg(),
        "frequencies_mhz": frequencies_mhz(),
        "pressure": pressure(),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
    }


def _models_library() -> dict[str, str]:
    result = {}
    for package in ("flax", "transformers"):
        try:
            result[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return result


def run_child(measure: Callable[[dict, Events, Path], None]) -> None:
    """`python -m <the child's module> FOLDER`: read FOLDER/spec.json, measure, write beside it."""
    folder = Path(sys.argv[1])
    events = Events(folder / EVENTS)
    spec = json.loads((folder / "spec.json").read_text())
    try:
        measure(spec, events, folder)
    except BaseException as error:
        compiles = getattr(error, "compiles", None)
        message = workloads.user_line(error) + str(error)[-4000:]
        events.write("raised", type=type(error).__name__, message=message, compiles=compiles)
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    # Nothing is left to clean up, and the frameworks' own teardown can crash after the work is done.
    os._exit(0)


def main() -> None:
    """Run the process of a cell, or of several shapes."""

    def measure_spec(spec: dict, events: Events, folder: Path) -> None:
        chosen = measure_shapes if "values" in spec["settings"] else measure
        chosen(spec, events, folder)

    run_child(measure_spec)


if __name__ == "__main__":
    main()
