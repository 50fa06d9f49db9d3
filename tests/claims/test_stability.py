"""Runs drawn from the reference's world: each ratio around its own, every claim decided for each run."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import claims_fixture
from stackwars.claims import stability
from stackwars.measure.log_ratio import LogRatio
from stackwars.results.combined import of_one_run
from stackwars.results.folder import REFERENCE


def rows(error: float | None, spread: float) -> tuple[pd.Series, pd.Series]:
    """A ratio of 1.5 in the newest run, of 2 in the world."""
    freedom = None if error is None else 2.0
    own = of_one_run("steady", LogRatio(math.log(1.5), error, freedom))
    world = of_one_run("steady", LogRatio(math.log(2.0), 0.01, 5.0)) | {"steady_spread": spread}
    return pd.Series(own), pd.Series(world)


@pytest.mark.parametrize("spread", [0.0, 0.1])
def test_a_drawn_ratio_is_the_world_s_with_the_spread_of_runs_and_rounds(spread):
    random = np.random.default_rng(2)
    both = rows(0.03, spread)
    drawn = [stability.drawn_ratio(*both, "steady", 0.03, random) for _ in range(3000)]
    logs = np.array([one.log for one in drawn])
    assert logs.mean() == pytest.approx(math.log(2.0), abs=0.01)
    # What lies between runs has the error of their rounds in it already.
    assert logs.std() == pytest.approx(max(spread, 0.03), rel=0.1)
    assert {one.freedom for one in drawn} == {2.0}
    assert np.mean([one.error**2 for one in drawn]) == pytest.approx(0.03**2, rel=0.1)


def test_a_ratio_of_one_round_stays_what_it_was():
    found = stability.drawn_ratio(*rows(None, 0.1), "steady", 0.03, np.random.default_rng(0))
    assert (found.log, found.error) == (pytest.approx(math.log(1.5)), None)


def test_every_claim_is_decided_for_every_drawn_run():
    found = stability.stability(REFERENCE, 2)
    assert set(found["verdicts"]) == {claim.id for claim in claims_fixture.claims().claims}
    assert {sum(counts.values()) for counts in found["verdicts"].values()} == {2}
    assert found["pairs"] == 1
