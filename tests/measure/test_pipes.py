"""What a process and its parent say to each other, and that a process rests before the next one's turn."""

import io
import os
import threading
import time

import pytest

from stackwars.measure import pipes

pytestmark = pytest.mark.alone


def test_commands_are_performed_one_after_the_other_and_answered(monkeypatch):
    reader, writer = os.pipe()
    monkeypatch.setenv(pipes.REPLY, str(writer))
    monkeypatch.setattr("sys.stdin", io.StringIO("singles\nloop jax\n"))
    performed = []

    def perform(step: str, program: str) -> int:
        performed.append((step, program))
        return len(performed)

    pipes.obey(perform)
    assert performed == [("singles", ""), ("loop", "jax")]
    with os.fdopen(reader) as answers:
        assert answers.read().split() == ["ready", "1", "2"]


def test_a_child_that_was_not_started_or_has_ended_answers_nothing():
    control = pipes.Control()
    control.attach(None)
    assert (control.answer(), control.command("loop")) == ("", "")
    control.finish()


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
    monkeypatch.setattr(pipes, "REST_S", 60.0)
    # Long enough that a pause of the machine's is not taken for the end of the work.
    monkeypatch.setattr(pipes, "STEP_S", 0.05)
    thread = spin(0.3)
    pipes.rest()
    assert not thread.is_alive()


def test_process_at_rest_waits_one_step():
    start = time.perf_counter()
    pipes.rest()
    assert time.perf_counter() - start < pipes.REST_S


def test_process_that_never_rests_is_not_waited_for_long():
    thread, start = spin(0.5), time.perf_counter()
    pipes.rest()
    assert time.perf_counter() - start < 10 * pipes.REST_S
    thread.join()
