"""The process that times one cell once: a worker whose commands are those of a `calls.Measurement`.

It runs in the framework's own environment and appends what it has done to an event file, line by
line, so that its parent knows how far it got, whatever ends it, and has the measurements made until then.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.core import documents, judge, program_text, worker
from stackwars.core.documents import EVENTS, Events
from stackwars.measure import FORMS, workloads
from stackwars.measure.calls import ALONE, Measurement, Stream, single_call, timed_call
from stackwars.measure.checks import checked, leaf_samples, sample, subnormals
from stackwars.measure.frameworks import each
from stackwars.measure.workloads.base import Workload
from stackwars.measure.workloads.losses import STEPS

EXTRACTED = (0, 1)
"""The rounds in which the StableHLO is extracted: two tell whether every process has the same one."""
TURNS = 2
"""How often every shape is called."""


def keep_memory(workload: str) -> None:
    """Have the C library give no memory back to the system in a workload that updates a state.

    Its results have fresh memory in every step, whose page faults would double the time of the step. By glibc's
    mallopt(3): M_TRIM_THRESHOLD (-1) of -1 returns nothing, M_MMAP_MAX (-4) of 0 maps no block by itself. With another
    library nothing is done. A cell and the replay of its program do the same.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None and workloads.load(workload).STATE:
        mallopt(-1, -1)
        mallopt(-4, 0)


def refuse_outside_compiler(session: Any, workload: Workload) -> None:
    """Raise NotImplementedError if operations ran outside the framework's compiler, unless the workload breaks
    its graph by intention: its time would be another program's.
    """
    outside = session.outside_compiler() if hasattr(session, "outside_compiler") else []
    if outside and not workload.GRAPH_BREAKS:
        raise NotImplementedError(f"ran outside the compiler: {', '.join(outside)}")


def follow_losses(session: Any, events: Events, outputs: list[Any]) -> None:
    """Go on to STEPS steps of training, of which two are done, and record the loss before each.

    Two trainings whose steps agree to rounding may still diverge. Only a cell's first process does this: the steps
    can take longer than everything that is timed.
    """
    losses = [float(session.fetch(output)) for output in outputs]
    while len(losses) < STEPS:
        which = len(losses) % len(outputs)
        outputs[which], _, _ = timed_call(session, which)
        losses.append(float(session.fetch(outputs[which])))
    events.write("losses", values=losses)


def opened(spec: dict) -> tuple[Any, Workload, Callable]:
    """Return the framework's session, the workload, and its `build` in the framework's dialect."""
    framework = import_module(f"stackwars.measure.frameworks.{spec['framework']}")
    session = framework.Session(spec["device"], spec["settings"]["matmul_precision"])
    return session, workloads.load(spec["workload"]), workloads.build(spec["workload"], spec["dialect"])


def fetched(session: Any, output: Any, call: str, spec: dict) -> tuple[np.ndarray, ...]:
    """Return the values of a call's results.

    Raises FloatingPointError for values that are not finite, if nothing says whether they should be.
    """
    values = each(session.fetch(output))
    return values if spec["expected"] else tuple(checked(one, call) for one in values)


