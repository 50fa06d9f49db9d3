"""Programs with known faults in the product's check, which names the wrong program and no other.

Each fails when a new pin repairs its fault: then its FAULTS are out of date.
"""

import public_inputs
import pytest
from public_inputs import WORKLOADS

from running import check_programs
from stackwars.core import judge
from stackwars.core.launch import REPOSITORY
from stackwars.measure import frameworks
from stackwars.setup.environments import ensure
from stackwars.study import programs
from stackwars.study.config import load

pytestmark = pytest.mark.env
CONFIG, SEED = load(), 2025
SETTINGS = {"seed": SEED, "memory_cap_gib": 8, "check_timeout_s": 60}
FRONTENDS = CONFIG.studies["matrix"].programs
LIMIT = 1e-5
"""Limit of the error of a right value; the sizes are small, and the faults large."""


def expected(workload, folder):
    """Write the right values of both sets of inputs."""
    outputs, _ = workload.expected(workload.DEFAULTS, SEED)
    values = {f"output{number}": output for number, output in enumerate(outputs)}
    document = {"judge": "NumPy", "reason": "", "limits": dict.fromkeys(values, LIMIT)}
    judge.write(folder, values, document)


def lowered(name, framework, folder):
    """Lower a framework's program into the folder and return its files."""
    python = ensure(REPOSITORY / programs.lower_pins(CONFIG, framework))
    return public_inputs.lower(python, name, WORKLOADS[name].DEFAULTS, framework, SEED, folder)


def outcomes(name, compiler, chosen, folder):
    """Check these frontends' programs in a compiler; return {program: its outcome}."""
    expected(WORKLOADS[name], folder / "expected")
    row = CONFIG.compilers[compiler]
    job = {
        "workload": name, "module": programs.compiler_module(CONFIG, compiler), "options": row.options,
        "sizes": WORKLOADS[name].DEFAULTS, "settings": SETTINGS, "expected": str(folder / "expected"),
        "programs": {one: lowered(name, one, folder / one) for one in chosen},
    }  # fmt: skip
    pins = programs.compiler_pins(CONFIG, compiler)
    command, environ = public_inputs.command("stackwars.measure.stablehlo.check"), public_inputs.environ()
    return check_programs(pins, job, folder / "check", *command, env=environ)["programs"]


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
def test_known_fault_is_named_and_a_right_program_beside_it_is_not(name, tmp_path):
    compiler, wrong, right = CASES[name]
    found = outcomes(name, compiler, [one for one in (wrong, right) if one], tmp_path)
    statuses = {one: outcome["status"] for one, outcome in found.items()}
    status = WORKLOADS[name].module.FAULTS[compiler][wrong]
    assert statuses == {wrong: status, **({right: "ok"} if right else {})}, found
    assert found[wrong]["status_detail"]
