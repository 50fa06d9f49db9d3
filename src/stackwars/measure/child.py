"""The process that times one repetition of one cell.

It runs in the framework's own environment and appends what it has done to an event file, line by
line, so that whatever ends it, its parent knows how far it came and keeps what was measured.
"""

from __future__ import annotations

import gc
import gzip
import json
import os
import sys
import time
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np

SAMPLE = 4096
"""Elements of the output that are kept for the parity check."""


class Events:
    """An append-only file of JSON lines; the parent reads it after the child's end."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)

    def write(self, event: str, **values: Any) -> None:
        self._file.write(json.dumps({"event": event, "at_s": time.time(), **values}) + "\n")


def timed_call(session: Any) -> tuple[Any, int, int]:
    """One fenced call: (output, nanoseconds until call() returned, nanoseconds until the fence did)."""
    start = time.perf_counter_ns()
    output = session.call()
    returned = time.perf_counter_ns()
    session.fence(output)
    return output, returned - start, time.perf_counter_ns() - start


def single_call(session: Any, events: Events, name: str) -> Any:
    """Time one call on its own and say how it divides; return its output."""
    before = session.counters()
    try:
        output, returned_ns, total_ns = timed_call(session)
    except Exception as error:
        # Tells a refusal by the compiler from one of the program that it built.
        error.compiles = session.counters().since(before).compiles
        raise
    done = session.counters().since(before)
    trace_s = done.trace_s if done.trace_s is not None else returned_ns / 1e9
    events.write(
        name, ns=total_ns, compiles=done.compiles, trace_s=trace_s, compile_s=done.compile_s
    )
    return output


def steady_calls(session: Any, events: Events, settings: dict, last: Any) -> Any:
    """Time calls until the settings are satisfied; return the last output.

    The previous output stays alive until the next one is fenced: torch_xla computes nothing whose
    result is dropped.
    """
    samples: list[int] = []
    before = session.counters()
    start = time.perf_counter()
    while len(samples) < settings["steady_max_calls"]:
        enough = time.perf_counter() - start >= settings["steady_seconds"]
        if enough and len(samples) >= settings["steady_min_calls"]:
            break
        output, _, total_ns = timed_call(session)
        last = output
        samples.append(total_ns)
    events.write("steady", ns=samples, compiles=session.counters().since(before).compiles)
    return last


def sample(values: np.ndarray, seed: int) -> np.ndarray:
    """At most SAMPLE elements, the same positions for every framework: (n,) float32."""
    flat = np.ascontiguousarray(values, dtype=np.float32).reshape(-1)
    if flat.size <= SAMPLE:
        return flat
    return flat[np.sort(np.random.default_rng(seed).choice(flat.size, SAMPLE, replace=False))]


def checked(values: np.ndarray, call: str) -> np.ndarray:
    """The fetched output, refused with a FloatingPointError if it is not finite."""
    if not np.isfinite(values).all():
        raise FloatingPointError(f"expected finite values from the {call} call, some are not")
    return values


def measure(spec: dict, events: Events, folder: Path) -> None:
    """Run the whole repetition that the specification describes; see `supervisor.Job`."""
    settings, sizes, seed = spec["settings"], spec["sizes"], spec["settings"]["seed"]
    events.write("import")
    framework = import_module(f"stackwars.frameworks.{spec['framework']}")
    session = framework.Session(spec["device"], settings["matmul_precision"])
    workload = import_module(f"stackwars.workloads.{spec['workload']}")
    dialect = import_module(f"stackwars.workloads.{spec['workload']}.in_{spec['dialect']}")
    versions = {"numpy": np.__version__, **session.versions(), **_models_library()}
    events.write("build", device_kind=session.device_kind(), versions=versions)
    session.build(dialect.build, sizes, seed, workload.inputs(sizes, seed))
    session.settle()
    gc.collect()
    gc.disable()
    events.write("run", affinity=sorted(os.sched_getaffinity(0)), load=os.getloadavg())
    output = single_call(session, events, "first")
    checked(session.fetch(output), "first")
    output = single_call(session, events, "second")
    output = steady_calls(session, events, settings, output)
    last = checked(session.fetch(output), "last")
    gc.enable()
    np.save(folder / "output.npy", sample(last, seed))
    events.write("timed", output_shape=list(last.shape), load=os.getloadavg())
    # After the timed calls: JAX keeps what it traced, and lowering first would shorten run 1.
    with gzip.GzipFile(folder / "stablehlo.mlir.gz", "wb", mtime=0) as file:
        file.write(session.stablehlo().encode())
    events.write("end")


def _models_library() -> dict[str, str]:
    found = {}
    for package in ("flax", "transformers"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def main() -> None:
    """`python -m stackwars.measure.child FOLDER`: read FOLDER/spec.json, write beside it."""
    folder = Path(sys.argv[1])
    events = Events(folder / "events.jsonl")
    spec = json.loads((folder / "spec.json").read_text())
    try:
        measure(spec, events, folder)
    except BaseException as error:
        compiles = getattr(error, "compiles", None)
        message = str(error)[-4000:]
        events.write("raised", type=type(error).__name__, message=message, compiles=compiles)
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    # Nothing is left to clean up, and the frameworks' own teardown can crash after the work is done.
    os._exit(0)


if __name__ == "__main__":
    main()