def measure(spec: dict, events: Events, folder: Path) -> Iterator[dict[str, Stream]]:
    """Run the process that the specification describes; see `supervisor.ProcessJob`."""
    settings, sizes, seed = spec["settings"], spec["sizes"], spec["settings"]["seed"]
    events.write("import")
    keep_memory(spec["workload"])
    session, workload, build = opened(spec)
    versions = {"numpy": np.__version__, **session.versions(), **_models_library()}
    events.write("build", device_kind=session.device_kind(), versions=versions)
    session.build(build, sizes, seed, workload.input_sets(sizes, seed))
    session.settle()
    gc.collect()
    gc.disable()
    events.write("run", **surroundings())
    samples, judged = [], {}

    def keep(which: int, output: Any) -> None:
        """Keep values of one of the first two calls."""
        refuse_outside_compiler(session, workload)
        if which == 0 or workload.STATE:
            values = fetched(session, output, ("first", "second")[which], spec)
        if which == 0:
            judged.update(
                {f"first/{key}": np.array(one) for key, one in judge.output_values(values, 0).items()}
            )
        if workload.STATE:
            # The results of later calls depend on the number of earlier ones.
            state = session.state()
            samples.append(np.concatenate([*(sample(one, seed) for one in values), leaf_samples(state, seed)]))
            if which == 0:
                judged.update({f"first/state/{leaf}": np.array(value) for leaf, value in state.items()})
        if which == 1 and workload.TRAINS and spec["writes_files"] and not spec["repetition"]:
            follow_losses(session, events, stream.outputs)

    stream = Stream(session, events, settings, after=keep)
    yield {"": stream}
    last = [fetched(session, output, "last", spec) for output in stream.outputs]
    gc.enable()
    if not samples:
        samples = [sample(one, seed) for values in last for one in values]
        for which, values in enumerate(last):
            judged |= {f"last/{key}": one for key, one in judge.output_values(values, which).items()}
    np.save(folder / "output.npy", np.concatenate(samples))
    events.write(
        "timed",
        subnormals=sum(subnormals(one) for values in last for one in values),
        huge_page_bytes=_huge_page_bytes(),
        **(session.generated() if hasattr(session, "generated") else {}),
        **surroundings(),
    )
    if spec["expected"] and spec["writes_files"]:
        np.savez(folder / judge.OUTPUTS, **judged)
    if not spec["writes_files"] or spec["repetition"] not in EXTRACTED:
        return
    # After the timed calls: JAX keeps what it traced, and lowering first would shorten run 1.
    program_text.write(folder / "stablehlo.mlir.gz", session.stablehlo())
    if spec["forms"] and hasattr(session, "forms"):
        (folder / FORMS).mkdir()
        for name, text in _forms(session).items():
            program_text.write(folder / FORMS / f"{name}.txt.gz", text)


def measure_shapes(spec: dict, events: Events, folder: Path) -> Iterator[dict[str, Stream]]:
    """Call one workload with several shapes in turn, twice, and record what each call compiled.

    spec: a ProcessJob as a dictionary whose settings have `size` and `values`.
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
    yield {}  # no stream takes turns
    for turn in range(TURNS):
        for which, value in enumerate(settings["values"]):
            single_call(session, events, "shape", which, turn=turn, value=value)


def _forms(session: Any) -> dict[str, str]:
    """Return the session's forms, or the reason why there are none; the times are valid without them."""
    try:
        return session.forms()
    except Exception as error:
        return {"problem": f"{type(error).__name__}: {error}\n"}


def _huge_page_bytes() -> int | None:
    """Return the bytes of anonymous memory in huge pages; None if the kernel does not say."""
    try:
        status = Path("/proc/self/smaps_rollup").read_text()
    except OSError:
        return None
    match = re.search(r"^AnonHugePages: +(\d+) kB$", status, re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def surroundings() -> dict[str, Any]:
    """Return the cores that this process may use, and the flags of XLA."""
    return {"affinity": sorted(os.sched_getaffinity(0)), "xla_flags": os.environ.get("XLA_FLAGS", "")}


def _models_library() -> dict[str, str]:
    result = {}
    for package in ("flax", "transformers"):
        with suppress(metadata.PackageNotFoundError):
            result[package] = metadata.version(package)
    return result


def run_child(
    measure: Callable[[dict, Events, Path], Iterator[dict[str, Any]]], alone: Sequence[str] = ALONE
) -> None:
    """`python -m MODULE FOLDER`: read FOLDER/spec.json, serve the commands of a measurement, write files into FOLDER.

    measure, alone: see `Measurement`. An exception ends the process, whose status its event decides.
    """
    folder = Path(sys.argv[1])
    events = Events(folder / EVENTS)
    spec = documents.read(folder / "spec.json")

    def record(error: BaseException) -> None:
        compiles = getattr(error, "compiles", None)
        message = workloads.user_line(error) + str(error)[-4000:]
        events.write("raised", type=type(error).__name__, message=message, compiles=compiles)

    worker.serve(Measurement(measure(spec, events, folder), events, alone), fatal=record)


def main() -> None:
    """Run the process of a cell, or of several shapes."""
    run_child(lambda spec, *rest: (measure_shapes if "values" in spec["settings"] else measure)(spec, *rest))


if __name__ == "__main__":
    main()
