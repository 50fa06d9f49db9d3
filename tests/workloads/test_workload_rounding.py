"""What rounding must not decide: the sum of a chain, and the experts of a token."""

import numpy as np
import pytest

from stackwars.measure import checks, workloads
from stackwars.measure.workloads import values
from stackwars.measure.workloads.elementwise_chain import SCALE, SHIFT
from stackwars.measure.workloads.elementwise_chain import WORKLOAD as chain
from workloads.presets import CONFIG, FULL, ODD, SMALL

SEEDS = sorted({0, CONFIG.settings.seed})
moe = workloads.load("moe")

# The bound on the elementwise chain's sum.

COMMON = 1e-5
SIZES = {"elements": 10_000_000}


def error(terms: np.ndarray, accumulators: int) -> float:
    """Relative error of adding the terms up one after the other in so many float32 accumulators."""
    sums = np.cumsum(terms.astype(np.float32).reshape(-1, accumulators), axis=0)[-1]
    exact = terms.sum()
    return abs(sums.sum(dtype=np.float64) - exact) / exact


@pytest.fixture(scope="module")
def terms() -> list[np.ndarray]:
    sets = chain.input_sets(SIZES, 2025)
    numbers = [one["x"].astype(np.float64) for one in sets]
    return [np.tanh(SCALE * x + SHIFT) / (1 + np.exp(-x)) + np.exp(-x * x) for x in numbers]


@pytest.mark.parametrize("accumulators", [8, 32])
def test_the_sum_of_a_vectorised_loop_is_within_the_bound(terms, accumulators):
    errors = [error(one, accumulators) for one in terms]
    assert max(errors) > COMMON
    assert max(errors) < chain.parity_rel_l2(SIZES)


def test_one_accumulator_is_refused(terms):
    assert np.hypot(*(error(one, 1) for one in terms)) / np.sqrt(2) > 5 * chain.parity_rel_l2(SIZES)


def test_a_short_sum_has_the_common_bound():
    assert checks.parity_limit("elementwise_chain", {"elements": 10_000}, COMMON) == COMMON
    assert checks.parity_limit("elementwise_chain", SIZES, COMMON) == pytest.approx(2e-3)
    assert checks.parity_limit("gemm", {"m": 1, "k": 1, "n": 1}, COMMON) == COMMON


# The router of the mixture of experts decides by a margin, and uses every expert.

ROUTER_MARGIN = 5  # times the error of a logit in float32


def logits(sizes: dict[str, int], seed: int, kind: type) -> list[np.ndarray]:
    """Return (tokens, experts) for each set of inputs."""
    name = "router.weight"
    weight = values.leaf(name, moe.parameters(sizes)[name], seed).astype(kind)
    return [one["x"].astype(kind) @ weight.T for one in moe.input_sets(sizes, seed)]


@pytest.mark.parametrize("sizes", [FULL["moe"], SMALL["moe"], *ODD["moe"]], ids=str)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_choice_is_within_the_rounding_of_logits(sizes, seed):
    exact, rounded = (logits(sizes, seed, kind) for kind in (np.float64, np.float32))
    for one, other in zip(exact, rounded, strict=True):
        ranked = np.sort(one, axis=-1)
        gap = ranked[:, -sizes["chosen"]] - ranked[:, -sizes["chosen"] - 1]
        assert gap.min() > ROUTER_MARGIN * np.abs(one - other).max()


@pytest.mark.parametrize("seed", SEEDS)
def test_every_expert_has_tokens_and_the_sets_differ_in_how_many(seed):
    sizes = FULL["moe"]
    rows = [
        np.bincount(np.argsort(one)[:, -sizes["chosen"] :].ravel(), minlength=sizes["experts"])
        for one in logits(sizes, seed, np.float64)
    ]
    assert min(map(np.min, rows)) > 0
    assert (rows[0] != rows[1]).any()
