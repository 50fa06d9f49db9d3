"""That the check of traces finds what Perfetto would show wrong."""

import pytest

import trace_format

NAMES = [
    {"ph": "M", "pid": 1, "tid": 1, "name": "process_name", "args": {"name": "JAX"}},
    {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "operations"}},
]


def slice_(ts: float, dur: float, **changes) -> dict:
    return {"ph": "X", "pid": 1, "tid": 1, "name": "dot", "cat": "x", "ts": ts, "dur": dur} | changes


def problems(*events, names=NAMES) -> list[str]:
    return trace_format.problems({"traceEvents": [*names, *events]})


def test_slices_that_follow_or_hold_each_other_are_right():
    assert problems(*(slice_(*one) for one in [(0, 4), (1, 2), (2, 0.5), (3.5, 0.5), (4, 0), (4.5, 3)])) == []


# A thousand times 1.001 is cut off to 1000.
@pytest.mark.parametrize("slices", [[(0, 2), (1, 2)], [(0, 1), (0, 2)], [(1, 0), (1.001, 1)]])
def test_slices_that_overlap_are_wrong(slices):
    [found] = problems(*(slice_(*one) for one in slices))
    assert "overlaps" in found


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (slice_(0, 1, tid=0), "process or thread [1, 0]"),
        (slice_(0, 1, tid=2), "no name before it"),
        (slice_(0, 1, pid=2), "thread 1 is of processes 1 and 2"),
        (slice_(-1, 1, name=""), "expected a name, and times from 0"),
        ({**NAMES[0], "args": {}}, "metadata without its argument"),
        ({**slice_(0, 1), "ph": "B"}, "the keys of its phase"),
    ],
)
def test_what_else_is_wrong_is_told(event, told):
    assert told in problems(event)[0]
