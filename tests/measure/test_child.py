"""The timed loop, with a session whose every step a test can see."""

import hashlib
import json
import mmap
import threading
import time
import weakref

import numpy as np
import pytest

from stackwars.core.documents import Events
from stackwars.measure import calls as calls_module
from stackwars.measure import checks, loops
from stackwars.measure.calls import Stream
from stackwars.measure.frameworks import Counters

pytestmark = pytest.mark.alone

CALL_S, FENCE_S = 0.01, 0.03


class Output:
    """An output that can be watched."""


class Session:
    """A session that starts work in 10 ms and needs 30 ms more until it is done."""

    def __init__(self, compiles=(1,), trace_s=None, seconds=(CALL_S, FENCE_S)):
        self.compiles, self.trace_s, self.seconds = compiles, trace_s, seconds
        self.asked, self.compiled, self.outputs, self.alive_at_fence = [], 0, [], []

    def call(self, which):
        calls = len(self.asked)
        self.compiled += self.compiles[calls] if calls < len(self.compiles) else 0
        self.asked.append(which)
        time.sleep(self.seconds[0])
        output = Output()
        self.outputs.append(weakref.ref(output))
        return output

    def fence(self, output):
        time.sleep(self.seconds[1])
        self.alive_at_fence.append([ref() is not None for ref in self.outputs])

    def counters(self):
        trace_s = None if self.trace_s is None else self.trace_s * len(self.asked)
        return Counters(self.compiled, 10 * self.compiled, trace_s, 0.5 * self.compiled)


@pytest.fixture
def events(tmp_path):
    """An event file."""
    return Events(tmp_path / "events.jsonl")


def written(tmp_path) -> list[dict]:
    return [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]


def stream(events, session, **settings) -> Stream:
    """The calls of a session with these settings, after call 1 and call 2 of others."""
    limits = {"steady_min_blocks": 1, "steady_max_blocks": 100, "steady_seconds": 0.0}
    made = Stream(session, events, {**limits, "block_calls": 1, **settings})
    made.outputs = [Output(), Output()]
    return made


def steady(events, session, **settings):
    """The last outputs of both sets of inputs after steady calls with these settings."""
    made = stream(events, session, **settings)
    made.perform("steady")
    return made.outputs


def test_dispatch_tells_when_each_call_returned_and_when_it_was_done(events, tmp_path):
    session = Session()
    made = stream(events, session)
    outputs = made.outputs
    made.perform("dispatch")
    (told,) = written(tmp_path)
    assert session.asked[:3] == [0, 1, 0]
    assert len(told["returned_ns"]) == len(told["total_ns"]) == len(session.asked)
    assert 2 <= len(session.asked) <= calls_module.DISPATCH_S / (CALL_S + FENCE_S) + 1
    for returned_ns, total_ns in zip(told["returned_ns"], told["total_ns"], strict=True):
        assert 1e9 * CALL_S <= returned_ns <= total_ns - 1e9 * FENCE_S
    # Those of the last calls, of which values are fetched.
    alive = [ref() for ref in session.outputs if ref() is not None]
    assert {id(output) for output in outputs} == {id(output) for output in alive}


@pytest.mark.parametrize(("most_s", "calls"), [(0.0, 1), (60.0, calls_module.DISPATCHED)])
def test_dispatch_is_told_of_at_least_one_call_and_at_most_a_few_dozen(
    events, tmp_path, monkeypatch, most_s, calls
):
    monkeypatch.setattr(calls_module, "DISPATCH_S", most_s)
    stream(events, Session(seconds=(0, 0))).perform("dispatch")
    assert len(written(tmp_path)[0]["total_ns"]) == calls


def test_slow_calls_are_asked_for_neither_dispatch_nor_throughput(events, tmp_path, monkeypatch):
    monkeypatch.setattr(calls_module, "LONG_S", CALL_S)
    monkeypatch.setattr(calls_module, "THROUGHPUT_CALL_S", CALL_S)
    session = Session()
    made = Stream(session, events, {})
    made.perform("singles")
    for step in ("dispatch", "throughput"):
        made.perform(step)
    assert [event["event"] for event in written(tmp_path)] == ["first", "second"]
    assert session.asked == [0, 1]


