"""What a framework has no form of, and why it is refused."""

import json
import re

import pytest

from frameworks.probed import run_code
from stackwars.study.config import load

pytestmark = pytest.mark.env
SMALL = load().presets["smoke"].sizes


REFUSED = """
from importlib import import_module
import json, sys
from stackwars.measure import workloads
framework = import_module(f"stackwars.measure.frameworks.{sys.argv[1]}")
for case, sizes in json.loads(sys.argv[2]).items():
    build, inputs = workloads.build(case, framework.DIALECT), workloads.load(case).inputs(sizes, 0)
    try:
        framework.Session("cpu", "highest").build(build, sizes, 0, [inputs])
    except NotImplementedError as error:
        print("refused", case, error)
"""


@pytest.mark.parametrize(
    ("name", "cases", "why"),
    [
        ("torchax", ["moe_sorted", "newton_readback"], "what this module reads back"),
        ("torch_xla_dynamo", ["newton", "scan_rnn"], "the body of a loop"),
        ("tensorflow_xla", ["moe_sorted"], "its sizes depend on values"),
        ("torch_inductor_frozen", ["train_mlp"], "makes constants of the weights"),
        ("jax_openvino", ["train_mlp"], "does not update its weights"),
        ("torch_openvino", ["train_mlp"], "does not update its weights"),
    ],
)
def test_what_a_framework_has_no_form_of_is_refused_with_the_reason(name, cases, why):
    done = run_code(name, REFUSED, name, json.dumps({case: SMALL[case] for case in cases}))
    told = [line for line in done.stdout.splitlines() if line.startswith("refused")]
    assert [line.split()[1] for line in told] == cases, done.stderr[-2000:]
    assert all(why in line for line in told)


WRONG = """
import json, sys
import numpy as np
from stackwars.measure import workloads
from stackwars.measure.frameworks import tensorflow_xla
tf = tensorflow_xla.load()
sizes = json.loads(sys.argv[1])
parameters, function = workloads.build("moe_sorted", "tensorflow")(sizes, 0, tf.Variable)
x = tf.constant(workloads.load("moe_sorted").inputs(sizes, 0)["x"])
graph, xla = (
    tf.function(lambda x: function(parameters, x), jit_compile=jit)(x).numpy()
    for jit in (False, True)
)
print("apart", np.linalg.norm(graph - xla) / np.linalg.norm(graph))
"""


def test_xla_in_tensorflow_gets_sizes_that_depend_on_values_wrong():
    # Should it ever be right, tensorflow_xla need not refuse it.
    done = run_code("tensorflow_xla", WRONG, json.dumps(SMALL["moe_sorted"]))
    apart = re.search(r"^apart (\S+)$", done.stdout, re.MULTILINE)
    assert done.returncode < 0 or float(apart[1]) > 0.1, done.stderr[-2000:]
