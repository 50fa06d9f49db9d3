"""A measured process rests before the turn of the next one."""

import threading
import time

import pytest

from stackwars.measure import calls

pytestmark = pytest.mark.alone


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
    monkeypatch.setattr(calls, "REST_S", 60.0)
    # Long enough that a pause of the machine's is not taken for the end of the work.
    monkeypatch.setattr(calls, "STEP_S", 0.05)
    thread = spin(0.3)
    calls.rest()
    assert not thread.is_alive()


def test_process_at_rest_waits_one_step():
    start = time.perf_counter()
    calls.rest()
    assert time.perf_counter() - start < calls.REST_S


def test_process_that_never_rests_is_not_waited_for_long():
    thread, start = spin(0.5), time.perf_counter()
    calls.rest()
    assert time.perf_counter() - start < 10 * calls.REST_S
    thread.join()
