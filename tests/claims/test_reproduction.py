"""A run beside another: what is reproduced, what is not, and what the machine has to do with it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas
import pytest

import claims_fixture
import paper_fixture
from claim_edits import edit
from stackwars.claims import compare, reproduction
from stackwars.results.folder import Folder


def predicted(folder: Path, low: float = 0.8, high: float = 1.25) -> None:
    """Prediction intervals around every ratio of a folder."""
    for name, terms in {"ratios": ("first", "second", "steady"), "split": ("ir",)}.items():
        table = pandas.read_csv(folder / f"{name}.csv")
        for term in terms:
            table[f"{term}_predicted_low"] = table[f"{term}_ratio"] * low
            table[f"{term}_predicted_high"] = table[f"{term}_ratio"] * high
        table.to_csv(folder / f"{name}.csv", index=False)


@pytest.fixture
def both(tmp_path):
    """A run and a reference with the same results."""
    folders = [paper_fixture.write(tmp_path / name) for name in ("run", "reference")]
    for folder in folders:
        claims_fixture.decide(folder)
    predicted(folders[1])
    return folders


def compared(both) -> dict:
    return reproduction.compare(*(Folder(folder) for folder in both))


def claim(document: dict, identity: str) -> dict:
    return next(row for row in document["claims"] if row["id"] == identity)


def test_a_run_with_the_same_results_reproduces_everything(both):
    document = compared(both)
    outcomes = {row["outcome"] for row in document["claims"]}
    assert reproduction.NOT_REPRODUCED not in outcomes
    assert claim(document, "program_is_reason")["outcome"] == reproduction.REPRODUCED
    assert all(one["inside"] for one in document["ratios"])
    assert {one["ratio"] for one in document["ratios"]} == {"first", "second", "steady", "ir"}
    assert all(one["same"] for one in document["cells"])
    assert "Not reproduced: none; not decided here: none." in document["summary"]
    assert "machine" not in document["summary"]


def test_a_changed_value_of_the_reference_is_not_reproduced(both):
    _, reference = both
    edit("ratios", {"framework": "torch_xla"}, steady_verdict="faster")(reference)
    claims_fixture.decide(reference)
    document = compared(both)
    found = claim(document, "faster_steady_basic")
    assert (found["reference"], found["run"]) == ("contradicted", "supported")
    assert found["outcome"] == reproduction.NOT_REPRODUCED
    told = reproduction.report(document)
    assert (
        "not reproduced: faster_steady_basic: contradicted in the reference, supported here" in told
    )


def without(name: str, workload: str, folder: Path) -> None:
    """A run that has nothing of a workload in this table."""
    table = pandas.read_csv(folder / f"{name}.csv")
    table[table.workload != workload].to_csv(folder / f"{name}.csv", index=False)


def test_a_claim_is_compared_on_what_both_tested(both):
    run, reference = both
    edit("ratios", {"workload": "mha"}, steady_verdict="faster", steady_ratio=0.5)(reference)
    without("ratios", "mha", run)
    for folder in both:
        claims_fixture.decide(folder)
    found = claim(compared(both), "faster_steady_basic")
    assert found["reference_whole"] == "contradicted"
    assert (found["reference"], found["run"]) == ("supported", "supported")
    assert found["outcome"] == reproduction.REPRODUCED


def test_what_the_reference_decides_by_something_else_alone_is_not_decided_here(both):
    run, reference = both
    without("ratios", "mha", run)
    without("ratios", "ffn", reference)
    for folder in both:
        claims_fixture.decide(folder)
    found = claim(compared(both), "faster_steady_basic")
    assert found["outcome"] != reproduction.NOT_REPRODUCED and found["run"] == "not testable here"


def test_a_summary_is_compared_by_what_it_counts(both):
    run, reference = both
    attention = {"workload": "mha", "claim": "qkv", "framework": "jax"}
    edit("structure", attention, verdict="separate")(reference)
    without("structure", "mha", run)
    for folder in both:
        claims_fixture.decide(folder)
    found = claim(compared(both), "qkv_combined")
    assert found["reference"] == found["run"] == "supported"
    assert found["reference_whole"] == "contradicted"


def test_a_contradiction_on_what_both_tested_says_so(both):
    run, reference = both
    edit("ratios", {"workload": "mha"}, steady_verdict="faster", steady_ratio=0.5)(reference)
    edit("ratios", {"workload": "ffn"}, steady_verdict="faster", steady_ratio=0.5)(run)
    without("ratios", "mha", run)
    for folder in both:
        claims_fixture.decide(folder)
    told = reproduction.report(compared(both))
    assert "faster_steady_basic: supported in the reference on what both tested, contrad" in told


@pytest.mark.parametrize("lacking", ["stacks.csv", "fused.csv"])
def test_a_run_that_lacks_tables_is_compared_by_its_verdicts(both, lacking):
    run, _ = both
    without("ratios", "mha", run)
    claims_fixture.decide(run)
    (run / lacking).unlink()
    # As of an accepted run, which has tables alone.
    (run / "findings.json").unlink(missing_ok=True)
    found = claim(compared(both), "faster_steady_basic")
    assert (found["reference"], found["run"]) == ("supported", "not decided")


def test_a_ratio_outside_its_prediction_is_named_with_both(both):
    run, _ = both
    row = {"workload": "mha", "framework": "torch_xla", "device": "cpu"}
    edit("ratios", row, steady_ratio=9.0)(run)
    document = compared(both)
    outside = [one for one in document["ratios"] if one["inside"] is False]
    assert [(one["ratio"], one["workload"], one["run"]) for one in outside] == [
        ("steady", "mha", 9.0)
    ]
    assert "outside: steady ratio of mha, torch_xla, cpu: 9, predicted 1.15 to 1.8" in (
        reproduction.report(document)
    )
    assert "The machine is" in document["summary"]


def test_another_machine_is_described_where_something_came_out_otherwise(both):
    run, _ = both
    context = json.loads((run / "context.json").read_text())
    context["machine"] |= {"cpu_model": "Another CPU", "cores": 64}
    (run / "context.json").write_text(json.dumps(context))
    assert "The machine" not in compared(both)["summary"]
    edit("frame", {"workload": "conv", "framework": "jax", "device": "cpu"}, status="oom")(run)
    document = compared(both)
    assert sum(not one["same"] for one in document["cells"]) == 1
    told = "processor Another CPU against Synthetic(R) CPU_9000 & Co @ 2.00GHz; 64 cores against 2"
    assert "The machine is of another kind" in document["summary"]
    assert told in reproduction.report(document)
    assert "another status: conv, JAX, cpu: oom, in the reference ok" in reproduction.report(
        document
    )


@pytest.mark.parametrize(
    ("there", "here", "outcome"),
    [
        ("supported", "supported", "reproduced"),
        ("contradicted", "contradicted", "reproduced"),
        ("supported", "contradicted", "not reproduced"),
        ("supported", "not decided", "not decided here"),
        ("contradicted", "not testable here", "not decided here"),
        ("not decided", "supported", "not decided in the reference"),
    ],
)
def test_outcome(there, here, outcome):
    assert reproduction.outcome(there, here) == outcome


def test_other_shapes_are_not_compared(both, tmp_path):
    smoke = paper_fixture.write(tmp_path / "smoke", "smoke")
    claims_fixture.decide(smoke)
    document = reproduction.compare(Folder(smoke), Folder(both[1]))
    assert (document["claims"], document["ratios"], document["cells"]) == ([], [], [])
    assert document["summary"].startswith("Nothing is compared")


def test_of_some_workloads_only_ratios_and_cells_are_compared(both):
    run, _ = both
    context = json.loads((run / "context.json").read_text())
    context["sizes"]["ffn"] = {"batch": 1}
    (run / "context.json").write_text(json.dumps(context))
    document = compared(both)
    assert document["claims"] == []
    assert "ffn" not in {one["workload"] for one in document["ratios"] + document["cells"]}
    assert "mha" in {one["workload"] for one in document["ratios"]}


def test_the_reference_itself_is_compared_with_nothing(tmp_path):
    folder = Folder(tmp_path)
    reproduction.write({"results": "reference"}, folder)
    assert reproduction.read_summary(folder["reproduction"]) == ""
    assert "from the reference" in folder["reproduction_text"].read_text()


def test_two_folders_are_compared_by_a_command(both, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["compare", *map(str, both)])
    compare.main()
    assert "lie within the reference's prediction intervals." in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["compare", str(both[0].parent)])
    with pytest.raises(SystemExit, match=r"expected the tables of a run .* frame.csv"):
        compare.main()
