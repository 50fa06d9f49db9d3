"""The router of the mixture of experts decides by a margin, and uses every expert."""

import numpy as np
import pytest

from stackwars.measure.inputs import input_sets
from stackwars.workloads import values
from stackwars.workloads.moe import WORKLOAD as moe
from workloads.presets import CONFIG, FULL, SMALL

SEEDS = (0, CONFIG["settings"]["seed"])
MARGIN = 5  # times the error of a logit in float32


def logits(sizes: dict[str, int], seed: int, kind: type) -> list[np.ndarray]:
    """Of each set of inputs, (tokens, experts)."""
    name = "router.weight"
    weight = values.leaf(name, moe.parameters(sizes)[name], seed).astype(kind)
    return [one["x"].astype(kind) @ weight.T for one in input_sets(moe, sizes, seed)]


@pytest.mark.parametrize("sizes", [FULL["moe"], SMALL["moe"]], ids=["full", "small"])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_choice_is_within_the_rounding_of_logits(sizes, seed):
    exact, rounded = (logits(sizes, seed, kind) for kind in (np.float64, np.float32))
    for one, other in zip(exact, rounded, strict=True):
        ranked = np.sort(one, axis=-1)
        gap = ranked[:, -sizes["chosen"]] - ranked[:, -sizes["chosen"] - 1]
        assert gap.min() > MARGIN * np.abs(one - other).max()


@pytest.mark.parametrize("seed", SEEDS)
def test_every_expert_has_tokens_and_the_sets_differ_in_how_many(seed):
    sizes = FULL["moe"]
    rows = [
        np.bincount(np.argsort(one)[:, -sizes["chosen"] :].ravel(), minlength=sizes["experts"])
        for one in logits(sizes, seed, np.float64)
    ]
    assert min(map(np.min, rows)) > 0
    assert (rows[0] != rows[1]).any()
