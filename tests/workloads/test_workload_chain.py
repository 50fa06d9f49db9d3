"""The bound on the elementwise chain's sum, and its two sets of inputs."""

import numpy as np
import pytest

from stackwars.measure import checks, inputs
from stackwars.workloads import elementwise_chain
from stackwars.workloads.elementwise_chain import WORKLOAD as chain

COMMON = 1e-5
SIZES = {"elements": 10_000_000}


def error(terms: np.ndarray, accumulators: int) -> float:
    """Relative error of adding the terms up one after the other in so many float32 accumulators."""
    sums = np.cumsum(terms.astype(np.float32).reshape(-1, accumulators), axis=0)[-1]
    exact = terms.sum()
    return abs(sums.sum(dtype=np.float64) - exact) / exact


@pytest.fixture(scope="module")
def terms() -> list[np.ndarray]:
    sets = inputs.input_sets(chain, SIZES, 2025)
    return [elementwise_chain.terms(one["x"].astype(np.float64)) for one in sets]


@pytest.mark.parametrize("accumulators", [8, 16, 32, 64])
def test_the_sum_of_a_vectorised_loop_is_within_the_bound(terms, accumulators):
    errors = [error(one, accumulators) for one in terms]
    assert max(errors) > COMMON
    assert max(errors) < chain.parity_rel_l2(SIZES)


def test_one_accumulator_is_refused(terms):
    assert np.hypot(*(error(one, 1) for one in terms)) / np.sqrt(2) > 5 * chain.parity_rel_l2(SIZES)


@pytest.mark.parametrize("seed", [0, 1, 2025])
def test_the_other_sets_sum_is_far_beyond_the_bound(seed):
    sizes = {"elements": 100_000}
    one, other = (chain.reference({}, given) for given in inputs.input_sets(chain, sizes, seed))
    assert abs(one / other - 1) > 10 * chain.parity_rel_l2(SIZES)


def test_a_short_sum_has_the_common_bound():
    assert checks.parity_limit("elementwise_chain", {"elements": 10_000}, COMMON) == COMMON
    assert checks.parity_limit("elementwise_chain", SIZES, COMMON) == pytest.approx(2e-3)
    assert checks.parity_limit("gemm", {"m": 1, "k": 1, "n": 1}, COMMON) == COMMON
