"""Where the time of a compiled program's call goes: the profiler's events joined with the optimised program.

The thunks of XLA's CPU runtime carry the name of their HLO operation. A thunk may return before its work is
done, so an operation lasts until its `end: <name>` event; where several run at once, each has an equal part of
the time. Profiled calls are calls of their own: no time of a table is one of them.

JAX must have been told its platform before it was imported, as `program.open_device` does: where it has loaded
libtpu, the profiler of jaxlib 0.10.2 calls that of libtpu and the process dies.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from stackwars.compilers import hlo
from stackwars.compilers.op_classes import callers, class_of

LEAST, MOST = 3, 25
"""Profiled calls of a program."""
SECONDS = 0.5
"""After so long there is no further call, once there are LEAST."""
_CALL = "stackwars call"
_PLANE = "/host:CPU"
_LINGER_S = 0.02  # the last operation's end event may come after its result


class Span(NamedTuple):
    """From when to when an operation or a call ran, in ns on the profiler's clock."""

    name: str
    start: float
    end: float


def profile(call: Callable[[int], Any], text: str) -> dict:
    """A program's typical call: {"calls", "wall_s", "operations": {operation: {"class", "seconds"}}}.

    call: makes one fenced call, of the number given. text: the optimised HLO. Of the calls, it is the one of
    median wall time, and what its operations do not take of that is dispatch. Operations are of those that run
    by themselves, the longest first. Raises ValueError where the profiler saw no call, or an operation that is
    not in the text.
    """
    calls, operations = _spans(_record(call))
    if not calls:
        raise ValueError("expected events of the profiled calls; the profiler recorded none")
    module = hlo.read(text)
    known = {i.name: i for c in module.computations.values() for i in c.instructions.values()}
    seen = {span.name for span in operations}
    strange = seen - set(known)
    if strange:
        raise ValueError(
            f"expected operations of the optimised program; the profiler saw {sorted(strange)[:3]} as well: "
            "the text is of another compilation"
        )
    middle = statistics.median_low([span.end - span.start for span in calls])
    typical = next(span for span in calls if span.end - span.start == middle)
    # A loop or a call whose body's operations were seen does nothing itself.
    outer = {caller for name, caller in callers(module).items() if name in seen}
    taken = seconds(typical, [span for span in operations if span.name not in outer])
    return {
        "calls": len(calls),
        "wall_s": (typical.end - typical.start) / 1e9,
        "operations": {
            name: {"class": class_of(module, known[name]), "seconds": s}
            for name, s in sorted(taken.items(), key=lambda item: -item[1])
        },
    }


def seconds(call: Span, operations: list[Span]) -> dict[str, float]:
    """Operation -> its seconds in one call; they sum up to the time in which any operation ran."""
    edges = []
    for number, span in enumerate(operations):
        if call.start <= span.start < call.end:
            edges += [(span.start, True, number), (min(span.end, call.end), False, number)]
    running: set[int] = set()
    taken: dict[str, float] = defaultdict(float)
    before = call.start
    for moment, begins, number in sorted(edges):
        for other in running:
            taken[operations[other].name] += (moment - before) / len(running) / 1e9
        before = moment
        (running.add if begins else running.discard)(number)
    return dict(taken)


def _record(call: Callable[[int], Any]) -> list[tuple[Any, dict]]:
    """Make the calls under the profiler; its events of the host, each with its statistics."""
    import jax

    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    options.host_tracer_level = 2
    with tempfile.TemporaryDirectory() as folder:
        jax.profiler.start_trace(folder, profiler_options=options)
        try:
            # The first call finds threads that the profiler has not seen yet; it is not counted.
            call(0)
            start, number = time.perf_counter(), 0
            while number < LEAST or (number < MOST and time.perf_counter() - start < SECONDS):
                with jax.profiler.TraceAnnotation(_CALL):
                    call(number)
                number += 1
            time.sleep(_LINGER_S)
        finally:
            jax.profiler.stop_trace()
        [path] = Path(folder).rglob("*.xplane.pb")
        found = jax.profiler.ProfileData.from_file(str(path))
        planes = [plane for plane in found.planes if plane.name == _PLANE]
        return [
            (event, dict(event.stats))
            for plane in planes
            for line in plane.lines
            for event in line.events
        ]


def _spans(events: list[tuple[Any, dict]]) -> tuple[list[Span], list[Span]]:
    """The calls, and every time that an operation ran.

    An operation and its end event have the same number, as the producer and the consumer of a context.
    """
    ends = {
        (told["_ct"], told["_c"]): event.start_ns
        for event, told in events
        if event.name.startswith("end: ") and "_c" in told
    }
    calls, operations = [], []
    for event, told in events:
        returned = event.start_ns + event.duration_ns
        if event.name == _CALL:
            calls.append(Span(event.name, event.start_ns, returned))
        elif "hlo_op" in told:
            end = ends.get((told.get("_pt"), told.get("_p")), returned)
            operations.append(Span(told["hlo_op"], event.start_ns, max(end, returned)))
    return calls, operations
