"""The profiled calls of the report, from profile.csv and the profiles of a run."""

import json

import pytest

from made_tables import NEW, OLD, replay
from report_fixture import made_sources
from stackwars.compilers.op_classes import CLASSES
from stackwars.report.profiles import profiles


def row(kind, ms, run="", **more):
    head = {"workload": "gemm", "title": "GEMM", "framework": "jax", "compiler": OLD, "device": "cpu"}
    told = {"calls": 5, "profiled_ms": 2.0, "call_ms": 1.9, "profile_consistent": True, "run": run}
    return {**head, "class": kind, "ms": ms, "share": ms / 2, "operations": 1, **told, **more}


def made(tmp_path, own=(), there=(), runs=("",)):
    """A run that measured the tables and the reference, with replays in these runs of the reference."""
    replays = [replay("jax", compiler, run=run) for run in runs for compiler in (OLD, NEW)]
    own_tables = {"cells": [replay("jax", OLD)], "profile": list(own)}
    return made_sources(tmp_path, own_tables, {"cells": replays, "profile": list(there)})


def test_a_profile_is_of_the_study_and_of_the_run_whose_replay_is_shown(tmp_path):
    own = [row("products", 1.5), row("dispatch", 0.5)]
    there = [row("products", 1.0, "a"), row("products", 2.0, "b", profile_consistent=False)]
    found = profiles(made(tmp_path, own, there, ("a", "b")), "")
    assert list(found["classes"]) == list(CLASSES)
    assert [(c["study"], c["run"], c["profile_consistent"]) for c in found["calls"]] == [
        ("tables", "", True),
        ("matrix", "b", False),
    ]
    assert found["calls"][0]["parts"]["products"] == {"ms": 1.5, "share": 0.75, "operations": 1}
    assert all(call["profile"] is None for call in found["calls"])


def test_a_run_without_profiles_has_none(tmp_path):
    assert profiles(made(tmp_path), "")["calls"] == []


def profiled(tmp_path, **program):
    """The operations of a run's profile.json."""
    sources = made(tmp_path, [row("products", 1.5)])
    home = sources.run.measured / "replay" / "cpu" / OLD / "gemm"
    home.mkdir(parents=True)
    (home / "profile.json").write_text(json.dumps({"programs": {"jax": program}}))
    [call] = profiles(sources, "")["calls"]
    return call["profile"]


OPERATIONS = {"dot.3": {"class": "products", "seconds": 0.0015}}


@pytest.mark.parametrize(
    ("spans", "shown"),
    [
        ({"spans": [["dot.3", 0.0, 0.001], ["dot.3", 0.0015, 0.002]]}, [[0, 0.0, 1.0], [0, 1.5, 0.5]]),
        ({}, []),
    ],
)
def test_operations_are_those_of_the_profile(spans, shown, tmp_path):
    found = profiled(tmp_path, operations=OPERATIONS, **spans)
    assert found == {"operations": [["dot.3", "products", 1.5]], "spans": shown}


def test_a_program_that_the_profile_does_not_have_has_no_operations(tmp_path):
    sources = made(tmp_path, [row("products", 1.5)])
    home = sources.run.measured / "replay" / "cpu" / OLD / "gemm"
    home.mkdir(parents=True)
    (home / "profile.json").write_text(json.dumps({"programs": {}}))
    [call] = profiles(sources, "")["calls"]
    assert call["profile"] is None
