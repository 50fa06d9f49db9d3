"""Weights and inputs lie in the same kind of memory in every framework: 64-byte aligned, in small pages."""

from pathlib import Path

import numpy as np
import pytest

from frameworks.probe import IN_MEMORY
from frameworks.probed import probe
from stackwars.measure.frameworks.numpy import aligned_copy


@pytest.mark.env
@pytest.mark.parametrize("framework", IN_MEMORY)
def test_weights_and_inputs_are_aligned_and_in_small_pages(framework):
    found = probe(framework, "small")["memory"]
    assert len(found) >= 4, "two weights and an input of each set"
    assert {offset for offset, _ in found} == {0}
    if "[always]" not in Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text():
        assert {size for _, size in found} == {0}


@pytest.mark.parametrize("shape", [(), (0,), (3,), (5, 7)])
def test_aligned_copy_has_the_values_and_the_alignment(shape):
    array = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape).T
    result = aligned_copy(array)
    np.testing.assert_array_equal(result, array, strict=True)
    assert result.size == 0 or result.ctypes.data % 64 == 0
    assert result.flags.c_contiguous
    assert not np.shares_memory(result, array)
