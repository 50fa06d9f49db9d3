"""The targets of claims, in the real workflow: what each would run, and one decided."""

import pytest

from stackwars.study.claims import definitions
from stackwars.study.config import load

pytestmark = pytest.mark.slow
SMOKE = ("--config", "preset=smoke")


def test_every_claim_has_a_target_that_can_be_planned(checkout):
    targets = [f"claim_{claim.id}" for claim in definitions.load().claims]
    studies = ",".join(load().studies)
    planned, _ = checkout.plan(*targets, *SMOKE, f"measure=[{studies}]")
    assert [planned.get(target) for target in targets] == [1] * len(targets)


def test_a_claim_about_a_study_that_the_run_does_not_measure_says_how_to_measure_it(checkout):
    other = next(claim for claim in definitions.load().claims if claim.query.get("study") == "matrix")
    done = checkout.snakemake(f"claim_{other.id}", "--dry-run")
    assert done.returncode == 1
    assert f"claim_{other.id}: expected a run that measures the study matrix, got one of tables" in done.stdout
    assert "fix: --config 'measure=[matrix]'" in done.stdout
