"""The timed calls of one program in the process that is measured, and the order in which they come.

A session here is whatever has `call` and `fence` (see `stackwars.measure.frameworks`): a framework's session, or a
program that a compiler of StableHLO loaded.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from stackwars.core.contention import Meter, Usage
from stackwars.core.documents import Events
from stackwars.measure.loops import LONG_S, LOOP_S, run_loop

SINGLES, STEADY, WARM, DISPATCH, THROUGHPUT = "singles", "steady", "warm", "dispatch", "throughput"
LOOP = "loop"
"""Steps that a parent may request: the names of methods of `Stream`."""
ALONE = (SINGLES, STEADY, DISPATCH)
"""Steps of a process that takes no turns with others."""
DISPATCHED = 32
DISPATCH_S = 0.2
"""Maximum number of calls that `Stream.dispatch` times, and of seconds in which they begin."""
UNFENCED = 16
"""Calls before a fence where throughput is measured."""
THROUGHPUT_S = 0.2
THROUGHPUT_CALL_S = 0.05
"""Throughput is measured if a call takes less than this: in a longer call the fence does not matter."""
LONG_BLOCKS = 2
"""Steady blocks that are enough if a call takes over LONG_S."""
REST_S = 0.05
STEP_S = 0.001
IDLE_SHARE = 0.2
"""A process is at rest if it used less than this share of a core during a step."""


def timed_call(session: Any, which: int) -> tuple[Any, int, int]:
    """Time one fenced call; return (output, nanoseconds until call() returned, nanoseconds until the fence did)."""
    start = time.perf_counter_ns()
    output = session.call(which)
    returned = time.perf_counter_ns()
    session.fence(output)
    return output, returned - start, time.perf_counter_ns() - start


def single_call(session: Any, events: Events, name: str, which: int, **what: Any) -> tuple[Any, int]:
    """Time one call, write its parts and the fields `what` as an event; return its output and ns."""
    before, began_s = _counters(session), time.time()
    try:
        output, returned_ns, total_ns = timed_call(session, which)
    except Exception as error:
        # Distinguishes a refusal by the compiler from one by the program that it built.
        error.compiles = before and session.counters().since(before).compiles
        raise
    done = {}
    if before:
        change = session.counters().since(before)
        trace_s = change.trace_s
        if trace_s is None and change.compiles is not None:
            # Such a framework only records during the call, so this time is tracing.
            trace_s = returned_ns / 1e9
        counts = {key: getattr(change, key) for key in ("compiles", "cache_hits", "compile_s")}
        done = {"returned_ns": returned_ns, **counts, "trace_s": trace_s}
    events.write(name, ns=total_ns, began_s=began_s, **done, **what)
    return output, total_ns


def block(session: Any, calls: int, first: int, outputs: list[Any]) -> int:
    """Return the nanoseconds of consecutive fenced calls on alternating sets of inputs, beginning with set `first`.

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


class Faults(NamedTuple):
    """Page faults of all threads: minor ones find the page in memory, major ones read it from the disk."""

    minor_faults: int
    major_faults: int

    def since(self, earlier: Faults) -> Faults:
        """Return the faults between an earlier reading and this one."""
        return Faults(self.minor_faults - earlier.minor_faults, self.major_faults - earlier.major_faults)