def test_throughput_is_of_sixteen_calls_and_the_fences_of_all_come_last(events, tmp_path):
    session, started = Session(seconds=(0.001, 0)), []
    session.start = lambda: started.append(len(session.asked))
    made = stream(events, session)
    made.perform("throughput")
    (event,) = written(tmp_path)
    assert event["calls"] == 16 and len(event["ns"]) * 16 == len(session.asked)
    assert sum(event["ns"]) >= 1e9 * calls_module.THROUGHPUT_S
    # A framework that records is told to begin after every call: it would else make one program of all.
    assert started == list(range(1, len(session.asked) + 1))
    assert session.alive_at_fence[15][:16] == [True] * 16, "until their fence"
    assert made.outputs == [session.outputs[-2](), session.outputs[-1]()]


def test_loop_is_an_event_with_its_blocks_and_what_happened_in_them(events, tmp_path):
    made = stream(events, Session(seconds=(0.001, 0.001)), block_calls=3)
    longest = made.perform("loop")
    (event,) = written(tmp_path)
    assert sum(loops.counted(event)) >= 1e9 * loops.LOOP_S
    assert (event["calls"], longest) == (3, max(event["ns"]))
    assert event["at_s"] - event["began_s"] >= sum(event["ns"]) / 1e9
    assert {"run_ns", "wait_ns", "steal_ns", "minor_faults", "major_faults"} < event.keys()


def test_steps_of_several_programs_have_their_names_and_those_of_none_count_no_compilation(events, tmp_path):
    class Program:
        def call(self, which):
            return Output()

        def fence(self, output):
            pass

    made = Stream(Program(), events, {"block_calls": 1}, "jax")
    for step in ("singles", "loop"):
        made.perform(step)
    assert {event["program"] for event in written(tmp_path)} == {"jax"}
    assert not any("compiles" in event for event in written(tmp_path))


def test_page_faults_of_a_series_are_counted(events, tmp_path):
    session = Session(seconds=(0, 0))
    session.fence = lambda output: np.frombuffer(mmap.mmap(-1, 2**22), np.uint8).fill(1)
    steady(events, session, steady_min_blocks=10, steady_max_blocks=10)
    (event,) = written(tmp_path)
    assert event["minor_faults"] >= 10 * 2**22 // 2**21, "its pages may be huge ones"


def test_subnormal_numbers_are_counted():
    tiny = np.finfo(np.float32).tiny
    values = np.array([0.0, tiny, -tiny / 2, tiny / 4, 1.0], np.float32)
    assert checks.subnormals(values) == 2
    assert checks.subnormals(np.arange(3)) == 0


def test_single_call_says_what_was_compiled_in_it(events, tmp_path):
    session = Session(compiles=(1, 2), trace_s=0.004)
    calls_module.single_call(session, events, "first", 0)
    calls_module.single_call(session, events, "second", 1)
    first, second = written(tmp_path)
    assert session.asked == [0, 1]
    assert (first["compiles"], second["compiles"]) == (1, 2)
    assert (first["cache_hits"], second["cache_hits"]) == (10, 20)
    assert (first["compile_s"], second["compile_s"]) == (0.5, 1.0)
    assert first["trace_s"] == pytest.approx(0.004)


def test_trace_is_the_time_in_the_call_where_the_framework_does_not_tell(events, tmp_path):
    calls_module.single_call(Session(), events, "first", 0)
    (first,) = written(tmp_path)
    assert CALL_S <= first["trace_s"] <= first["ns"] / 1e9 - FENCE_S


@pytest.mark.parametrize(
    ("settings", "blocks"),
    [({"steady_min_blocks": 7}, 7), ({"steady_max_blocks": 9, "steady_seconds": 60.0}, 9)],
)
def test_steady_state_takes_its_numbers_of_blocks(events, tmp_path, settings, blocks):
    steady(events, Session(seconds=(0, 0)), **settings)
    assert len(written(tmp_path)[0]["ns"]) == blocks


def test_two_steady_blocks_of_slow_calls_are_enough(events, tmp_path, monkeypatch):
    monkeypatch.setattr(calls_module, "LONG_S", CALL_S)
    made = stream(events, Session(), steady_min_blocks=7)
    made.perform("singles")
    made.perform("steady")
    (event,) = (event for event in written(tmp_path) if event["event"] == "steady")
    assert len(event["ns"]) == calls_module.LONG_BLOCKS


def test_steady_state_takes_its_time(events, tmp_path):
    start = time.perf_counter()
    steady(events, Session(), steady_seconds=0.5)
    assert time.perf_counter() - start >= 0.5
    assert 5 <= len(written(tmp_path)[0]["ns"]) <= 0.5 / (CALL_S + FENCE_S) + 1
    assert written(tmp_path)[0]["seconds"] >= 0.5


