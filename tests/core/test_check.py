"""Outcomes of checks, for answers of a worker that a test chooses."""

import numpy as np
import pytest

from stackwars.core import check
from stackwars.core.client import last_line
from stackwars.core.judge import Expected
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.core.program import Program

RIGHT = np.arange(64.0, dtype=np.float32).reshape(1, 64) + 1
WRONG = np.where(np.arange(64) == 9, 7, RIGHT)


class Answers:
    """A worker whose calls give these results in turn."""

    def __init__(self, *results: np.ndarray) -> None:
        self._results = iter(results)

    def load(self, name, program):
        return 1.0

    def place(self, name, arguments, which):
        pass

    def timed_call(self, name, which):
        return [next(self._results)], 1


@pytest.mark.parametrize(
    ("calls", "status", "wrong", "flaky"),
    [
        ((RIGHT, 2 * RIGHT, WRONG), Status.WRONG, 1, True),
        ((RIGHT, 2 * RIGHT, np.nextafter(RIGHT, np.float32(99))), Status.OK, 0, False),
        ((WRONG, 2 * RIGHT, WRONG), Status.WRONG, 1, False),
        ((RIGHT, 2 * WRONG, RIGHT), Status.WRONG, 1, False),
    ],
)
def test_each_call_is_judged_and_a_repeat_that_differs_is_flaky_if_it_is_wrong(calls, status, wrong, flaky):
    values = {"output0": RIGHT, "output1": 2 * RIGHT}
    expected = Expected("NumPy", limits=dict.fromkeys(values, 1e-5), values=values)
    found = check.check(Answers(*calls), Program("some", "text"), expected)
    assert (found.outcome.status, found.verdict["wrong"], found.verdict["flaky"]) == (status, wrong, flaky)
    assert found.verdict["where"] == ("9 of axis 1" if wrong else "")
    assert found.outcome.detail.startswith(("flaky: " if flaky else "") + ("1 of 64 elements" if wrong else ""))


@pytest.mark.parametrize(("weight", "status"), [(RIGHT, Status.OK), (WRONG, Status.WRONG)])
def test_the_state_is_judged_after_the_first_step_alone(weight, status):
    values = {"state/up.weight": RIGHT, "output0": RIGHT, "output1": RIGHT}
    expected = Expected("NumPy", limits=dict.fromkeys(values, 1e-5), values=values)
    steps = [(weight, RIGHT), (0 * RIGHT, RIGHT), (weight, RIGHT)]
    program = Program(
        "some", "text", named=lambda results: dict(zip(("up.weight", "output"), results[0], strict=True))
    )
    assert check.check(Answers(*steps), program, expected).outcome.status is status


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("", ""),
        ("F0000 failed: a == b\n*** Check failure stack trace: ***\n    @  0x1\n\n", "F0000 failed: a == b"),
        ("F1128 21:27:00.428704   26453 map_util.h:50] Key not found\n***\n", "map_util.h:50] Key not found"),
        ("2026-11-28 21:23:09.508130: F xla/map_util.h:50] Key not found", "xla/map_util.h:50] Key not found"),
        ('one\nFatal Python error: Segmentation fault\n  File "x.py", line 1 in f\n', "one"),
    ],
)  # fmt: skip
def test_the_last_line_is_what_was_printed_before_a_trace(log, line):
    assert last_line(log) == line


@pytest.mark.parametrize(
    ("message", "operation"),
    [
        ("failed to legalize operation 'stablehlo.fft' that was marked illegal", "stablehlo.fft"),
        ('unknown custom_call_target = "lapack_sgetrf"', "lapack_sgetrf"),
        ("no operation", ""),
    ],
)
def test_the_unsupported_operation_is_named(message, operation):
    assert check.refused(Failed(Outcome(Status.UNSUPPORTED, message))).operation == operation
