"""The numbers of a cell, from processes whose times are known."""

import pytest

from measured import process
from stackwars.measure import process_value
from stackwars.results.cell_numbers import numbers
from stackwars.workloads.gemm import WORKLOAD as gemm


def derived(*processes: dict) -> dict:
    """What follows from these processes, one a round."""
    in_rounds = [{**process, "repetition": number} for number, process in enumerate(processes)]
    result = {"processes": in_rounds, "sizes": processes[0]["sizes"]}
    return numbers(result, process_value.of_processes(in_rounds), gemm)


def first_split(*processes: dict) -> tuple:
    found = derived(*processes)
    return tuple(found[f"first_{part}_ms"] for part in ("trace", "compile", "execute"))


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
    assert found["steady_calls"] == 6


def test_blocks_are_of_several_calls():
    found = derived(process(steady_ms=(2.0,) * 5, calls=16))
    assert (found["steady_ms"], found["steady_calls"]) == (pytest.approx(2.0), 80)


def test_blocks_that_waited_for_a_core_do_not_count():
    waits = (0.0, 0.5, 0.01, 0.5, 0.0, 0.5)
    found = derived(*[process(steady_ms=(1.0, 3.0, 1.0, 3.0, 1.0, 3.0), wait=waits)] * 2)
    assert found["gated"]
    assert found["steady_ms"] == pytest.approx(1.0)
    assert found["steady_ungated_ms"] == pytest.approx(2.0)
    assert found["kept_share"] == pytest.approx(0.5)


def test_cell_that_never_had_the_machine_to_itself_counts_all_and_says_so():
    found = derived(*[process(steady_ms=(1.0, 3.0, 3.0), others=0.4)] * 3)
    assert not found["gated"]
    assert found["steady_ms"] == found["steady_ungated_ms"] == pytest.approx(3.0)


def test_warm_up_is_cut_off_and_what_most_processes_are_gives_the_class():
    steady = process(steady_ms=(1.0,) * 20, second_ms=1.0)
    warming = process(steady_ms=(5.0,) * 5 + (1.0,) * 15, second_ms=5.0)
    found = derived(steady, warming)
    assert found["steady_ms"] == pytest.approx(1.0)
    assert (found["steady_class"], found["warmup_points"]) == ("warm-up", 7)
    assert derived(steady, warming, steady)["steady_class"] == "steady at once"


def test_cache_hits_and_threads_are_the_most_of_any_process():
    one, other = process(), process()
    other["events"][3]["cache_hits"], other["events"][5]["threads"] = 1, 5
    found = derived(one, other)
    assert (found["cache_hits_first"], found["threads"]) == (1, 5)


def test_one_process_has_no_interval():
    found = derived(process())
    assert (found["steady_ms"], found["steady_low_ms"]) == (pytest.approx(1.0), None)


def test_compilations_are_the_most_of_any_process():
    found = derived(process(compiles=(1, 0, 0)), process(compiles=(1, 1, 0)),
                    process(compiles=(2, 0, 3)))  # fmt: skip
    assert [found[f"compiles_{n}"] for n in ("first", "second", "steady")] == [2, 1, 3]


def test_split_of_the_first_call_sums_to_it():
    assert first_split(process(first_ms=100.0)) == pytest.approx((10.0, 30.0, 60.0))


def test_throughput_is_of_the_steady_state():
    # The smoke GEMM: 16 rows and 2 x 16 x 32 x 64 floating-point operations in 1 ms.
    found = derived(process(steady_ms=(1.0,)))
    assert found["items_per_s"] == pytest.approx(16_000)
    assert found["gflop_per_s"] == pytest.approx(2 * 16 * 32 * 64 / 1e6)


def test_compile_time_that_a_framework_does_not_tell_is_empty():
    untold = process()
    for event in untold["events"]:
        if "compile_s" in event:
            event["compile_s"] = None
    assert first_split(process(), untold) == (pytest.approx(10.0), None, None)


def dispatched(
    returned_ms: tuple[float, ...], done_ms: tuple[float, ...], **generated: int
) -> dict:
    """A process that tells when its single calls returned and when they were done, and what it generated."""
    found = process()
    returned, done = ([round(1e6 * ms) for ms in series] for series in (returned_ms, done_ms))
    told = {"event": "dispatch", "at_s": 1005.5, "returned_ns": returned, "total_ns": done}
    timed = {**found["events"][6], **generated}
    found["events"][6:7] = [told, timed]
    return found


def test_when_a_call_returned_is_the_median_of_the_medians():
    found = derived(
        dispatched((0.1, 0.2, 9.0), (1.0, 1.0, 1.0)),
        dispatched((0.4, 0.4, 0.4), (0.8, 0.8, 0.8)),
        dispatched((0.5,), (5.0,)),
    )
    assert found["returned_ms"] == pytest.approx(0.4)
    assert found["returned_share"] == pytest.approx(0.2)


def test_process_that_was_not_asked_when_its_calls_returned_leaves_it_empty():
    found = derived(dispatched((0.1,), (1.0,)), process())
    assert (found["returned_ms"], found["returned_share"]) == (None, None)


def test_what_was_generated_is_the_most_of_any_process_and_empty_where_nobody_tells():
    found = derived(
        dispatched((0.1,), (1.0,), graphs=1, graph_breaks=0), dispatched((0.1,), (1.0,), graphs=2)
    )
    assert [found[name] for name in ("graphs", "graph_breaks", "kernels")] == [2, 0, None]
