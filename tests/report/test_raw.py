"""Raw results and profiled calls for the report."""

import json

import pytest

import measured
from made_tables import NEW, OLD, replay
from measured import process
from report_fixture import HOSTILE, made_sources
from stackwars.core.hlo import CLASSES
from stackwars.publish.report import raw
from stackwars.publish.report.raw import profiles

MEMORY = {"seconds": [n / 10 for n in range(200)], "bytes": [2**20 * (n + 1) for n in range(200)]}


def shown(**changes):
    return raw.process_row(process(**changes))


def test_a_cell_has_every_call_of_every_process(tmp_path):
    processes = [process(repetition=n, steady_ms=(4.0, 2.0), calls=2, wait=(0.0, 0.5)) for n in range(2)]
    measured.write_cell(tmp_path, processes)
    found = raw.cells(tmp_path)["cpu/jax/gemm"]
    assert len(found["processes"]) == 2 and found["versions"]["jax"] == "0.7.1"
    assert [one["round"] for one in found["calls"]] == [0, 1]
    assert found["calls"][0] == {
        **{"round": 0, "first": 100.0, "second": 2.0, "calls": 2, "blocks": [4.0, 2.0]},
        # The second block waited for a core.
        "uncontended": "10",
    }


def test_a_replay_has_the_calls_of_each_program_that_was_timed(tmp_path):
    timed = {
        **{"status": "ok", "first_ns": [3_000_000], "second_ns": [2_000_000], "compile_s": [0.25]},
        "steady": [measured.blocks((1.0, 1.5))],
    }
    document = {
        **{"device": "cpu", "compiler": "an-xla", "workload": "gemm", "sizes": {"m": 2}},
        "processes": [{"repetition": 4, "versions": {"jaxlib": "0.7.1"}, "environment": "xla-1"}],
        "programs": {"jax": timed, "torch_xla": {"status": "unsupported"}},
    }
    home = tmp_path / "replay" / "cpu" / "an-xla" / "gemm"
    home.mkdir(parents=True)
    (home / "replay.json").write_text(json.dumps(document))
    found = raw.replays(tmp_path)
    assert list(found) == ["cpu/an-xla/jax/gemm"]
    one = found["cpu/an-xla/jax/gemm"]
    assert one["compile_s"] == [0.25] and one["environment"] == "xla-1"
    assert [(call["round"], call["blocks"]) for call in one["calls"]] == [(4, [1.0, 1.5])]


def test_memory_is_in_mib_with_its_peak():
    found = shown(memory=MEMORY)["memory"]
    assert len(found) <= raw.POINTS
    assert found == sorted(found)
    assert found[-1] == [19.9, 200]


def test_a_log_is_not_changed_and_what_was_not_recorded_is_none():
    found = shown(log_tail=HOSTILE)
    assert (found["memory"], found["log"], shown()["log"]) == (None, HOSTILE, None)
    assert found["peak_rss_bytes"] == 2**28


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


def profile_row(kind, ms, run="", **more):
    head = {"workload": "gemm", "title": "GEMM", "framework": "jax", "compiler": OLD, "device": "cpu"}
    told = {"calls": 5, "profiled_ms": 2.0, "call_ms": 1.9, "profile_consistent": True, "run": run}
    return {**head, "class": kind, "ms": ms, "share": ms / 2, "operations": 1, **told, **more}


def profile_sources(tmp_path, own=(), reference=(), runs=("",)):
    """A run that measured the tables and the reference, with replays in these runs of the reference."""
    replays = [replay("jax", compiler, run=run) for run in runs for compiler in (OLD, NEW)]
    own_tables = {"cells": [replay("jax", OLD)], "profile": list(own)}
    sources = made_sources(tmp_path, own_tables, {"cells": replays, "profile": list(reference)})
    known = sources.reference.context["runs"][0]
    sources.reference.context["runs"] = [known | {"run": run} for run in runs]
    return sources


def test_a_profile_is_of_the_study_and_of_the_run_whose_replay_is_shown(tmp_path):
    own = [profile_row("products", 1.5), profile_row("dispatch", 0.5)]
    reference = [profile_row("products", 1.0, "a"), profile_row("products", 2.0, "b", profile_consistent=False)]
    found = profiles(profile_sources(tmp_path, own, reference, ("a", "b")), "")
    assert list(found["classes"]) == list(CLASSES)
    assert [(c["study"], c["run"], c["profile_consistent"]) for c in found["calls"]] == [
        ("tables", "", True),
        ("matrix", "b", False),
    ]
    assert [found["calls"][0][name] for name in ("products_ms", "products_operations")] == [1.5, 1]
    assert all(call["profile"] is None for call in found["calls"])


def test_a_run_without_profiles_has_none(tmp_path):
    assert profiles(profile_sources(tmp_path), "")["calls"] == []


OPERATIONS = {"dot.3": {"class": "products", "seconds": 0.0015}}
SPANS = [["dot.3", 0.0, 0.001], ["dot.3", 0.0015, 0.002]]
SHOWN = [["dot.3", "products", 1.5]]


@pytest.mark.parametrize(
    ("programs", "expected"),
    [
        ({"jax": {"operations": OPERATIONS, "spans": SPANS}}, (SHOWN, [[0, 0.0, 1.0], [0, 1.5, 0.5]])),
        ({"jax": {"operations": OPERATIONS}}, (SHOWN, [])),
        ({}, None),
    ],
)
def test_operations_are_those_of_the_profile(programs, expected, tmp_path):
    sources = profile_sources(tmp_path, [profile_row("products", 1.5)])
    home = sources.run.measured / "replay" / "cpu" / OLD / "gemm"
    home.mkdir(parents=True)
    (home / "profile.json").write_text(json.dumps({"programs": programs}))
    [call] = profiles(sources, "")["calls"]
    assert call["profile"] == (expected and dict(zip(("operations", "spans"), expected, strict=True)))
