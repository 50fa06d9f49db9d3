"""The targets of claims, in the real workflow: what each would run, and one decided."""

from __future__ import annotations

import json

import pytest

import study
from checkout import copy_checkout
from stackwars.claims import definitions

DRY = ("--dry-run", "--config", "preset=smoke")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return study.Study(copy_checkout(tmp_path_factory.mktemp("claims")))


@pytest.mark.slow
def test_every_claim_has_a_target_that_can_be_planned(checkout):
    targets = [f"claim_{claim.id}" for claim in definitions.load().claims]
    done = checkout.snakemake(*targets, *DRY)
    assert done.returncode == 0, done.stdout[-3000:]
    planned = study.planned(done.stdout)
    assert [planned.get(target) for target in targets] == [1] * len(targets)


@pytest.mark.slow
def test_a_claim_runs_just_what_it_needs(checkout):
    planned = study.planned(checkout.snakemake("claim_gemm_first_pytorch", *DRY).stdout)
    assert planned["cell"] == 2
    assert not {"replay", "ahead", "lower", "frame"} & set(planned)
    planned = study.planned(checkout.snakemake("claim_gemm_same_program", *DRY).stdout)
    assert planned["lower"] == 2
    assert not {"cell", "replay", "ahead"} & set(planned)


@pytest.mark.slow
def test_a_claim_is_decided_from_the_committed_run(checkout):
    done = checkout.snakemake("claim_one_run_jax", "--config", "results=reference")
    assert done.returncode == 0, done.stdout[-3000:]
    assert "one_run_jax: " in done.stdout
    made = checkout.folder / "results" / "from-reference" / "claims" / "one_run_jax.json"
    assert json.loads(made.read_text())["verdict"] == "supported"
