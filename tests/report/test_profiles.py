"""The profiled calls of the report, from op_times.csv and the profiles of a run."""

import json

import pandas as pd
import pytest

from stackwars.compilers.op_classes import CLASSES
from stackwars.report.profiles import profiles
from stackwars.results import op_times
from stackwars.results.folder import REFERENCE, Folder


def row(workload, kind, ms, **more):
    head = {
        "workload": workload,
        "title": workload.upper(),
        "framework": "jax",
        "compiler": "an-xla",
    }
    told = {"calls": 5, "profiled_ms": 2.0, "call_ms": 1.9, "excess": 0.05, "adds_up": True}
    return {
        **head, "device": "cpu", "class": kind, "ms": ms, "share": ms / 2, "operations": 1, **told, **more
    }  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """A run that has profiled FFN; MHA's profile is of an accepted one."""
    rows = [row("ffn", "products", 1.5), row("ffn", "dispatch", 0.5)]
    rows += [row("mha", "products", 2.0, adds_up=False, run="2026-01-02T0304")]
    pd.DataFrame(rows, columns=list(op_times.COLUMNS)).to_csv(
        tmp_path / "op_times.csv", index=False
    )
    return Folder(tmp_path)


def test_a_workload_that_this_run_has_not_profiled_is_of_an_accepted_one(folder):
    calls = profiles(folder)["calls"]
    assert [(c["workload"], c["run"], c["adds_up"]) for c in calls] == [
        ("ffn", "", True),
        ("mha", "2026-01-02T0304", False),
    ]
    assert calls[0]["parts"]["products"] == {"ms": 1.5, "share": 0.75, "operations": 1}
    assert all(call["profile"] is None for call in calls)


def test_a_run_from_before_there_were_profiles_has_none(tmp_path):
    assert profiles(Folder(tmp_path))["calls"] == []


def test_operations_are_those_of_the_profile(folder):
    program = {
        "operations": {"dot.3": {"class": "products", "seconds": 0.0015}},
        "spans": [["dot.3", 0.0, 0.001], ["dot.3", 0.0015, 0.002]],
    }
    home = folder.measured / "replay" / "cpu" / "an-xla" / "ffn"
    home.mkdir(parents=True)
    (home / "profile.json").write_text(json.dumps({"programs": {"jax": program}}))
    [ffn, mha] = [call["profile"] for call in profiles(folder)["calls"]]
    assert ffn == {
        "operations": [["dot.3", "products", 1.5]],
        "spans": [[0, 0.0, 1.0], [0, 1.5, 0.5]],
    }
    assert mha is None


def test_a_profile_of_sums_alone_has_no_spans(folder):
    home = folder.measured / "replay" / "cpu" / "an-xla" / "ffn"
    home.mkdir(parents=True)
    sums = {"operations": {"dot.3": {"class": "products", "seconds": 0.0015}}}
    (home / "profile.json").write_text(json.dumps({"programs": {"jax": sums}}))
    assert profiles(folder)["calls"][0]["profile"]["spans"] == []


def test_the_reference_has_calls_of_every_frontend_side_by_side():
    found = profiles(Folder(REFERENCE))
    assert list(found["classes"]) == list(CLASSES)
    mha = [c for c in found["calls"] if (c["workload"], c["compiler"]) == ("mha", "jaxlib-0.10.2")]
    assert {"jax", "torch_xla"} <= {call["framework"] for call in mha}
    for call in mha:
        assert sum(part["ms"] for part in call["parts"].values()) == pytest.approx(
            call["profiled_ms"]
        )
