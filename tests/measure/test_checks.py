"""Each way of timing wrongly is noticed by the check that is there for it, and nothing honest is."""

import numpy as np
import pytest

from audits.made import CALL_MS, FLOOR_MS, process
from stackwars.measure.checks import output_problems, parity, problems, relative_l2, reported_s


def checks(found: list[str]) -> list[str]:
    return [problem.partition(":")[0] for problem in found]


def test_honest_process_has_no_problem():
    assert problems(process(), FLOOR_MS) == []
    assert problems(process(), None) == []


def test_blocks_of_several_calls_are_judged_by_the_call():
    steady = process()["events"][3]
    block = {"ns": [10 * ns for ns in steady["ns"]], "calls": 10, "seconds": 2.004, "at_s": 102.824}
    assert problems(process(steady=block, wall_s=5.0), FLOOR_MS) == []
    assert checks(problems(process(steady=block, wall_s=5.0), 2 * CALL_MS)) == ["floor"]


def test_unfenced_calls_are_below_the_floor():
    ns = [50_000] * 20
    steady = {"ns": ns, "seconds": 0.0014, "at_s": 100.8214}
    assert checks(problems(process(steady=steady), FLOOR_MS)) == ["floor"]


def test_calls_that_queue_up_until_the_queue_is_full_are_below_the_floor():
    # The median of these is honest; the first three were not waited for.
    ns = [50_000] * 3 + [10_000_000] * 17
    steady = {"ns": ns, "seconds": 0.1705, "at_s": 100.9905}
    assert checks(problems(process(steady=steady), FLOOR_MS)) == ["floor"]


def test_one_odd_block_in_many_is_no_problem():
    ns = [3_000_000] + [10_000_000] * 99
    steady = {"ns": ns, "seconds": 0.995, "at_s": 101.815}
    assert problems(process(steady=steady), FLOOR_MS) == []


def test_more_time_in_calls_than_the_parent_saw_is_noticed():
    assert checks(problems(process(wall_s=1.0), FLOOR_MS)) == ["wall clock"]
    assert reported_s(process()) == pytest.approx(1.01)


def test_halved_clock_is_noticed():
    halved = {"ns": [5_000_000] * 20, "seconds": process()["events"][3]["seconds"] / 2}
    found = problems(process(first={"ns": 400_000_000}, steady=halved), FLOOR_MS)
    assert checks(found) == ["second clock", "second clock"]


def test_halved_clock_is_noticed_in_the_first_call_alone():
    # As where the blocks are too short for their clock to be checked.
    assert checks(problems(process(first={"ns": 400_000_000}), FLOOR_MS)) == ["second clock"]


def test_clock_of_the_blocks_alone_is_noticed():
    assert checks(problems(process(steady={"ns": [6_000_000] * 20}), FLOOR_MS)) == ["second clock"]


def test_fast_clock_is_noticed():
    assert checks(problems(process(first={"ns": 1_600_000_000}), FLOOR_MS)) == ["second clock"]


def test_short_blocks_are_not_taken_for_a_slow_clock():
    # The meters take longer to read than such a block.
    steady = {"ns": [40_000] * 20, "seconds": 0.004, "at_s": 100.824}
    assert problems(process(steady=steady), 0.001) == []


@pytest.mark.parametrize(("run_ns", "found"), [([9_900_000] * 20, []), ([19_000_000] * 20, ["cores"])])
def test_more_cores_used_than_the_device_has_are_noticed(run_ns, found):
    assert checks(problems(process(steady={"run_ns": run_ns}), FLOOR_MS)) == found
    assert problems(process(steady={"run_ns": run_ns}, device="cpu"), FLOOR_MS) == []


def test_process_that_is_not_pinned_to_one_core_is_noticed():
    both = {"affinity": [0, 1]}
    assert checks(problems(process(timed=both), FLOOR_MS)) == ["cores"]
    assert problems(process(run=both, timed=both, device="cpu"), FLOOR_MS) == []


def test_first_call_from_a_cache_is_noticed():
    assert checks(problems(process(first={"cache_hits": 2}), FLOOR_MS)) == ["cache"]


def test_compilation_in_the_steady_state_is_no_problem():
    assert problems(process(steady={"compiles": 3}), FLOOR_MS) == []


