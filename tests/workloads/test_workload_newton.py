"""How often the Newton-Schulz iteration runs: the same in every precision, and never by a hair."""

import numpy as np
import pytest

from stackwars.measure.inputs import input_sets
from stackwars.workloads.newton import MARGIN, TOLERANCE, iterated
from stackwars.workloads.newton import WORKLOAD as newton
from workloads.presets import CONFIG, SMALL

SIZES = [chosen["sizes"]["newton"] for chosen in CONFIG["presets"].values()]
SEEDS = sorted({0, CONFIG["settings"]["seed"]})


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_both_precisions_take_as_many_steps_and_no_residual_is_near_the_tolerance(sizes, seed):
    for given in input_sets(newton, sizes, seed):
        _, residuals = iterated(given["a"].astype(np.float64))
        _, single = iterated(given["a"])
        assert len(single) == len(residuals) > 5
        ratios = np.array(residuals) / TOLERANCE
        assert np.all((ratios > MARGIN) | (ratios < 1 / MARGIN))


def test_the_matrix_is_symmetric_and_well_conditioned():
    a = newton.inputs(SMALL["newton"], 0)["a"]
    np.testing.assert_array_equal(a, a.T)
    assert 1 <= np.linalg.cond(a.astype(np.float64)) < 10


def test_the_other_sets_output_is_far_from_the_bound():
    first, other = (newton.reference({}, g) for g in input_sets(newton, SMALL["newton"], 0))
    assert np.linalg.norm(first - other) > 0.1 * np.linalg.norm(first)
