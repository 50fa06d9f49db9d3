"""The programs with known faults: what they state, and their right values by other ways than the compilers."""

import csv
import json
import re

import numpy as np
import public_inputs
import pytest

from stackwars import workloads
from stackwars.setup.environments import REPOSITORY, ensure
from stackwars.study.config import load

MODULES = {module.__name__: module for module in public_inputs.load()}
SMALL = {
    "row_squares": {"rows": 5, "columns": 3},
    "cumsum": {"rows": 9, "columns": 2},
    "neighbours": {"side": 5},
    "dilated_window": {"rows": 4, "columns": 3},
}
"""Where the sizes with the fault are too large for the interpreter."""
SEED = 3
DIALECTS = {"jax": "jax", "tensorflow_xla": "tensorflow"}
STATUSES = {"wrong", "crash", "timeout", "unsupported"}


def sizes(name):
    return SMALL.get(name, MODULES[name].FAULT_SIZES)


def expected(name):
    """Both outputs of the reference."""
    workload = MODULES[name].WORKLOAD
    return [workload.reference({}, inputs) for inputs in workload.input_sets(sizes(name), SEED)]


def assert_agree(outputs, references):
    for output, reference in zip(outputs, references, strict=True):
        assert output.shape == reference.shape
        if reference.dtype.kind in "iu":
            assert output.dtype == reference.dtype
            np.testing.assert_array_equal(output, reference)
        else:
            np.testing.assert_allclose(output, reference, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", MODULES)
def test_input_states_its_report_sizes_and_faults(name):
    module, config = MODULES[name], load()
    assert re.fullmatch(r"[\w-]+/[\w-]+ issue \d+", module.ISSUE) if module.ISSUE else module.UPSTREAM
    assert module.ISSUE in module.__doc__ or module.ISSUE.replace("issue", "issues") in module.__doc__
    assert module.FAULT_SIZES.keys() == module.WORKLOAD.SIZES.keys()
    assert module.FAULTS.keys() <= config["compilers"].keys()
    for faults in module.FAULTS.values():
        assert faults.keys() <= set(config["studies"]["matrix"]["programs"])
        assert set(faults.values()) <= STATUSES
        assert not any(DIALECTS.get(program, "torch") in module.WORKLOAD.NO_FORM for program in faults)
    assert module.CURE


def test_faults_without_a_public_report_are_those_of_the_document():
    stated = [module.UPSTREAM for module in MODULES.values() if hasattr(module, "UPSTREAM")]
    document = (REPOSITORY / "docs" / "upstream.md").read_text()
    assert set(stated) <= set(re.findall(r"^## (.*)$", document, re.MULTILINE))


@pytest.mark.parametrize("name", MODULES)
def test_numpy_agrees_with_the_reference(name):
    workload = MODULES[name].WORKLOAD
    weights, function = workloads.build(workload, "numpy")(sizes(name), SEED, np.asarray)
    outputs = [function(weights, *inputs.values()) for inputs in workload.input_sets(sizes(name), SEED)]
    assert_agree(outputs, expected(name))


@pytest.fixture
def lowered(jax_python, tmp_path):
    """Lower JAX's program of an input, and return its folder."""

    def lower(name):
        job = {"workload": name, "sizes": sizes(name), "seed": SEED, "variant": "base"}
        job |= {"framework": "jax", "dialect": "jax", "matmul_precision": "highest"}
        (tmp_path / "job.json").write_text(json.dumps(job))
        arguments = ("--job", str(tmp_path / "job.json"), "--output", str(tmp_path))
        done = public_inputs.run(jax_python, "stackwars.compilers.lower", *arguments)
        assert done.returncode == 0, done.stderr[-2000:]
        return tmp_path

    return lower


def evaluated(folder, environment, judge):
    python = ensure(REPOSITORY / "envs" / f"{environment}.txt")
    done = public_inputs.run(python, "evaluated", str(folder), judge)
    assert done.returncode == 0, done.stderr[-2000:]
    return np.load(folder / "outputs.npy")


@pytest.mark.env
@pytest.mark.parametrize("name", sorted(MODULES.keys() - {"solve3"}))  # it calls LAPACK, the interpreter cannot
def test_interpreter_agrees_with_the_reference(name, lowered):
    assert_agree(evaluated(lowered(name), "xla-0.10.2", "interpreter"), expected(name))


@pytest.mark.env
@pytest.mark.parametrize("environment", ["xla-0.7.1", "xla-0.10.2"])
def test_program_that_calls_lapack_runs(environment, lowered):
    assert_agree(evaluated(lowered("solve3"), environment, "xla"), expected("solve3"))


def test_paper_lists_the_faults_that_the_inputs_have():
    with (REPOSITORY / "paper/published/faults.csv").open(newline="", encoding="utf-8") as file:
        listed = list(csv.DictReader(file))
    assert listed == list(public_inputs.faults()), (
        "fix: write paper/published/faults.csv from the modules again"
    )
