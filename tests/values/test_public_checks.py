"""Programs with known faults in the product's check, which names the wrong program and no other.

Each fails when a new pin repairs its fault: then its FAULTS are out of date.
"""

import pytest
from public_inputs import WORKLOADS

from lowerings import Lowerings, file_job
from running import check_programs
from stackwars.core import judge
from stackwars.measure import frameworks
from stackwars.study import programs
from stackwars.study.config import load

pytestmark = pytest.mark.env
CONFIG, SEED = load(), 2025
FRONTENDS = CONFIG.studies["matrix"].programs
LIMIT = 1e-5
"""Limit of the error of a right value; the sizes are small, and the faults large."""


@pytest.fixture(scope="module")
def lowered():
    with Lowerings() as result:
        yield result


def outcomes(workload, compiler, files, folder):
    """Check the programs of these files in a compiler; return {program: its outcome}."""
    outputs, _ = workload.expected(workload.DEFAULTS, SEED)
    values = {f"output{number}": output for number, output in enumerate(outputs)}
    document = {"judge": "NumPy", "reason": "", "limits": dict.fromkeys(values, LIMIT)}
    judge.write(folder / "expected", values, document)
    job = {
        "workload": str(workload.path), "module": programs.compiler_module(CONFIG, compiler),
        "options": CONFIG.compilers[compiler].options, "sizes": workload.DEFAULTS, "programs": files,
        "settings": {"seed": SEED, "memory_cap_gib": 8, "check_timeout_s": 60}, "expected": str(folder / "expected"),
    }  # fmt: skip
    return check_programs(programs.compiler_pins(CONFIG, compiler), job, folder / "check")["programs"]


def case(workload):
    """Return a compiler with a fault, a program that has it there, and one that is right if there is any."""
    every = list(workload.module.FAULTS.items())
    graver = [(c, faults) for c, faults in every if set(faults.values()) & {"wrong", "crash"}]
    compiler, faults = (graver or every)[0]
    dialects = {one: frameworks.load(one).DIALECT for one in FRONTENDS}
    right = [one for one, dialect in dialects.items() if one not in faults and dialect not in workload.NO_FORM]
    return compiler, next(iter(faults)), next(iter(right), None)


CASES = {name: case(one) for name, one in WORKLOADS.items() if one.module.FAULTS}


@pytest.mark.parametrize("name", CASES)
def test_known_fault_is_named_and_a_right_program_beside_it_is_not(lowered, name, tmp_path):
    workload, (compiler, wrong, right) = WORKLOADS[name], CASES[name]
    chosen = [one for one in (wrong, right) if one]
    files = {one: lowered(file_job(one, workload.path, SEED), tmp_path / one) for one in chosen}
    found = outcomes(workload, compiler, files, tmp_path)
    statuses = {one: outcome["status"] for one, outcome in found.items()}
    status = workload.module.FAULTS[compiler][wrong]
    assert statuses == {wrong: status, **({right: "ok"} if right else {})}, found
    assert found[wrong]["status_detail"]
