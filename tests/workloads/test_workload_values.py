import numpy as np
import pytest

from stackwars.measure.workloads import values

PINNED = [-0.12916441, 0.85892183, -0.37683639, -0.08279672]


def test_a_leaf_is_a_function_of_name_shape_and_seed_alone():
    first = values.leaf("a.weight", (300, 500), 0)
    values.leaf("b.weight", (7, 3), 0)
    np.testing.assert_array_equal(values.leaf("a.weight", (300, 500), 0), first)
    assert not np.array_equal(values.leaf("b.weight", (300, 500), 0), first)
    assert not np.array_equal(values.leaf("a.weight", (300, 500), 1), first)


def test_the_values_of_a_leaf_do_not_change_between_releases():
    """Results of another day are compared by digest: these numbers stay as they are."""
    found = values.leaf("up.weight", (2, 4), 0)[0]
    np.testing.assert_allclose(found, PINNED, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "shape", "mean", "std"),
    [
        ("h.0.mlp.c_fc.weight", (400, 256), 0, 1 / 16),
        ("recurrent.weight", (400, 256), 0, 1 / 32),
        ("embedder.convolution.weight", (400, 16, 4, 4), 0, 1 / 16),
        ("transformer.wte.weight", (400, 256), 0, 0.02),
        ("h.0.key", (4, 4, 100, 64), 0, 1),
        ("embeddings.patch_embeddings.projection.weight", (400, 16, 4, 4), 0, 1 / 16),
        ("ln_1.weight", (100_000,), 1, 0.1),
        ("normalization.running_var", (100_000,), 1, 0.1),
        ("normalization.running_mean", (100_000,), 0, 0.02),
        ("ln_1.bias", (100_000,), 0, 0.02),
    ],
)
def test_moments(name, shape, mean, std):
    found = values.leaf(name, shape, 0)
    assert found.dtype == np.float32
    assert found.shape == shape
    assert found.mean() == pytest.approx(mean, abs=0.02 * std)
    assert found.std() == pytest.approx(std, rel=0.02)


@pytest.mark.parametrize("size", [1, 2, 3, values.CHUNK - 1, values.CHUNK + 1])
def test_any_size_is_filled(size):
    found = values.leaf("a.bias", (size,), 0)
    assert np.unique(found).size > 0.99 * size
    assert values.leaf("scale", (), 0).shape == ()


def test_tokens_cover_the_vocabulary():
    found = values.tokens("input_ids", (50, 40), 0, 10)
    assert found.dtype == np.int32
    assert {*found.ravel().tolist()} == {*range(10)}


def test_images_differ_in_colour_from_tile_to_tile():
    found = values.images("x", 2, 3, 40, 0)
    assert found.shape == (2, 3, 40, 40)
    assert found.dtype == np.float32
    means = found[:, :, : values.TILE, : values.TILE].mean(axis=(2, 3))
    assert np.abs(means[0] - means[1]).max() > 0.1