def page_faults() -> Faults:
    """Return the page faults of this process since its start."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return Faults(usage.ru_minflt, usage.ru_majflt)


class Stream:
    """The calls of one program of this process: call 1, call 2, and then blocks of calls."""

    def __init__(
        self,
        session: Any,
        events: Events,
        settings: dict,
        program: str = "",
        after: Callable[[int, Any], None] = lambda which, output: None,
    ) -> None:
        """settings: a ProcessJob's. program: its name if a process has several. after: called with the set of inputs
        and the output of each of the first two calls, once it is timed.
        """
        self.session, self.events, self.settings = session, events, settings
        self.outputs: list[Any] = []
        """The last output of each set of inputs."""
        self._after = after
        self._labels = {"program": program} if program else {}
        self._blocks = 0
        self._call_ns = 0.0
        self._meter: Meter | None = None

    def perform(self, step: str) -> int:
        """Take one step: SINGLES, STEADY, WARM, DISPATCH, THROUGHPUT or LOOP; return the ns of its longest block,
        0 without one."""
        return getattr(self, step)()

    def singles(self) -> int:
        """Time call 1 and call 2, each on its own set of inputs."""
        longest = 0
        for which, name in enumerate(("first", "second")):
            output, ns = single_call(self.session, self.events, name, which, **self._labels)
            self.outputs.append(output)
            longest, self._call_ns = max(longest, ns), ns
            self._after(which, output)
        return longest

    def block(self) -> int:
        """Run the next block and return its ns."""
        calls = self.settings["block_calls"]
        # An odd number of calls would otherwise give one set of inputs more of them.
        first = self._blocks * calls % len(self.outputs)
        self._blocks += 1
        ns = block(self.session, calls, first, self.outputs)
        self._call_ns = ns / calls
        return ns

    def steady(self) -> int:
        """Time an undisturbed series of blocks until the settings are satisfied."""
        settings, samples, used = self.settings, [], []
        before, faults, meter, outside_s = _counters(self.session), page_faults(), Meter(), 0.0
        least = settings["steady_min_blocks"]
        if self._call_ns > 1e9 * LONG_S:
            least = min(least, LONG_BLOCKS)
        began_s, start = time.time(), time.perf_counter()
        while len(samples) < settings["steady_max_blocks"]:
            enough = time.perf_counter() - start >= settings["steady_seconds"]
            if enough and len(samples) >= least:
                break
            pause = time.perf_counter()
            meter.read()
            outside_s += time.perf_counter() - pause
            samples.append(self.block())
            pause = time.perf_counter()
            used.append(meter.read())
            outside_s += time.perf_counter() - pause
        others_share, seconds = meter.other_processes_share(), time.perf_counter() - start
        done = {}
        if before:
            change = self.session.counters().since(before)
            done = {"compiles": change.compiles, "cache_hits": change.cache_hits}
        self.events.write(
            "steady",
            ns=samples,
            calls=settings["block_calls"],
            **{f"{name}_ns": [getattr(usage, name) for usage in used] for name in Usage._fields},
            **page_faults().since(faults)._asdict(),
            began_s=began_s,
            seconds=seconds,
            outside_s=outside_s,
            other_processes_share=others_share,
            threads=meter.workers(),
            **done,
            **self._labels,
        )
        return max(samples)

    def warm(self) -> int:
        """Run blocks for LOOP_S, at least one, and record none: in a round without a series, loops begin warm too."""
        start, longest = time.perf_counter(), 0
        while not longest or time.perf_counter() - start < LOOP_S:
            longest = max(longest, self.block())
        return longest

    def loop(self) -> int:
        """Run one loop, see `stackwars.measure.loops`."""
        self._meter = self._meter or Meter()
        self._meter.read()
        faults, began_s = page_faults(), time.time()
        ns, dropped = run_loop(self.block)
        used = self._meter.read()
        self.events.write(
            LOOP,
            ns=ns,
            calls=self.settings["block_calls"],
            dropped=dropped,
            **{f"{name}_ns": value for name, value in used._asdict().items()},
            **page_faults().since(faults)._asdict(),
            began_s=began_s,
            **self._labels,
        )
        return max(ns)

    def dispatch(self) -> int:
        """Time single calls: until each had returned, and until it was done; none if a call takes over LONG_S.

        They are separate from the blocks, because a clock that is read between call and fence is part of what it times.
        """
        if self._call_ns > 1e9 * LONG_S:
            return 0
        returned, done = [], []
        start = time.perf_counter()
        while not done or (len(done) < DISPATCHED and time.perf_counter() - start < DISPATCH_S):
            which = len(done) % len(self.outputs)
            self.outputs[which], returned_ns, total_ns = timed_call(self.session, which)
            returned.append(returned_ns)
            done.append(total_ns)
        self.events.write("dispatch", returned_ns=returned, total_ns=done, **self._labels)
        return max(done)

    def throughput(self) -> int:
        """Time batches of UNFENCED calls with one fence at the end; none if a call takes over THROUGHPUT_CALL_S."""
        if self._call_ns > 1e9 * THROUGHPUT_CALL_S:
            return 0
        session, ns = self.session, []
        start_work = getattr(session, "start", lambda: None)
        while sum(ns) < 1e9 * THROUGHPUT_S:
            pending: list[Any] = []
            start = time.perf_counter_ns()
            for number in range(UNFENCED):
                # Every output stays alive: torch_xla computes nothing whose result is dropped.
                pending.append(session.call(number % len(self.outputs)))
                start_work()  # a framework that records would else make one program of all calls
            for output in pending:
                session.fence(output)
            ns.append(time.perf_counter_ns() - start)
            self.outputs[:] = pending[-len(self.outputs) :]
        self.events.write("throughput", ns=ns, calls=UNFENCED, **self._labels)
        return max(ns)


class Measurement:
    """The commands of a process that measures: `build`, `perform` for each step, `finish`; or `run` for all of them.

    The numbers go into the event file, which the parent reads after the process has ended.
    """

    def __init__(self, work: Iterator[dict[str, Stream]], events: Events, alone: Sequence[str]) -> None:
        """work: prepares, yields the streams by the name of their program ("" for the only one), and goes on after the
        last call. alone: the steps of each stream in a process that takes no turns with others.
        """
        self._work, self._events, self._alone = work, events, alone

    def build(self) -> None:
        """Do everything that comes before the first call."""
        self._streams = next(self._work)

    def perform(self, step: str, stream: str) -> int:
        """Take one step of a stream; return the ns of its longest block, 0 without a stream, once all is at rest."""
        longest_ns = self._streams[stream].perform(step) if stream in self._streams else 0
        rest()
        return longest_ns

    def finish(self) -> None:
        """Do everything that comes after the last call."""
        next(self._work, None)
        self._events.write("end")

    def run(self) -> None:
        """Measure without turns."""
        self.build()
        for stream in self._streams.values():
            for step in self._alone:
                stream.perform(step)
        self.finish()


def rest() -> None:
    """Wait until no thread of this process works any more, REST_S at most.

    PyTorch's OpenMP threads look for more work for about 4 ms after a call (libgomp, on two cores), which
    would be taken from the other process's turn.
    """
    end = time.perf_counter() + REST_S
    while time.perf_counter() < end:
        used, start = time.process_time(), time.perf_counter()
        time.sleep(STEP_S)
        if time.process_time() - used < IDLE_SHARE * (time.perf_counter() - start):
            return


def _counters(session: Any) -> Any:
    """Return the counters of a framework's session; None for a loaded program, which compiles nothing more."""
    return session.counters() if hasattr(session, "counters") else None
