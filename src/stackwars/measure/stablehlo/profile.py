"""Divide the time of a compiled program's call among its operations: profiler events joined with the optimised HLO.

The thunks of XLA's CPU runtime carry the name of their HLO operation. A thunk may return before its work is done, so
an operation lasts until its `end: <name>` event; operations that run at once share the time equally. Profiled calls
are additional calls: no table has their times.

JAX's platform must be set before its import: if JAX has loaded libtpu, the profiler of jaxlib 0.10.2 calls libtpu's
and the process dies.
"""

from __future__ import annotations

import bisect
import re
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from stackwars.core import hlo
from stackwars.core.hlo import callers, class_of
from stackwars.measure.loops import LONG_S

LEAST, MOST = 3, 25
"""Blocks of profiled calls of each program; one is enough if a call takes over LONG_S in the mean."""
SECONDS = 0.5
"""Seconds for each program after which no block follows the first LEAST."""
DESCRIBED = 20
"""Number of the longest operations whose opcode, type and line are recorded: a page lists no more."""
MOST_SPANS = 5_000
"""A call with more operations, such as a loop's, has no record of when each ran."""
_LINE = re.compile(r'source_file="-" source_line=(\d+)')
_CALL = "stackwars call of "
_PLANE = "/host:CPU"
_LINGER_S = 0.02  # the last operation's end event may come after its result


class Span(NamedTuple):
    """Start and end of an operation or a call, in ns on the profiler's clock."""

    name: str
    start: float
    end: float


class Call(NamedTuple):
    """One profiled call with its operations; an operation may end after the call."""

    span: Span
    operations: list[Span]


def record(calls: Mapping[str, Callable[[int], Any]], block: int) -> dict[str, list[Call]]:
    """Return the profiled calls of each program, interleaved in blocks as in the timed part of a replay.

    calls: functions that make one fenced call with this number. block: calls in a block.

    :raises ValueError: if the profiler saw no call of a program.
    """
    result: dict[str, list[Call]] = {name: [] for name in calls}
    for call in _joined(*_spans(_events(calls, block))):
        result[call.span.name].append(call)
    for name, some in result.items():
        if not some:
            raise ValueError(f"expected events of the profiled calls of {name}, got none")
    return result


def profile(calls: list[Call], text: str) -> dict:
    """Return the call of median wall time: {"calls", "wall_s", "operations": {name: {"class", "seconds"}}, "spans"}.

    Operations are leaves, the longest first; the rest of the wall time is dispatch. The longest DESCRIBED ones have
    their "text" (opcode and type) and the "line" of the program that they are from, None if the text has none.
    spans: [operation, start, end], in seconds from the start of the call, by start. text: the optimised HLO.

    :raises ValueError: if an operation is not in the text.
    """
    module = hlo.read(text)
    known = {i.name: i for c in module.computations.values() for i in c.instructions.values()}
    middle = statistics.median_low([_wall(call) for call in calls])
    typical = next(call for call in calls if _wall(call) == middle)
    seen = {span.name for span in typical.operations}
    if unknown := sorted(seen - set(known)):
        raise ValueError(
            f"expected operations of the optimised program, got {unknown[:3]}: the text is from another compilation"
        )
    # A loop or a call takes no time besides the operations of its body.
    outer = {caller for name, caller in callers(module).items() if name in seen}
    typical = Call(typical.span, [span for span in typical.operations if span.name not in outer])
    return {
        "calls": len(calls),
        "wall_s": middle / 1e9,
        "operations": {
            name: {"class": class_of(module, known[name]), "seconds": s}
            | (described(known[name]) if place < DESCRIBED else {})
            for place, (name, s) in enumerate(sorted(seconds(typical).items(), key=lambda item: -item[1]))
        },
        "spans": _relative_spans(typical),
    }


