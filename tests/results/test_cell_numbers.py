"""The numbers of a cell, from processes whose times are known."""

import pytest

from measured import process
from stackwars.measure import process_value
from stackwars.measure.workloads.gemm import WORKLOAD as gemm
from stackwars.study.results.native import numbers


def derived(*processes: dict) -> dict:
    """What follows from these processes, one a round."""
    in_rounds = [{**process, "repetition": number} for number, process in enumerate(processes)]
    result = {"processes": in_rounds, "sizes": processes[0]["sizes"]}
    return numbers(result, process_value.of_processes(in_rounds), gemm)


def first_split(*processes: dict) -> tuple:
    found = derived(*processes)
    parts = [f"first_{part}_ms" for part in ("trace", "compile", "execute")]
    return tuple(map(found.get, parts))


def test_latencies_are_geometric_means_of_the_processes():
    found = derived(
        process(first_ms=100.0, second_ms=1.0, steady_ms=(1.0, 9.0, 2.0)),
        process(first_ms=400.0, second_ms=4.0, steady_ms=(8.0, 8.0, 8.0)),
    )
    assert found["first_ms"] == pytest.approx(200.0)
    assert found["second_ms"] == pytest.approx(2.0)
    # Medians 2 and 8 of the two processes.
    assert found["steady_ms"] == pytest.approx(4.0)
    assert found["steady_low_ms"] < 2.0 < 8.0 < found["steady_high_ms"]
    assert (found["steady_min_ms"], found["steady_max_ms"]) == pytest.approx((2.0, 8.0))
    assert (found["first_min_ms"], found["second_max_ms"]) == pytest.approx((100.0, 4.0))


def test_steady_time_is_of_loops_and_not_of_the_undisturbed_series():
    found = derived(*[process(steady_ms=(1.0,) * 5, loops_ms=(2.0, 9.0, 3.0))] * 2)
    assert found["steady_ms"] == pytest.approx(3.0)


def test_cell_that_never_had_the_machine_to_itself_says_so():
    waits = (0.0, 0.5, 0.01, 0.5, 0.0, 0.5)
    found = derived(*[process(steady_ms=(1.0, 3.0, 1.0, 3.0, 1.0, 3.0), wait=waits)] * 2)
    assert found["gated"] and found["kept_share"] == pytest.approx(0.5)
    assert not derived(*[process(steady_ms=(1.0, 3.0, 3.0), others=0.4)] * 3)["gated"]


def test_cores_of_loops_are_the_median_over_the_processes():
    def used(cores: float) -> dict:
        one = process(loops_ms=(1.0, 1.0), calls=5)
        for event in one["events"]:
            if event["event"] == "loop":
                event["run_ns"] = round(cores * sum(event["ns"]))
        return one

    assert derived(used(1.0), used(1.5), used(9.0))["cores"] == pytest.approx(1.5)


def test_throughput_is_a_call_of_the_median_batch_of_the_processes_that_have_one():
    batches = {"event": "throughput", "at_s": 1005.0, "ns": [16_000_000, 32_000_000, 99_000_000], "calls": 16}
    with_it = process()
    with_it["events"].insert(6, batches)
    assert derived(with_it, with_it)["throughput_ms"] == pytest.approx(2.0)
    assert derived(with_it, process())["throughput_ms"] == pytest.approx(2.0)
    assert "throughput_ms" not in derived(process(), process())


def test_rounds_without_a_series_count_for_the_times_alone():
    later = process(first_ms=400.0, steady_ms=(4.0,) * 20, second_ms=4.0)
    later["events"] = [event for event in later["events"] if event["event"] != "steady"]
    first = process(steady_ms=(1.0,) * 20, second_ms=1.0, wait=0.0)
    found, alone = derived(first, first, later), derived(first, first)
    same = ("kept_share", "gated", "steady_class", "warmup_points", "compiles_steady")
    assert [found[name] for name in same] == [alone[name] for name in same]
    assert found["first_ms"] == pytest.approx(4e6 ** (1 / 3)) and found["steady_max_ms"] == pytest.approx(4.0)
    assert found["steady_processes"] == 3


