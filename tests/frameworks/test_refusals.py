"""What a framework has no form of, and why it is refused."""

import re
import subprocess

import pytest

from frameworks.probed import pins
from stackwars.setup.environments import REPOSITORY, clean_environ, ensure

pytestmark = pytest.mark.env


def run(name: str, code: str, *arguments: str) -> subprocess.CompletedProcess:
    """That code in the environment of a framework."""
    paths = clean_environ({"PYTHONPATH": f"{REPOSITORY / 'src'}:{REPOSITORY / 'tests'}"})
    command = [ensure(pins(name)), "-c", code, *arguments]
    return subprocess.run(command, env=paths, capture_output=True, text=True)


REFUSED = """
from importlib import import_module
import sys
from workloads.sizes import SMALL, UPDATING
name, *cases = sys.argv[1:]
framework = import_module(f"stackwars.frameworks.{name}")
sizes = SMALL | UPDATING
for case in cases:
    workload = import_module(f"stackwars.workloads.{case}")
    build = import_module(f"stackwars.workloads.{case}.in_{framework.DIALECT}").build
    try:
        framework.Session("cpu", "highest").build(
            build, sizes[case], 0, [workload.inputs(sizes[case], 0)]
        )
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
    ],
)
def test_what_a_framework_has_no_form_of_is_refused_with_the_reason(name, cases, why):
    done = run(name, REFUSED, name, *cases)
    told = [line for line in done.stdout.splitlines() if line.startswith("refused")]
    assert [line.split()[1] for line in told] == cases, done.stderr[-2000:]
    assert all(why in line for line in told)


WRONG = """
from importlib import import_module
import numpy as np
from stackwars.frameworks import tensorflow_xla
from stackwars.workloads import moe
from stackwars.workloads.moe_sorted import in_tensorflow
from workloads.sizes import SMALL
tf = tensorflow_xla.load()
sizes = SMALL["moe_sorted"]
parameters, function = in_tensorflow.build(sizes, 0, tf.Variable)
x = tf.constant(moe.inputs(sizes, 0)["x"])
graph, xla = (
    tf.function(lambda x: function(parameters, x), jit_compile=jit)(x).numpy()
    for jit in (False, True)
)
print("apart", np.linalg.norm(graph - xla) / np.linalg.norm(graph))
"""


def test_xla_in_tensorflow_gets_sizes_that_depend_on_values_wrong():
    # Should it ever be right, tensorflow_xla need not refuse it.
    done = run("tensorflow_xla", WRONG)
    apart = re.search(r"^apart (\S+)$", done.stdout, re.MULTILINE)
    assert done.returncode < 0 or float(apart[1]) > 0.1, done.stderr[-2000:]
