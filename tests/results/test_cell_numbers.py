"""The numbers of a cell, from processes whose times are known."""

import pytest

from measured import process
from stackwars.measure import process_value
from stackwars.measure.workloads.gemm import WORKLOAD as gemm
from stackwars.study.results.cells import numbers


def derived(*processes: dict) -> dict:
    """What follows from these processes, one a round."""
    in_rounds = [{**process, "repetition": number} for number, process in enumerate(processes)]
    result = {"processes": in_rounds, "sizes": processes[0]["sizes"]}
    return numbers(result, process_value.of_processes(in_rounds), gemm)


def first_split(*processes: dict) -> tuple:
    found = derived(*processes)
    parts = [f"first_{part}_ms" for part in ("trace", "compile", "execute")]
    return tuple(map(found.get, parts))


def test_cell_that_never_had_the_machine_to_itself_says_so():
    waits = (0.0, 0.5, 0.01, 0.5, 0.0, 0.5)
    found = derived(*[process(steady_ms=(1.0, 3.0, 1.0, 3.0, 1.0, 3.0), wait=waits)] * 2)
    assert found["gated"] and found["kept_share"] == pytest.approx(0.5)
    assert not derived(*[process(steady_ms=(1.0, 3.0, 3.0), others=0.4)] * 3)["gated"]


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
