"""The estimator: which blocks of a loop count, which loops are a pair, and the ratio of a round."""

import pytest

from measured import process
from stackwars.measure import loops
from stackwars.measure.loops import LONG_S, LOOP_S, SETTLE_S


def ran(block_s) -> tuple[list[int], int]:
    """A loop whose blocks take so many seconds: all the same, or one after the other."""
    now_ns = 0
    durations = iter(block_s) if isinstance(block_s, list) else None

    def block() -> int:
        nonlocal now_ns
        ns = round(1e9 * (block_s if durations is None else next(durations)))
        now_ns += ns
        return ns

    return loops.run_loop(block, lambda: now_ns)


@pytest.mark.parametrize("block_s", [0.0001, 0.01, 0.03])
def test_blocks_that_begin_before_the_loop_has_settled_are_dropped_and_the_others_last_long_enough(block_s):
    ns, dropped = ran(block_s)
    began = [block_s * number for number in range(len(ns))]
    assert [start < SETTLE_S - 1e-9 for start in began] == [True] * dropped + [False] * (len(ns) - dropped)
    assert LOOP_S <= sum(ns[dropped:]) / 1e9 + 1e-6 < LOOP_S + 2 * block_s


def test_a_block_longer_than_the_loop_is_counted_once_after_one_that_is_dropped():
    assert ran([0.4, 0.3]) == ([400_000_000, 300_000_000], 1)


def test_of_blocks_over_a_second_none_is_dropped_and_one_is_enough():
    assert ran([LONG_S + 0.1]) == ([round(1e9 * (LONG_S + 0.1))], 0)


def loop(*ns: int, dropped: int = 0, calls: int = 1, **labels: str) -> dict:
    return {"event": "loop", "ns": list(ns), "dropped": dropped, "calls": calls, **labels}


def test_value_of_a_loop_is_the_median_of_a_call_in_the_blocks_that_count():
    assert loops.loop_ms(loop(99_000_000, 2_000_000, 4_000_000, 90_000_000, dropped=1, calls=2)) == 2.0


def test_drift_of_the_machine_is_no_difference():
    """It slows down all the time: each pair has a ratio of 2, the medians of the sides have not."""
    ours, theirs = [[loop(round(1e6 * f * ms)) for ms in (1, 5, 10)] for f in (2, 1)]
    assert loops.pairs(ours, theirs) == [(2.0, 1.0), (10.0, 5.0), (20.0, 10.0)]
    assert loops.round_ratio(loops.pairs(ours, theirs)) == 2.0
    assert loops.side_ms(ours) == 10.0
    assert loops.round_ratio(loops.pairs(ours[1:], theirs)) != 2.0


def test_a_loop_without_its_neighbour_is_no_pair():
    assert loops.pairs([loop(1), loop(2)], [loop(1)]) == [(1e-6, 1e-6)]
    assert loops.pairs([loop(1)], []) == []


def test_loops_are_those_of_one_program():
    of_two = {**process(), "events": [loop(1, program="jax"), loop(2, program="numpy"), loop(3, program="jax")]}
    assert [event["ns"] for event in loops.loops_of(of_two, "jax")] == [[1], [3]]
    assert loops.loops_of(of_two) == []
