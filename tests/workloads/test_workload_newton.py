"""How often the Newton-Schulz iteration runs: the same in every precision, and never by a hair."""

import numpy as np
import pytest

from stackwars.measure.inputs import input_sets
from stackwars.study.config import load
from stackwars.workloads import newton
from workloads.sizes import FULL, SMALL

CONFIG = load()
PRESETS = {name: chosen["sizes"]["newton"] for name, chosen in CONFIG["presets"].items()}
SIZES = {**PRESETS, "tests, full": FULL["newton"], "tests, small": SMALL["newton"]}
DISTINCT = list({tuple(sizes.items()): sizes for sizes in SIZES.values()}.values())
SEEDS = sorted({0, CONFIG["settings"]["seed"]})


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sizes", DISTINCT, ids=str)
def test_both_precisions_take_as_many_steps_and_no_residual_is_near_the_tolerance(sizes, seed):
    for given in input_sets(newton, sizes, seed):
        _, residuals = newton.iterated(given["a"].astype(np.float64))
        _, single = newton.iterated(given["a"])
        assert len(single) == len(residuals) > 5
        ratios = np.array(residuals) / newton.TOLERANCE
        assert np.all((ratios > newton.MARGIN) | (ratios < 1 / newton.MARGIN))


def test_the_matrix_is_symmetric_and_well_conditioned():
    a = newton.inputs(SMALL["newton"], 0)["a"]
    np.testing.assert_array_equal(a, a.T)
    assert 1 <= np.linalg.cond(a.astype(np.float64)) < 10


def test_the_other_sets_output_is_far_from_the_bound():
    first, other = (newton.reference({}, g) for g in input_sets(newton, SMALL["newton"], 0))
    assert np.linalg.norm(first - other) > 0.1 * np.linalg.norm(first)
