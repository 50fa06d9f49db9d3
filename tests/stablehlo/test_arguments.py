"""Arguments of lowered programs: what stands in for a weight, and what its entry gives back."""

import json
from pathlib import Path

import handmade
import numpy as np
import pytest

from stackwars.core.outcome import Failed
from stackwars.measure.stablehlo import arguments
from stackwars.measure.workloads import values

SEED = 7


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        *(((3, 4, 5), axes) for axes in ((0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1))),
        # A square matrix is told from its transpose, and axes of one keep torch's shape.
        *(((6, 6), axes) for axes in ((0, 1), (1, 0))),
        *(
            (shape, axes)
            for shape in ((7, 1, 3, 3), (1, 7, 3, 3), (7, 3, 1, 1), (1, 1, 3, 1), (5, 1, 1, 4))
            for axes in ((0, 1, 2, 3), (2, 3, 1, 0), (3, 1, 0, 2))
        ),
    ],
)
def test_transposed_weight_comes_back_transposed(shape, axes):
    entry = arguments.of_array(arguments.leaf("w", shape, 1).transpose(axes))
    assert (entry.kind, entry.name, entry.shape) == ("weight", "w", shape)
    assert 1 in shape or entry.axes == axes
    np.testing.assert_array_equal(entry.value(SEED, {}), values.leaf("w", shape, SEED).transpose(axes))


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (np.tril(np.ones((4, 4), bool)), "constant"),
        (np.array(0.125, np.float32), "constant"),
        (np.zeros((2, 3), np.int32), "zeros"),
    ],
)
def test_array_that_is_no_weight_keeps_its_values_shape_and_type(array, kind):
    entry = arguments.of_array(array)
    back = entry.value(SEED, {})
    assert (entry.kind, back.dtype, back.shape) == (kind, array.dtype, array.shape)
    np.testing.assert_array_equal(back, array)
    assert bool(entry.base64) == (kind == "constant")


def test_results_have_their_names_and_torchs_axes():
    rows = [{"name": "up.weight", "axes": [1, 0]}, {"name": ""}, {"name": "output", "axes": []}]
    values = [np.arange(6).reshape(2, 3), np.zeros(()), np.ones(2)]
    found = arguments.named({"results": rows}, values)
    assert list(found) == ["up.weight", "output"]
    assert np.array_equal(found["up.weight"], values[0].T)
    assert list(arguments.named({}, values[:1])) == ["output"]
    with pytest.raises(Failed, match=r"expected the 3 results .* got 1"):
        arguments.named({"results": rows}, values[:1])


def test_a_loaded_program_has_the_values_names_and_keys_of_its_arguments(tmp_path):
    sides = {
        name: handmade.write(tmp_path, name, text, steps=True)
        for name, text in {"jax": handmade.JAX_STEP, "torch_xla": handmade.TORCH_STEP}.items()
    }
    jax, torch = (
        arguments.load_program(name, *map(Path, files.values()), "gemm", handmade.SIZES, handmade.SEED)
        for name, files in sides.items()
    )
    weight, left = jax.arguments
    assert [one.is_fixed for one in jax.arguments] == [True, False]
    np.testing.assert_array_equal(weight(1), values.leaf("up.weight", (64, 32), handmade.SEED).T)
    assert not np.array_equal(left(0), left(1))
    # The input is one array; the weights differ in their layout.
    assert [one.key for one in torch.arguments].index(left.key) == 0
    assert weight.key not in [one.key for one in torch.arguments]
    other = arguments.load_program("jax", *map(Path, sides["jax"].values()), "gemm", handmade.SIZES, 1)
    assert not {one.key for one in other.arguments} & {weight.key, left.key}
    assert list(jax.named([np.zeros((32, 64)), np.zeros((16, 64))])) == ["up.weight", "output"]
    assert (jax.file, jax.text, jax.missing) == ("program.mlir", handmade.JAX_STEP, "")


def test_unknown_kind_is_refused(tmp_path):
    path = tmp_path / "arguments.json"
    path.write_text(json.dumps({"arguments": [{"kind": "weigth", "name": "w"}]}))
    with pytest.raises(ValueError, match="got 'weigth'"):
        arguments.load(path)
