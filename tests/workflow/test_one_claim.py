"""The targets of claims, in the real workflow: what each would run."""

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
