"""Programs of tests/explain/public with known faults of compilers: their statements, their right values, and the
verdicts on a wrong and a right program.

Besides its functions, whose default sizes are the smallest with the fault, the file of a fault has

    ISSUE        the public report that the computation is from; "" for one that this project found
    UPSTREAM     the section of docs/upstream.md about a fault that has no public report
    FAULTS       {compiler: {program: status}}; every other program of a frontend with a form is ok there
    CURE         what removes the fault

A verdict fails when a new pin repairs its fault: then its FAULTS are out of date.
"""

import csv
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from lowerings import Lowerings, file_job
from running import run
from stackwars.core import check
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.judge import Expected
from stackwars.core.launch import REPOSITORY
from stackwars.core.program import Program
from stackwars.measure import frameworks, workloads
from stackwars.measure.stablehlo import arguments
from stackwars.measure.workloads.functions import Functions
from stackwars.setup.environments import ensure
from stackwars.study import programs
from stackwars.study.config import load

CONFIG = load()
FRONTENDS = CONFIG.studies["matrix"].programs
FOLDER = REPOSITORY / "tests" / "explain" / "public"
FILES = [file for file in FOLDER.glob("*.py") if "\nFAULTS = " in file.read_text()]
WORKLOADS: dict[str, Functions] = {
    workload.path.stem: workload
    for workload in sorted((workloads.load(str(file)) for file in FILES), key=lambda one: one.ORDER)
}
"""The workloads of the files, by the files' names."""
SMALL = {
    "row_squares": {"rows": 5, "columns": 3},
    "cumsum": {"rows": 9, "columns": 2},
    "neighbours": {"side": 5},
    "dilated_window": {"rows": 4, "columns": 3},
}
"""Sizes for the interpreter of workloads whose sizes with the fault are too large for it."""
SEED = 2025
STATUSES = {"wrong", "crash", "timeout", "unsupported"}


@pytest.mark.parametrize("name", WORKLOADS)
def test_input_states_its_report_and_faults(name):
    workload, module = WORKLOADS[name], WORKLOADS[name].module
    assert re.fullmatch(r"[\w-]+/[\w-]+ issue \d+", module.ISSUE) if module.ISSUE else module.UPSTREAM
    assert module.ISSUE in module.__doc__ or module.ISSUE.replace("issue", "issues") in module.__doc__
    assert module.FAULTS.keys() <= CONFIG.compilers.keys()
    for faults in module.FAULTS.values():
        assert faults.keys() <= set(FRONTENDS)
        assert set(faults.values()) <= STATUSES
        assert not any(frameworks.load(program).DIALECT in workload.NO_FORM for program in faults)
    assert module.CURE


def test_faults_without_a_public_report_are_those_of_the_document():
    modules = [one.module for one in WORKLOADS.values()]
    stated = [module.UPSTREAM for module in modules if hasattr(module, "UPSTREAM")]
    document = (REPOSITORY / "docs" / "upstream.md").read_text()
    assert set(stated) <= set(re.findall(r"^## (.*)$", document, re.MULTILINE))


@pytest.fixture(scope="module")
def started():
    """Return the processes of frontends, and a function that returns the worker of a compiler."""
    with Lowerings() as lowered, ExitStack() as stack:
        workers: dict[str, Worker] = {}

        def worker(compiler: str) -> Worker:
            if compiler not in workers:
                python = ensure(REPOSITORY / programs.compiler_pins(CONFIG, compiler))
                module, options = CONFIG.compilers[compiler].module, CONFIG.compilers[compiler].options
                spec = CompilerSpec(compiler, module, options, str(python))
                workers[compiler] = stack.enter_context(Worker(spec, cap_gib=8, timeout_s=60))
            return workers[compiler]

        yield lowered, worker


def lower(lowered: Lowerings, frontend: str, workload: Functions, folder: Path, sizes: dict) -> Program:
    files = lowered(file_job(frontend, workload.path, SEED, sizes), folder).values()
    return arguments.load_program(frontend, *map(Path, files), str(workload.path), sizes, SEED)


