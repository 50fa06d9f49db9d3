"""Programs with known faults: their statements, and their right values without the compilers under test."""

import csv
import re

import numpy as np
import public_inputs
import pytest
from public_inputs import WORKLOADS

from lowerings import Lowerings, file_job
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.launch import REPOSITORY
from stackwars.measure import frameworks
from stackwars.measure.stablehlo import arguments
from stackwars.setup.environments import ensure
from stackwars.study.config import load

SMALL = {
    "row_squares": {"rows": 5, "columns": 3},
    "cumsum": {"rows": 9, "columns": 2},
    "neighbours": {"side": 5},
    "dilated_window": {"rows": 4, "columns": 3},
}
"""Sizes for the interpreter of workloads whose sizes with the fault are too large for it."""
SEED = 3
STATUSES = {"wrong", "crash", "timeout", "unsupported"}


@pytest.mark.parametrize("name", WORKLOADS)
def test_input_states_its_report_and_faults(name):
    workload, module, config = WORKLOADS[name], WORKLOADS[name].module, load()
    assert re.fullmatch(r"[\w-]+/[\w-]+ issue \d+", module.ISSUE) if module.ISSUE else module.UPSTREAM
    assert module.ISSUE in module.__doc__ or module.ISSUE.replace("issue", "issues") in module.__doc__
    assert module.FAULTS.keys() <= config.compilers.keys()
    for faults in module.FAULTS.values():
        assert faults.keys() <= set(config.studies["matrix"].programs)
        assert set(faults.values()) <= STATUSES
        assert not any(frameworks.load(program).DIALECT in workload.NO_FORM for program in faults)
    assert module.CURE


def test_faults_without_a_public_report_are_those_of_the_document():
    modules = [one.module for one in WORKLOADS.values()]
    stated = [module.UPSTREAM for module in modules if hasattr(module, "UPSTREAM")]
    document = (REPOSITORY / "docs" / "upstream.md").read_text()
    assert set(stated) <= set(re.findall(r"^## (.*)$", document, re.MULTILINE))


@pytest.mark.env
def test_programs_agree_with_their_references(tmp_path):
    spec = CompilerSpec("xla-0.10.2", python=str(ensure(REPOSITORY / "envs/xla-0.10.2.txt")))
    with Lowerings() as lowered, Worker(spec) as worker:
        for name, workload in WORKLOADS.items():
            sizes = SMALL.get(name, workload.DEFAULTS)
            files = lowered(file_job("jax", workload.path, SEED, sizes), tmp_path / name).values()
            program = arguments.load_program(
                name, *map(REPOSITORY.joinpath, files), str(workload.path), sizes, SEED
            )
            references, _ = workload.expected(sizes, SEED)
            for which, reference in enumerate(references):
                if name == "solve3":  # it calls LAPACK, the interpreter cannot
                    worker.load(name, program.text)
                    worker.place(name, program.arguments, which)
                    output = worker.call(name, which)[0]
                else:
                    given = [argument(which) for argument in program.arguments]
                    output = worker.interpret(program.text, given)[0]
                assert output.shape == reference.shape, name
                if reference.dtype.kind in "iu":
                    assert output.dtype == reference.dtype, name
                    np.testing.assert_array_equal(output, reference, name)
                else:
                    np.testing.assert_allclose(output, reference, rtol=1e-5, atol=1e-5, err_msg=name)


def test_paper_lists_the_faults_that_the_inputs_have():
    with (REPOSITORY / "paper/published/faults.csv").open(newline="", encoding="utf-8") as file:
        listed = list(csv.DictReader(file))
    assert listed == list(public_inputs.faults()), (
        "fix: write paper/published/faults.csv from the modules again"
    )