def test_steady_state_counts_compilations_and_cache_hits(events, tmp_path):
    steady(events, Session(compiles=(0, 1, 0, 1), seconds=(0, 0)), steady_min_blocks=5)
    assert (written(tmp_path)[0]["compiles"], written(tmp_path)[0]["cache_hits"]) == (2, 20)


def test_block_is_all_of_its_calls_with_their_fences(events, tmp_path):
    session = Session()
    steady(events, session, block_calls=3, steady_min_blocks=2)
    (event,) = written(tmp_path)
    assert (event["calls"], len(session.asked)) == (3, 6)
    assert min(event["ns"]) >= 3e9 * (CALL_S + FENCE_S)


def test_what_the_threads_did_is_told_block_by_block(events, tmp_path):
    session = Session()
    session.fence = lambda output: [hashlib.sha256(bytes(2**20)).digest() for _ in range(20)]
    steady(events, session, steady_min_blocks=4)
    (event,) = written(tmp_path)
    for name in ("ns", "run_ns", "wait_ns", "steal_ns"):
        assert len(event[name]) == 4
    # The 10 ms before the fence are slept, the rest is worked, waited for a core, or stolen by the host.
    for ns, run_ns, wait_ns, steal_ns in zip(
        *(event[name] for name in ("ns", "run_ns", "wait_ns", "steal_ns")), strict=True
    ):
        assert 0 < run_ns < ns
        wanted_ns = ns - 1e9 * CALL_S
        assert run_ns + wait_ns < 1.3 * wanted_ns
        assert run_ns + wait_ns + steal_ns > 0.7 * wanted_ns
    assert event["threads"] == 1


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_sets_of_inputs_alternate_from_block_to_block(events, calls):
    session = Session(seconds=(0, 0))
    steady(events, session, steady_min_blocks=4, block_calls=calls)
    asked = [number % 2 for number in range(4 * calls)]
    assert session.asked == asked


def test_output_of_a_set_lives_until_its_next_call_is_fenced(events):
    # torch_xla computes nothing whose result is dropped.
    session = Session(seconds=(0, 0))
    last = steady(events, session, steady_min_blocks=3, block_calls=2)
    for number, alive in enumerate(session.alive_at_fence):
        assert alive == [False] * (number - 2) + [True] * min(3, number + 1)
    assert last == [session.outputs[-2](), session.outputs[-1]()]


def test_sample_is_a_small_output_or_the_same_positions_of_equal_shapes():
    assert checks.sample(np.arange(6.0).reshape(2, 3), 1).tolist() == [0, 1, 2, 3, 4, 5]
    values = np.arange(20_000, dtype=np.float32).reshape(100, 200)
    taken = checks.sample(values, 1)
    assert taken.shape == (checks.SAMPLE,)
    assert len(set(taken)) == checks.SAMPLE
    assert np.array_equal(checks.sample(values + 1, 1), taken + 1)
    assert not np.array_equal(checks.sample(values, 2), taken)
    counts, _ = np.histogram(taken, bins=10, range=(0, values.size))
    assert counts.min() > checks.SAMPLE / 20, "it spans the whole output"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_output_that_is_not_finite_is_refused(bad):
    values = np.array([1.0, bad])
    with pytest.raises(FloatingPointError, match="finite values from the last call"):
        checks.checked(values, "last")


# A measured process rests before the turn of the next one.


def spin(seconds: float) -> threading.Thread:
    """A thread that uses a core for so many seconds of its own time."""

    def work() -> None:
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_thread_that_still_works_is_waited_for(monkeypatch):
    monkeypatch.setattr(calls_module, "REST_S", 60.0)
    # Long enough that a pause of the machine's is not taken for the end of the work.
    monkeypatch.setattr(calls_module, "STEP_S", 0.05)
    thread = spin(0.3)
    calls_module.rest()
    assert not thread.is_alive()


def test_process_at_rest_waits_one_step():
    start = time.perf_counter()
    calls_module.rest()
    assert time.perf_counter() - start < calls_module.REST_S


def test_process_that_never_rests_is_not_waited_for_long():
    thread, start = spin(0.5), time.perf_counter()
    calls_module.rest()
    assert time.perf_counter() - start < 10 * calls_module.REST_S
    thread.join()
