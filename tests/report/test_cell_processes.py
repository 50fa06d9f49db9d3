"""What the report shows of a cell's processes."""

from measured import process
from report_fixture import HOSTILE
from stackwars.report.processes import POINTS, processes

MEMORY = {"seconds": [n / 10 for n in range(200)], "bytes": [2**20 * (n + 1) for n in range(200)]}


def shown(**changes):
    [found] = processes({"processes": [process(**changes)]})
    return found


def test_memory_is_in_mib_with_its_peak():
    found = shown(memory=MEMORY)["memory"]
    assert len(found) <= POINTS
    assert found == sorted(found)
    assert found[-1] == [19.9, 200]


def test_results_from_before_have_neither_memory_nor_log():
    found = shown()
    assert (found["memory"], found["log"]) == (None, None)
    assert found["peak_rss_bytes"] == 2**28


def test_a_log_is_not_changed():
    assert shown(log_tail=HOSTILE)["log"] == HOSTILE


def test_phases_are_in_seconds_since_the_start():
    assert shown()["phases"] == [
        ["import", 1.0, 3.0],
        ["build", 3.0, 3.5],
        ["first call", 3.5, 3.6],
        ["second call", 3.6, 4.5],
        ["steady", 4.5, 5.0],
    ]


def test_losses_are_a_phase_of_their_own():
    made = process()
    made["events"].insert(5, {"event": "losses", "at_s": made["started_s"] + 4.75, "values": [1.0]})
    [found] = processes({"processes": [made]})
    assert found["phases"][3:] == [
        ["second call", 3.6, 4.5],
        ["losses", 4.5, 4.75],
        ["steady", 4.75, 5.0],
    ]


def test_a_process_that_died_was_in_a_phase_to_its_end():
    died = process(status=("oom", "killed at the cap"), wall_s=8.0)
    died["events"] = died["events"][:2]
    [found] = processes({"processes": [died]})
    assert found["phases"] == [["import", 1.0, 3.0], ["build", 3.0, 8.0]]


def test_a_process_that_wrote_nothing_but_a_log_is_shown_and_one_that_never_ran_is_not():
    silent = process(status=("error", "ended"), log_tail="no such library")
    silent["events"] = []
    taken_over = process(repetition=1, repeated=False)
    unsupported = {**silent, "log_tail": ""}
    found = processes({"processes": [silent, taken_over, unsupported]})
    assert [(one["log"], one["phases"]) for one in found] == [("no such library", [])]