@pytest.mark.env
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_program_agrees_with_its_reference(started, name, tmp_path):
    lowered, worker_of = started
    worker, workload = worker_of("jaxlib-0.10.2"), WORKLOADS[name]
    sizes = SMALL.get(name, workload.DEFAULTS)
    program = lower(lowered, "jax", workload, tmp_path, sizes)
    references, _ = workload.expected(sizes, SEED)
    for which, reference in enumerate(references):
        if name == "solve3":  # it calls LAPACK, the interpreter cannot
            worker.load(name, program.text)
            worker.place(name, program.arguments, which)
            output = worker.call(name, which)[0]
        else:
            output = worker.interpret(program.text, [argument(which) for argument in program.arguments])[0]
        assert output.shape == reference.shape
        if reference.dtype.kind in "iu":
            assert output.dtype == reference.dtype
            np.testing.assert_array_equal(output, reference)
        else:
            np.testing.assert_allclose(output, reference, rtol=1e-5, atol=1e-5)


def case(workload: Functions) -> tuple[str, str, str | None]:
    """Return a compiler with a fault, a program that has it there, and one that is right if there is any."""
    every = list(workload.module.FAULTS.items())
    graver = [(c, faults) for c, faults in every if set(faults.values()) & {"wrong", "crash"}]
    compiler, faults = (graver or every)[0]
    dialects = {one: frameworks.load(one).DIALECT for one in FRONTENDS}
    right = [one for one, dialect in dialects.items() if one not in faults and dialect not in workload.NO_FORM]
    return compiler, next(iter(faults)), next(iter(right), None)


@pytest.mark.env
@pytest.mark.parametrize("name", [name for name, workload in WORKLOADS.items() if workload.module.FAULTS])
def test_known_fault_is_named_and_a_right_program_beside_it_is_not(started, name, tmp_path):
    lowered, worker_of = started
    workload = WORKLOADS[name]
    compiler, wrong, right = case(workload)
    outputs, _ = workload.expected(workload.DEFAULTS, SEED)
    values = {f"output{number}": output for number, output in enumerate(outputs)}
    # The sizes are small, and the faults large.
    expected = Expected("NumPy", limits=dict.fromkeys(values, 1e-5), values=values)
    statuses = {wrong: workload.module.FAULTS[compiler][wrong]} | ({right: "ok"} if right else {})
    for frontend, status in statuses.items():
        program = lower(lowered, frontend, workload, tmp_path / frontend, workload.DEFAULTS)
        found = check.check(worker_of(compiler), program, expected).outcome
        assert found.status == status and bool(found.detail) == (status != "ok"), found
        worker_of(compiler).clear()


def faults() -> Iterator[dict[str, str]]:
    """Yield the rows of paper/published/faults.csv: for each input, compiler and outcome the programs that have it."""
    for workload in WORKLOADS.values():
        for compiler, statuses in workload.module.FAULTS.items():
            for status in dict.fromkeys(statuses.values()):
                yield {
                    # The column beside it names the issue.
                    "title": workload.TITLE.rpartition(": ")[2].capitalize(),
                    "issue": workload.module.ISSUE,
                    "sizes": " ".join(f"{name}={value}" for name, value in workload.DEFAULTS.items()),
                    "compiler": compiler,
                    "status": status,
                    "programs": " ".join(name for name, one in statuses.items() if one == status),
                    "cure": workload.module.CURE,
                }


def test_paper_lists_the_faults_that_the_inputs_have():
    with (REPOSITORY / "paper/published/faults.csv").open(newline="", encoding="utf-8") as file:
        listed = list(csv.DictReader(file))
    assert listed == list(faults()), "fix: write paper/published/faults.csv from the modules again"


SPEC = {
    "framework": "torch_xla", "dialect": "torch", "device": "cpu", "sizes": {"batch": 4}, "repetition": 2,
    "forms": False, "writes_files": True, "partner": None, "expected": "",
    "settings": {
        "seed": 1, "matmul_precision": "highest", "block_calls": 2, "steady_min_blocks": 2,
        "steady_max_blocks": 2, "steady_seconds": 0.0,
    },
}  # fmt: skip


@pytest.mark.env
def test_cell_whose_operations_run_outside_the_compiler_is_unsupported(torch_xla_python, tmp_path):
    (tmp_path / "spec.json").write_text(json.dumps({**SPEC, "workload": str(FOLDER / "solve3.py")}))
    run(torch_xla_python, "-m", "stackwars.measure.child", tmp_path, input='["run", {}]\n', check=False)
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    message = "ran outside the compiler: aten::_linalg_solve_ex"
    last = {key: events[-1].get(key) for key in ("event", "type", "message")}
    assert last == {"event": "raised", "type": "NotImplementedError", "message": message}
