"""The programs with known faults through the product's check: the guilty program is named, and nothing else.

Each fails when a new pin repairs its fault: then its FAULTS are out of date.
"""

import json

import public_inputs
import pytest

from stackwars import compilers, frameworks
from stackwars.measure import judge
from stackwars.setup.environments import REPOSITORY, ensure
from stackwars.study import programs
from stackwars.study.config import load

pytestmark = pytest.mark.env
CONFIG, SEED = load(), 2025
SETTINGS = {"seed": SEED, "memory_cap_gib": 8, "check_timeout_s": 60}
FRONTENDS = CONFIG["studies"]["matrix"]["programs"]
LIMIT = 1e-5
"""Of the error of a right value; the sizes are small, and the faults large."""


def expected(module, folder):
    """Write the right values of both sets of inputs."""
    outputs, _ = module.WORKLOAD.expected(module.FAULT_SIZES, SEED)
    values = {f"output{number}": output for number, output in enumerate(outputs)}
    document = {"judge": "NumPy", "reason": "", "limits": dict.fromkeys(values, LIMIT)}
    judge.write(folder, values, document)


def lowered(name, framework, module, folder):
    """Lower a framework's program into the folder and return its files."""
    job = {"workload": name, "sizes": module.FAULT_SIZES, "seed": SEED, "variant": "base"}
    job |= {
        "framework": framework,
        "dialect": frameworks.load(framework).DIALECT,
        "matmul_precision": "highest",
    }
    folder.mkdir()
    (folder / "job.json").write_text(json.dumps(job))
    python = ensure(REPOSITORY / programs.lower_pins(CONFIG, framework))
    arguments = ("--job", str(folder / "job.json"), "--output", str(folder))
    done = public_inputs.run(python, "stackwars.compilers.lower", *arguments)
    assert done.returncode == 0, done.stderr[-2000:]
    return {"program": str(folder / "program.mlir.gz"), "arguments": str(folder / "arguments.json")}


def outcomes(name, module, compiler, chosen, folder):
    """Check these frontends' programs in a compiler; return {program: its outcome}."""
    expected(module, folder / "expected")
    files = {one: lowered(name, one, module, folder / one) for one in chosen}
    row = CONFIG["compilers"][compiler]
    job = {
        "workload": name, "variant": "base", "device": "cpu", "preset": "test", "compiler": compiler,
        "module": row.get("module", compilers.XLA), "options": row.get("options", {}),
        "sizes": module.FAULT_SIZES, "settings": SETTINGS, "programs": files,
        "expected": str(folder / "expected"),
    }  # fmt: skip
    (folder / "check-job.json").write_text(json.dumps(job))
    python = ensure(REPOSITORY / programs.compiler_pins(CONFIG, compiler))
    arguments = ("--job", str(folder / "check-job.json"), "--output", str(folder / "check"))
    done = public_inputs.run(python, "stackwars.compilers.check", *arguments)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads((folder / "check/check.json").read_text())["programs"]


def case(module):
    """Return a compiler with a fault, a program that has it there, and one that is right if there is any."""
    every = [(compiler, faults) for compiler, faults in module.FAULTS.items()]
    graver = [(c, faults) for c, faults in every if set(faults.values()) & {"wrong", "crash"}]
    compiler, faults = (graver or every)[0]
    dialects = {one: frameworks.load(one).DIALECT for one in FRONTENDS}
    right = [
        one for one, dialect in dialects.items() if one not in faults and dialect not in module.WORKLOAD.NO_FORM
    ]
    return compiler, next(iter(faults)), next(iter(right), None)


CASES = [
    pytest.param(module, *case(module), id=module.__name__) for module in public_inputs.load() if module.FAULTS
]


@pytest.mark.parametrize(("module", "compiler", "wrong", "right"), CASES)
def test_known_fault_is_named_and_a_right_program_beside_it_is_not(module, compiler, wrong, right, tmp_path):
    found = outcomes(module.__name__, module, compiler, [one for one in (wrong, right) if one], tmp_path)
    statuses = {name: outcome["status"] for name, outcome in found.items()}
    assert statuses == {wrong: module.FAULTS[compiler][wrong], **({right: "ok"} if right else {})}, found
    assert found[wrong]["status_detail"]
