"""Weights and inputs lie in the same kind of memory in every framework: 64-byte aligned, in small pages."""

import json
from pathlib import Path

import numpy as np
import pytest

from frameworks.probed import run_code
from stackwars.measure.frameworks.numpy import aligned_copy

FRAMEWORKS = ("jax", "numpy", "tensorflow_xla", "torch_eager", "torchax")
# Weights and inputs of 8 MiB, for which NumPy by itself asks for huge pages.
CODE = """
import json, re, sys
import numpy as np
from stackwars.measure import frameworks, workloads
from stackwars.measure.workloads.ffn import WORKLOAD as ffn

module = frameworks.load(sys.argv[1])
sizes = {"batch": 64, "sequence": 64, "features": 512, "hidden": 4096}
used = module.Session("cpu", "highest")
used.build(workloads.build(ffn, module.DIALECT), sizes, 5, ffn.input_sets(sizes, 5))
used.settle()

def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for one in value for leaf in leaves(one)]
    return [value]

def address(leaf):
    for name in ("data_ptr", "unsafe_buffer_pointer"):
        if hasattr(leaf, name):
            return getattr(leaf, name)()
    if hasattr(leaf, "read_value"):
        leaf = leaf.read_value()
    return np.asarray(memoryview(leaf)).ctypes.data

def huge_kb(place):
    inside = False
    for line in open("/proc/self/smaps"):
        if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(found[1], 16) <= place < int(found[2], 16)
        elif inside and line.startswith("AnonHugePages:"):
            return int(line.split()[1])

weights = list(used._module.parameters()) if hasattr(used, "_module") else used._parameters
places = [address(leaf) for leaf in leaves([weights, used._inputs])]
print(json.dumps([[place % 64, huge_kb(place)] for place in places]))
"""


@pytest.mark.env
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_weights_and_inputs_are_aligned_and_in_small_pages(framework, tmp_path):
    done = run_code(framework, CODE, framework, TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
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
