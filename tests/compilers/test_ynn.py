"""The smallest program found whose result YNN gets wrong in jaxlib 0.10.2 (reported as jax-ml/jax#39103).

A product with a 3 x 3 matrix, squared and summed over the 3, for 32,769 rows: one more than the block that YNN
works on. The row behind the block is wrong, and right without YNN; which value it gets depends on the processor
(on an AMD EPYC, that of the row 128 before it). The outputs of the workloads show nothing of the kind. Where
nothing is wrong any more, jaxlib is a newer one: delete this test.
"""

import json
import subprocess

import pytest

from stackwars.setup.environments import REPOSITORY, clean_environ, ensure

pytestmark = pytest.mark.env
BLOCK = 32768
PROBE = """
import json
import numpy as np
from stackwars.compilers.xla import Compiler

TEXT = '''module @rows {
  func.func @main(%w: tensor<3x3xf32>, %x: tensor<ROWSx3xf32>) -> tensor<ROWSxf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.dot_general %w, %x, contracting_dims = [1] x [1]
      : (tensor<3x3xf32>, tensor<ROWSx3xf32>) -> tensor<3xROWSxf32>
    %1 = stablehlo.multiply %0, %0 : tensor<3xROWSxf32>
    %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<3xROWSxf32>, tensor<f32>) -> tensor<ROWSxf32>
    return %2 : tensor<ROWSxf32>
  }
}'''

def wrong(rows, options):
    random = np.random.default_rng(1)
    w, x = (random.standard_normal((n, 3)).astype(np.float32) for n in (3, rows))
    compiler = Compiler("cpu", options)
    program = compiler.compile(TEXT.replace("ROWS", str(rows)))
    program.buffers = [[compiler.put(w), compiler.put(x)]]
    expected = ((w.astype(float) @ x.T.astype(float)) ** 2).sum(0)
    found = program.fetch(program.call(0))[0]
    off = np.flatnonzero(abs(found - expected) > 1e-4 * expected)
    return {"ynn": program.facts()["ynn"], "rows": off.tolist()}

OFF = {"xla_cpu_experimental_ynn_fusion_type": ""}
print(json.dumps([[wrong(rows, o) for o in ({}, OFF)] for rows in (32768, 32769)]))
"""


def test_ynn_gets_the_row_behind_its_first_block_wrong():
    python = ensure(REPOSITORY / "envs" / "xla-0.10.2.txt")
    done = subprocess.run([str(python), "-c", PROBE], env=clean_environ({}), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    one_block, one_more = json.loads(done.stdout)
    assert [case["ynn"] for case in (*one_block, *one_more)] == [1, 0, 1, 0]
    assert [case["rows"] for case in (*one_block, *one_more)] == [[], [], [BLOCK], []]
