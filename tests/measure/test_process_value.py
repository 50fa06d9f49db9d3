"""The one value that a process gives, and which rounds count."""

from dataclasses import replace

import pytest

from measured import blocks, process
from stackwars.measure import process_value
from stackwars.measure.process_value import ProcessValue

SINGLES = (100e6, 2e6)


def value(steady_ms, wait=0.0, calls=1, singles=SINGLES, own=0.0, **others) -> ProcessValue:
    """The value of a process with these blocks (ms a call, share of waiting) after these calls (ns).

    own: the share of waiting of another process of the cell, on an idle machine.
    """
    quiet = SINGLES, blocks((1.0,) * 3, own)
    these = singles, blocks(steady_ms, wait, calls, **others)
    return process_value.of_rounds({0: these, 1: quiet}, {})[0]


def test_the_share_of_uncontended_blocks_is_kept():
    found = value((2.0, 9.0, 2.0, 9.0, 2.0, 9.0, 9.0), wait=(0.0, 0.3, 0.0, 0.3, 0.0, 0.3, 0.3))
    assert found.kept == pytest.approx(3 / 7)


@pytest.mark.parametrize("own", [0.0, 0.3])
@pytest.mark.parametrize(("share", "counts"), [(0.019, True), (0.021, False)])
def test_gate_is_two_points_over_the_wait_that_is_their_own(share, counts, own):
    found = value((1.0,) * 5, wait=own + share, own=own)
    assert found.kept == float(counts)


def test_stolen_time_is_waiting():
    stolen, quiet = blocks((1.0,) * 5), blocks((1.0,) * 5)
    stolen["steal_ns"] = [10**7] * 5
    found = process_value.of_rounds({0: (SINGLES, stolen), 1: (SINGLES, quiet)}, {})
    assert (found[0].kept, found[1].kept) == (0.0, 1.0)


@pytest.mark.parametrize(("share", "counts"), [(0.05, True), (0.06, False)])
def test_nothing_is_uncontended_beside_a_neighbour(share, counts):
    assert value((1.0,) * 5, others=share).kept == float(counts)


def test_warm_up_is_cut_off_with_its_share_of_the_gate():
    slow, steady = (50.0,) * 5, (2.0,) * 15
    found = value(slow + steady, wait=(0.5,) * 5 + (0.0,) * 15, singles=(100e6, 50e6))
    assert (found.kind, found.warmup, found.kept) == ("warm-up", 7, 1.0)


def test_slow_first_call_is_no_block():
    found = value((2.0,) * 10, singles=(900e6, 2e6))
    assert found.kind == "steady at once"


def test_value_of_a_process_is_that_of_its_events():
    one = process(first_ms=100.0, second_ms=2.0, steady_ms=(2.0, 3.0, 4.0), wait=0.01, calls=8)
    expected = value((2.0, 3.0, 4.0), wait=0.01, calls=8)
    found = process_value.of_processes([one, process(repetition=1)])[0]
    assert found == replace(expected, loops_ms=3.0)


def test_a_round_without_a_series_has_the_value_of_its_loops_alone():
    later = process(repetition=1, loops_ms=(4.0,))
    later["events"] = [event for event in later["events"] if event["event"] != "steady"]
    first, second = process_value.of_processes([process(), later]).values()
    assert (second.kept, second.kind, second.warmup, second.loops_ms) == (None, None, None, 4.0)
    assert first == process_value.of_processes([process()])[0]


def test_blocks_of_loops_tell_too_whether_a_process_is_steady():
    steady = (2.0,) * 20
    one = process(steady_ms=steady, loops_ms=(3.0,) * 20, second_ms=2.0)
    found = process_value.of_processes([one])[0]
    assert (found.kind, found.loops_ms) == ("slowing down", 3.0)
    same = process_value.of_processes([process(steady_ms=steady, second_ms=2.0)])[0]
    assert same.kind == "steady at once"
