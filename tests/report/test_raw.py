"""Raw results for the report; test_document.py has those of a whole run."""

import json

import pytest

from made_tables import OLD
from measured import process
from report_fixture import PROFILE
from stackwars.publish.report import raw

MEMORY = {"seconds": [n / 10 for n in range(200)], "bytes": [2**20 * (n + 1) for n in range(200)]}


def shown(**changes):
    return raw.process_row(process(**changes))


def test_losses_are_a_phase_of_their_own():
    made = process()
    made["events"].insert(5, {"event": "losses", "at_s": made["started_s"] + 4.75, "values": [1.0]})
    assert raw.process_row(made)["phases"][3:] == [
        ["second call", 3.6, 4.5],
        ["losses", 4.5, 4.75],
        ["steady", 4.75, 5.0],
    ]


def test_a_process_that_died_was_in_a_phase_to_its_end():
    died = process(status=("oom", "killed at the cap"), wall_s=8.0)
    died["events"] = died["events"][:2]
    assert raw.process_row(died)["phases"] == [["import", 1.0, 3.0], ["build", 3.0, 8.0]]


def test_a_process_that_wrote_nothing_but_a_log_is_shown_and_one_that_never_ran_is_not(tmp_path):
    silent = process(status=("error", "ended"), log_tail="no such library")
    silent["events"] = []
    taken_over = process(repetition=1, repeated=False)
    unsupported = {**silent, "repetition": 2, "log_tail": ""}
    cell = {"sizes": {}, "versions": {}, "processes": [silent, taken_over, unsupported]}
    (tmp_path / "cpu" / "jax" / "gemm").mkdir(parents=True)
    (tmp_path / "cpu" / "jax" / "gemm" / "cell.json").write_text(json.dumps(cell))
    found = raw.cells(tmp_path)["cpu/jax/gemm"]["processes"]
    assert [(one["log"], one["phases"]) for one in found] == [("no such library", [])]


@pytest.mark.parametrize(
    ("programs", "expected"),
    [
        ({"jax": {**PROFILE["jax"], "spans": [["dot.3", 0.0, 0.001]]}}, [[0, 0.0, 1.0]]),
        ({"jax": {"operations": PROFILE["jax"]["operations"]}}, []),
        ({}, None),
    ],
)
def test_a_profile_may_have_sums_alone_or_lack_a_program(programs, expected, tmp_path):
    path = tmp_path / "replay" / "cpu" / OLD / "gemm" / "profile.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"programs": programs}))
    call = {"device": "cpu", "compiler": OLD, "workload": "gemm", "framework": "jax"}
    found = raw._operations(tmp_path, call)
    assert (found and found["spans"]) == expected


def test_memory_is_in_mib_with_its_peak():
    found = shown(memory=MEMORY)["memory"]
    assert len(found) <= raw.POINTS
    assert found == sorted(found)
    assert found[-1] == [19.9, 200]
