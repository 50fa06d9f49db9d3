"""What a build makes: every weight once, one at a time, and nothing else."""

import json

import numpy as np
import pytest

from stackwars.measure import workloads
from workloads.presets import FULL, SMALL

pytestmark = pytest.mark.env
STATELESS = {n: s for n, s in FULL.items() if not workloads.load(n).STATE}


@pytest.fixture(scope="module")
def built(in_dialect):
    """What `built` finds in JAX and in torch."""
    given = json.dumps({"small": SMALL, "full": STATELESS, "rope": FULL["llama3_8b"]})
    return {
        dialect: json.loads(in_dialect(dialect, "-m", "workloads.built", dialect, input=given).splitlines()[-1])
        for dialect in ("jax", "torch")
    }


def test_full_sizes_in_jax_and_flops_within_a_tenth_of_those_xla_counts(built):
    assert built["jax"]["full"]
    for name, (weights, flops) in built["jax"]["full"].items():
        module = workloads.load(name)
        assert weights == module.parameter_count(FULL[name]), name
        if module.flops(FULL[name]):
            assert module.flops(FULL[name]) == pytest.approx(flops, rel=0.1), name


def test_full_sizes_in_torch_with_masks_no_longer_than_the_sequence(built):
    assert built["torch"]["full"].keys() == STATELESS.keys()
    for name, (weights, constants) in built["torch"]["full"].items():
        assert weights == workloads.load(name).parameter_count(FULL[name]), name
        assert constants <= 100_000, name


def test_rotary_embedding_in_jax_is_that_of_torch(built):
    (frequencies, *table), (in_torch, *table_in_torch) = built["jax"]["rope"], built["torch"]["rope"]
    np.testing.assert_allclose(frequencies, in_torch, rtol=1e-6)
    # An angle of thousands of radians keeps about 1e-3 of a radian in float32.
    np.testing.assert_allclose(table, table_in_torch, atol=2e-3)
