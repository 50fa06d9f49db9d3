"""What the committed runs must show of themselves: that the next one is where they say, and turns no claim."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import pytest

from stackwars.claims import decide as deciding
from stackwars.claims import definitions
from stackwars.claims.output import read_claims
from stackwars.claims.shared import on_shared
from stackwars.claims.verdicts import CONTRADICTED, SUPPORTED
from stackwars.measure import documents
from stackwars.results import runs
from stackwars.results.folder import REFERENCE, STABILITY, Folder
from stackwars.results.whole_study import of_workloads
from stackwars.workflow.accept import MOST_BYTES

RUNS = runs.read(REFERENCE)


def test_there_are_runs_of_several_kinds_of_machine():
    assert len(RUNS) >= 3
    assert len({run.machine for run in RUNS}) >= 2
    for run in RUNS:
        assert sum(path.stat().st_size for path in run.folder.iterdir()) <= MOST_BYTES


def test_a_run_that_is_left_out_lies_where_the_others_predict_it():
    found = pd.read_csv(REFERENCE / "held_out.csv")
    assert set(found.run) == {run.identity for run in RUNS}
    assert found.inside.sum() / found.total.sum() >= 0.9


def findings(folder: Folder) -> list:
    return deciding.found(folder)[0]


def test_the_reference_has_the_workloads_of_every_run_that_divided_some():
    found = of_workloads(Folder(REFERENCE), "sharding", {"origin": "reference"})
    assert {"train_transformer", "llama3_8b"} <= set(found["workload"])


@pytest.mark.parametrize(
    "pair", list(combinations(["all together", *(r.identity for r in runs.whole(RUNS))], 2))
)
def test_no_claim_is_supported_by_one_and_contradicted_by_another(pair):
    known = {run.identity: run.folder for run in RUNS} | {"all together": REFERENCE}
    folders = [Folder(known[name]) for name in pair]
    one, other = ({c["id"]: c["verdict"] for c in read_claims(f["claims"])} for f in folders)
    claims = {claim.id: claim for claim in definitions.load().claims}
    turned = [
        i
        for i in one.keys() & other.keys()  # a run of before a claim was made does not have it
        if {one[i], other[i]} == {SUPPORTED, CONTRADICTED}
        # On what both have tested: one run's workloads may be a part of the other's.
        and set(on_shared(claims[i], *map(findings, folders)) or ()) == {SUPPORTED, CONTRADICTED}
    ]
    # An audit is about the harness on that machine.
    assert set(turned) <= {"harness_passes"}


def test_claims_hardly_turn_between_drawn_runs():
    found = documents.read(REFERENCE / STABILITY)
    assert found["runs"] == [run.identity for run in RUNS]
    assert found["pairs"] >= 50
    assert found["rate"] < 0.01


def test_a_run_of_some_workloads_is_no_whole_run(tmp_path):
    found = []
    for name, workloads in {"a": ["ffn", "mha"], "b": ["ffn"], "c": ["ffn", "mha", "conv"]}.items():
        (tmp_path / name).mkdir()
        pd.DataFrame({"workload": workloads}).to_csv(tmp_path / name / "frame.csv")
        found.append(runs.Run(name, tmp_path / name, "a machine"))
    assert [run.identity for run in runs.whole(found)] == ["a", "c"]