def test_warm_up_is_cut_off_and_what_most_processes_are_gives_the_class():
    steady = process(steady_ms=(1.0,) * 20, second_ms=1.0)
    warming = process(steady_ms=(5.0,) * 5 + (1.0,) * 15, loops_ms=(1.0,) * 3, second_ms=5.0)
    found = derived(steady, warming)
    assert found["steady_ms"] == pytest.approx(1.0)
    assert (found["steady_class"], found["warmup_points"]) == ("warm-up", 7)
    assert derived(steady, warming, steady)["steady_class"] == "steady at once"


def test_one_process_has_no_interval():
    found = derived(process())
    assert (found["steady_ms"], found["steady_low_ms"]) == (pytest.approx(1.0), None)


def test_counts_are_the_most_of_any_process():
    made = [process(compiles=counts) for counts in ((1, 0, 0), (1, 1, 0), (2, 0, 3))]
    made[0]["events"][3]["cache_hits"] = 1
    found = derived(*made)
    assert [found[f"compiles_{n}"] for n in ("first", "second", "steady")] == [2, 1, 3]
    assert found["cache_hits_first"] == 1


def test_split_of_the_first_call_sums_to_it():
    assert first_split(process(first_ms=100.0)) == pytest.approx((10.0, 30.0, 60.0))
    assert first_split(process(first_ms=50.0)) == pytest.approx((10.0, 30.0, 10.0))


def test_part_of_the_first_call_that_a_framework_does_not_tell_is_empty():
    def without(*names: str) -> dict:
        untold = process()
        untold["events"] = [{k: None if k in names else v for k, v in e.items()} for e in untold["events"]]
        return untold

    assert first_split(process(), without("compile_s")) == (pytest.approx(10.0), None, None)
    assert first_split(process(), without("compile_s", "trace_s")) == (None,) * 3


@pytest.mark.parametrize(
    ("compiles", "second_ms", "words"),
    [
        ((1, 0, 0), 1.0, ("one slow run", "one slow run")),
        ((1, 1, 0), 50.0, ("two slow runs", "two slow runs")),
        ((1, 1, 0), 1.0, ("compilations and times disagree", "two slow runs")),
        ((None, None, None), 1.0, ("no data", "no data")),
    ],
)
def test_slow_runs_are_counted_by_compilations_and_by_times(compiles, second_ms, words):
    found = derived(process(compiles=compiles, second_ms=second_ms, steady_ms=(1.0,) * 20))
    assert tuple(found[f"slow_runs{how}"] for how in ("", "_by_compiles")) == words


def test_items_are_those_of_the_steady_state_and_blocks_are_of_several_calls():
    # The smoke GEMM: 16 rows in 1 ms.
    found = derived(process(steady_ms=(1.0,) * 5, calls=16))
    assert found["steady_ms"] == pytest.approx(1.0)
    assert found["items_per_s"] == pytest.approx(16_000)


def dispatched(returned_ms: tuple[float, ...], done_ms: tuple[float, ...]) -> dict:
    """A process that says when its single calls returned and when they were done."""
    found = process()
    returned, done = ([round(1e6 * ms) for ms in series] for series in (returned_ms, done_ms))
    told = {"event": "dispatch", "at_s": 1005.5, "returned_ns": returned, "total_ns": done}
    found["events"].insert(6, told)
    return found


def test_when_a_call_returned_is_the_median_of_the_medians():
    found = derived(
        dispatched((0.1, 0.2, 9.0), (1.0, 1.0, 1.0)),
        dispatched((0.4, 0.4, 0.4), (0.8, 0.8, 0.8)),
        dispatched((0.5,), (5.0,)),
    )
    assert found["returned_share"] == pytest.approx(0.2)
    assert found["returned_over_steady"] == pytest.approx(0.4)
    assert derived(dispatched((3.0,), (4.0,)))["returned_over_steady"] == 1.0
    # Rounds after the first do not say it.
    assert derived(dispatched((0.1,), (1.0,)), process())["returned_share"] == pytest.approx(0.1)
    assert "returned_share" not in derived(process())
