"""What the committed runs must show of themselves: no claim is turned from one run to the next on a kind of machine."""

from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

from claims_fixture import claims, config
from stackwars.publish.accept import MOST_BYTES
from stackwars.study.claims.compare import Ballot, ballot, on_shared
from stackwars.study.claims.votes import CONTRADICTED, SUPPORTED
from stackwars.study.results import runs
from stackwars.study.results.dataset import Dataset
from stackwars.study.studies import of_tables

RUNS = runs.read()
FIRST = of_tables(config())
WHOLE = [
    run
    for run in RUNS
    if FIRST.name in run.context["studies"]
    # A workload that the run's configuration did not have yet is none that it lacks.
    and {*FIRST.workloads} & {*run.context["sizes"]} <= {*run.table("cells")["workload"]}
]
"""The runs that have every workload of the first study which their configuration had."""
assert len(WHOLE) >= 2, f"expected two or more whole runs of {FIRST.name} in {runs.REFERENCE}, got {len(WHOLE)}"


@cache
def ballots(folder: Path) -> dict[str, Ballot]:
    data = Dataset(config(), folder)
    return {claim.id: ballot(claim, data) for claim in claims().claims}


def test_there_are_runs_of_several_kinds_of_machine_and_each_has_every_claim():
    assert len(RUNS) >= 3 and len({run.machine for run in RUNS}) >= 2
    for run in RUNS:
        assert sum(path.stat().st_size for path in run.folder.iterdir()) <= MOST_BYTES
        assert len({claim.id for claim in claims().claims} & set(run.table("claims")["id"])) > 30


PAIRS = [(one, two) for one, two in combinations(WHOLE, 2) if one.machine == two.machine]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: " ".join(run.identity for run in pair))
def test_no_claim_is_supported_by_one_and_contradicted_by_another_of_a_kind(pair):
    one, other = (ballots(run.folder) for run in pair)
    turned = [
        claim.id
        for claim in claims().claims
        if set(on_shared(claim, one[claim.id], other[claim.id]) or ()) == {SUPPORTED, CONTRADICTED}
    ]
    assert turned == []
