"""What a framework has no form of, and why it is refused; test_workload_dialects.py asks the other frameworks."""

import json

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
        ("torch_xla_dynamo", ["newton", "scan_rnn"], "the body of a loop"),
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
