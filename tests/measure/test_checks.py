"""Each way of timing wrongly is noticed by the check that is there for it, and nothing honest is."""

import numpy as np
import pytest

from measured import CALL_MS, FLOOR_MS, honest_process
from stackwars.measure.checks import output_problems, problems, relative_l2, reported_s


def checks(found: list[str]) -> list[str]:
    return [problem.partition(":")[0] for problem in found]


def test_honest_process_has_no_problem():
    assert problems(honest_process(), FLOOR_MS) == []
    assert problems(honest_process(), None) == []


def test_blocks_of_several_calls_are_judged_by_the_call():
    steady = honest_process()["events"][3]
    block = {"ns": [10 * ns for ns in steady["ns"]], "calls": 10, "seconds": 2.004, "at_s": 102.824}
    assert problems(honest_process(steady=block, wall_s=5.0), FLOOR_MS) == []
    assert checks(problems(honest_process(steady=block, wall_s=5.0), 2 * CALL_MS)) == ["floor"]


HALVED = {"ns": [5_000_000] * 20, "seconds": honest_process()["events"][3]["seconds"] / 2}
BLOCK_PROBLEMS = {
    "unfenced calls": ({"ns": [50_000] * 20, "seconds": 0.0014, "at_s": 100.8214}, {}, ["floor"]),
    # The median of these is honest; the first three were not waited for.
    "calls that queue up until the queue is full": (
        {"ns": [50_000] * 3 + [10_000_000] * 17, "seconds": 0.1705, "at_s": 100.9905}, {}, ["floor"]),
    "one odd block in many": (
        {"ns": [3_000_000] + [10_000_000] * 99, "seconds": 0.995, "at_s": 101.815}, {}, []),
    "halved clock": (HALVED, {"ns": 400_000_000}, ["second clock", "second clock"]),
    # As if the blocks were too short for their clock to be checked.
    "halved clock of the first call": ({}, {"ns": 400_000_000}, ["second clock"]),
    "halved clock of the blocks": ({"ns": [6_000_000] * 20}, {}, ["second clock"]),
    "fast clock": ({}, {"ns": 1_600_000_000}, ["second clock"]),
    "first call from a cache": ({}, {"cache_hits": 2}, ["cache"]),
    "compilation in the steady state": ({"compiles": 3}, {}, []),
}  # fmt: skip


@pytest.mark.parametrize("case", BLOCK_PROBLEMS)
def test_wrong_first_calls_and_blocks_are_noticed_and_odd_ones_are_not(case):
    steady, first, found = BLOCK_PROBLEMS[case]
    assert checks(problems(honest_process(steady=steady, first=first), FLOOR_MS)) == found


def test_short_blocks_are_not_taken_for_a_slow_clock():
    # The meters take longer to read than such a block.
    steady = {"ns": [40_000] * 20, "seconds": 0.004, "at_s": 100.824}
    assert problems(honest_process(steady=steady), 0.001) == []


def test_more_time_in_calls_than_the_parent_saw_is_noticed():
    assert checks(problems(honest_process(wall_s=1.0), FLOOR_MS)) == ["wall clock"]
    assert reported_s(honest_process()) == pytest.approx(1.01)


@pytest.mark.parametrize(("run_ns", "found"), [([9_900_000] * 20, []), ([19_000_000] * 20, ["cores"])])
def test_more_cores_used_than_the_device_has_are_noticed(run_ns, found):
    assert checks(problems(honest_process(steady={"run_ns": run_ns}), FLOOR_MS)) == found
    assert problems(honest_process(steady={"run_ns": run_ns}, device="cpu"), FLOOR_MS) == []


def test_process_that_is_not_pinned_to_one_core_is_noticed():
    both = {"affinity": [0, 1]}
    assert checks(problems(honest_process(timed=both), FLOOR_MS)) == ["cores"]
    assert problems(honest_process(run=both, timed=both, device="cpu"), FLOOR_MS) == []


def test_process_of_a_replay_is_judged_too():
    replay = honest_process()
    names = ("first", "second", "steady")
    replay["events"] = [
        {k: v for k, v in event.items() if k not in ("compiles", "cache_hits", "seconds")}
        | ({"program": "jax"} if event["event"] in names else {})
        for event in replay["events"]
    ]
    assert problems(replay, FLOOR_MS) == []
    assert checks(problems(replay, 2 * CALL_MS)) == ["floor"]
    assert checks(problems({**replay, "wall_s": 0.5}, FLOOR_MS)) == ["wall clock"]


@pytest.mark.parametrize(("ns", "found"), [(100_000_000, []), (50_000_000, ["second clock"])])
def test_halved_clock_of_a_loop_is_noticed(ns, found):
    made = honest_process()
    loop = {"event": "loop", "ns": [ns] * 2, "began_s": 103.0, "at_s": 103.2, "calls": 10, "dropped": 0}
    made["events"].insert(4, loop)
    assert checks(problems(made, FLOOR_MS)) == found


def test_outputs_that_are_the_same_for_other_inputs_or_unexpected_are_noticed():
    sample = np.random.default_rng(0).standard_normal(8).astype(np.float32)
    same = np.tile(sample[:4], 2)
    assert output_problems(sample) == []
    assert checks(output_problems(same)) == ["inputs"]


@pytest.mark.parametrize(
    ("values", "baseline", "error"),
    [
        ([0.0, 4.0], [3.0, 4.0], 0.6),  # ||(0, 4) - (3, 4)|| / ||(3, 4)|| = 3/5
        ([1.0, 1.0], [1.0, 1.0], 0.0),
        ([3.0, 4.0], [0.0, 0.0], 5.0),  # absolute if the baseline is zero
        ([1.0], [1.0, 1.0], np.inf),  # another shape
        ([1.0, np.nan], [1.0, 1.0], np.inf),
        ([np.inf, np.inf], [1.0, 1.0], np.inf),
        ([1.0, 1.0], [1.0, np.nan], np.inf),
    ],
)
def test_relative_l2_by_hand(values, baseline, error):
    assert relative_l2(np.array(values), np.array(baseline)) == pytest.approx(error)


def test_error_of_small_differences_is_not_lost_in_float32():
    big = np.full(4, 1e4, np.float32)
    assert relative_l2(np.nextafter(big, np.float32(np.inf)), big) == pytest.approx(1e-7, rel=0.1)