def described(instruction: hlo.Instruction) -> dict[str, str | int | None]:
    """Return opcode and type of an operation, and the line of the program's text that it is from."""
    types = [f"{array.dtype}[{','.join(map(str, array.extents))}]" for array in instruction.arrays]
    line = _LINE.search(instruction.attributes)
    return {"text": " ".join([instruction.opcode, *types]), "line": int(line[1]) if line else None}


def _relative_spans(call: Call) -> list[list]:
    """Return when each operation ran; nothing if there are more than MOST_SPANS."""
    if len(call.operations) > MOST_SPANS:
        return []
    begin, end = call.span.start, call.span.end
    return [
        [span.name, (span.start - begin) / 1e9, (min(span.end, end) - begin) / 1e9]
        for span in sorted(call.operations, key=lambda span: span.start)
    ]


def _wall(call: Call) -> float:
    return call.span.end - call.span.start


def seconds(call: Call) -> dict[str, float]:
    """Return {operation: its seconds in a call}; they sum to the time in which any operation ran."""
    edges = []
    for number, span in enumerate(call.operations):
        edges += [(span.start, True, number), (min(span.end, call.span.end), False, number)]
    running: set[int] = set()
    taken: dict[str, float] = defaultdict(float)
    before = call.span.start
    for moment, begins, number in sorted(edges):
        for other in running:
            taken[call.operations[other].name] += (moment - before) / len(running) / 1e9
        before = moment
        (running.add if begins else running.discard)(number)
    return dict(taken)


def _joined(calls: list[Span], operations: list[Span]) -> list[Call]:
    """Return every call with the operations that began in it."""
    result = [Call(span, []) for span in sorted(calls, key=lambda span: span.start)]
    starts = [call.span.start for call in result]
    for span in operations:
        place = bisect.bisect(starts, span.start) - 1
        if place >= 0 and span.start < result[place].span.end:
            result[place].operations.append(span)
    return result


def _events(calls: Mapping[str, Callable[[int], Any]], block: int) -> list[tuple[Any, dict]]:
    """Make the calls under the profiler; return its host events, each with its statistics."""
    import jax

    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    options.host_tracer_level = 2
    with tempfile.TemporaryDirectory() as folder:
        jax.profiler.start_trace(folder, profiler_options=options)
        try:
            # The first calls find threads that the profiler has not seen yet; they are not counted.
            start, blocks = time.perf_counter(), 0
            for call in calls.values():
                call(0)
            least = 1 if time.perf_counter() - start > LONG_S * len(calls) else LEAST
            start = time.perf_counter()
            while blocks < least or (blocks < MOST and time.perf_counter() - start < SECONDS * len(calls)):
                for name, call in calls.items():
                    for number in range(blocks * block, (blocks + 1) * block):
                        with jax.profiler.TraceAnnotation(_CALL + name):
                            call(number)
                blocks += 1
            time.sleep(_LINGER_S)
        finally:
            jax.profiler.stop_trace()
        [path] = Path(folder).rglob("*.xplane.pb")
        result = jax.profiler.ProfileData.from_file(str(path))
        planes = [plane for plane in result.planes if plane.name == _PLANE]
        return [(event, dict(event.stats)) for plane in planes for line in plane.lines for event in line.events]


def _spans(events: list[tuple[Any, dict]]) -> tuple[list[Span], list[Span]]:
    """Return the calls, named by their program, and the runs of operations.

    An operation and its end event have the same number, as the producer and the consumer of a context.
    """
    ends = {
        (stats["_ct"], stats["_c"]): event.start_ns
        for event, stats in events
        if event.name.startswith("end: ") and "_c" in stats
    }
    calls, operations = [], []
    for event, stats in events:
        returned = event.start_ns + event.duration_ns
        if event.name.startswith(_CALL):
            calls.append(Span(event.name.removeprefix(_CALL), event.start_ns, returned))
        elif "hlo_op" in stats:
            end = ends.get((stats.get("_pt"), stats.get("_p")), returned)
            operations.append(Span(stats["hlo_op"], event.start_ns, max(end, returned)))
    return calls, operations