def test_process_of_a_replay_is_judged_too():
    replay = process()
    names = ("first", "second", "steady")
    replay["events"] = [
        {k: v for k, v in event.items() if k not in ("compiles", "cache_hits", "seconds")}
        | ({"program": "jax"} if event["event"] in names else {})
        for event in replay["events"]
    ]
    assert problems(replay, FLOOR_MS) == []
    assert checks(problems(replay, 2 * CALL_MS)) == ["floor"]
    assert checks(problems({**replay, "wall_s": 0.5}, FLOOR_MS)) == ["wall clock"]


def test_halved_clock_of_a_replay_is_noticed():
    replay = process()
    steady = replay["events"][3]
    halved = steady.pop("seconds") / 2
    steady["ns"] = [ns // 2 for ns in steady["ns"]]
    whole = {"event": "steady all", "at_s": steady["at_s"], "seconds": halved}
    replay["events"].insert(3, whole)
    assert checks(problems(replay, FLOOR_MS)) == ["second clock"]
    whole["seconds"] = 2 * halved
    assert problems(replay, FLOOR_MS) == []


@pytest.fixture
def sample() -> np.ndarray:
    """Output samples of two sets of inputs."""
    return np.random.default_rng(0).standard_normal(8).astype(np.float32)


def test_right_output_has_no_problem(sample):
    assert output_problems(sample) == []
    assert output_problems(sample, sample + 1e-9, 1e-5) == []


def test_same_output_for_different_inputs_is_noticed(sample):
    same = np.tile(sample[:4], 2)
    assert checks(output_problems(same)) == ["inputs"]
    assert checks(output_problems(same, sample, 1e-5)) == ["inputs", "output"]


def test_output_unlike_what_is_expected_is_noticed(sample):
    assert checks(output_problems(sample, 1.001 * sample, 1e-5)) == ["output"]


ONES = np.ones(4, np.float32)


def test_relative_l2_by_hand():
    # ||(0, 4) - (3, 4)|| / ||(3, 4)|| = 3/5
    assert relative_l2(np.array([0.0, 4.0]), np.array([3.0, 4.0])) == pytest.approx(0.6)


def test_equal_values_have_no_error():
    assert relative_l2(ONES, ONES.copy()) == 0.0


def test_error_of_small_differences_is_not_lost_in_float32():
    big = np.full(4, 1e4, np.float32)
    assert relative_l2(np.nextafter(big, np.float32(np.inf)), big) == pytest.approx(1e-7, rel=0.1)


def test_baseline_of_zeros_gives_the_absolute_error():
    assert relative_l2(np.array([3.0, 4.0]), np.zeros(2)) == pytest.approx(5.0)


@pytest.mark.parametrize(
    "values", [np.ones(3), np.ones((2, 2)), np.array([1, 1, 1, np.nan]), np.full(4, np.inf)]
)
def test_other_shapes_and_values_not_finite_are_infinitely_far(values):
    assert relative_l2(values, ONES) == float("inf")


def test_values_not_finite_in_the_baseline_are_infinitely_far():
    assert relative_l2(ONES, np.array([1, 1, 1, np.nan])) == float("inf")


def test_parity_is_against_the_baseline_which_has_the_largest():
    outputs = {"a": 1.5 * ONES, "base": ONES, "b": 1.25 * ONES}
    errors = parity(outputs, {"a": "base", "b": "base"})
    assert errors == pytest.approx({"base": 0.5, "a": 0.5, "b": 0.25})


def test_each_subject_is_compared_with_its_own_baseline():
    outputs = {"base": ONES, "a": 2 * ONES, "b": 4 * ONES, "other": 5 * ONES, "c": 10 * ONES}
    baselines = {"a": "base", "b": "a", "c": "other", "absent": "base"}
    # A baseline that is a subject itself keeps its own error.
    errors = {"base": 1.0, "a": 1.0, "b": 1.0, "other": 1.0, "c": 1.0}
    assert parity(outputs, baselines) == pytest.approx(errors)
    apart = parity({**outputs, "b": 6 * ONES, "c": 5 * ONES}, baselines)
    assert apart == pytest.approx({**errors, "b": 2.0, "other": 0.0, "c": 0.0})


def test_nothing_to_compare_has_no_parity():
    assert parity({"base": ONES}, {"a": "base"}) == {}
    assert parity({"a": ONES, "b": ONES}, {"a": "base", "b": "base"}) == {}
    assert parity({"a": ONES, "base": ONES}, {}) == {}
