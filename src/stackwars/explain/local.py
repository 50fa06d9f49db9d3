"""Explain program files in this Python's jaxlib: the steps of the workflow's rules, one after the other."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.explain import console, outcomes, page, reference, run_question, table
from stackwars.explain.graph import Graph, GraphError, dtype, shape
from stackwars.explain.outcomes import OutcomesJob
from stackwars.explain.plan import Plan, labelled, stem
from stackwars.explain.question import SETTINGS, Side
from stackwars.explain.workers import CompilerSpec, Refused, Worker
from stackwars.measure import documents, judge

_PARSED_AT = re.compile(r'"?-"?:(\d+):(\d+)')
SEED = 2025


class BadInput(ValueError):
    """The files cannot be explained: one line that names the file, and what was expected."""


def explain(
    paths: list[Path],
    *,
    inputs: Path | None = None,
    bound: float = SETTINGS["bound"],
    output: Path | None = None,
    name: str = "",
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Return the document of explain.json; write all files of the answer, and say what is found as it is found.

    :raises BadInput: for files that cannot be explained.
    """
    plan = planned(paths, inputs, bound, output, name)
    check(plan)
    root = Path(plan.root)
    for label, path in plan.files.items():
        copy = Path(plan.file(label))
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    for label in plan.labels:
        job = OutcomesJob(**plan.reference_job(label))
        judge.write(Path(plan.expected(label)), *reference.reference(job))
    for compiler in plan.compilers:
        found = outcomes.outcomes(OutcomesJob(**plan.outcomes_job(compiler)))
        documents.write(Path(plan.outcomes(compiler)), found)
    found = table.build(plan)
    documents.write(root / "table.json", found)
    say(console.wrapped(console.lines(found)))
    answers = []
    for row in found["questions"]:
        folder = Path(plan.answer(row))
        documents.write(folder / "question.json", plan.question(row))
        answer = run_question.run(row["kind"], folder / "question.json", folder)
        answers.append(folder / f"{row['kind']}.json")
        say("\n" + console.wrapped([console.paragraph(row["kind"], answer)]))
    document = page.write(plan, found, answers, root)
    say("\n" + console.wrapped([document["headline"], *page.written(root)]))
    return document


def planned(paths: list[Path], inputs: Path | None, bound: float, output: Path | None, name: str) -> Plan:
    """Return the plan of program files in this Python.

    :raises BadInput: for a file that does not exist, and without a jaxlib.
    """
    for path in (*paths, *([inputs] if inputs else [])):
        if not path.is_file():
            raise BadInput(f"{path}: expected a file, got none; fix: the path")
    try:
        version = metadata.version("jaxlib")
    except metadata.PackageNotFoundError:
        raise BadInput("expected a Python with jaxlib, got none; fix: pip install jax") from None
    compiler = CompilerSpec(f"jaxlib-{version}")
    name = name or "-".join(dict.fromkeys(map(stem, paths)))
    given = f" --inputs {inputs}" if inputs else ""
    return Plan(
        name=name,
        title=" and ".join(map(str, paths)),
        root=str(output or Path("explain", name)),
        compilers={compiler.name: compiler},
        evaluator=compiler,
        files=labelled(paths),
        seed=SEED,
        inputs=str(inputs.resolve()) if inputs else "",
        settings={**SETTINGS, "bound": bound},
        command=f"stackwars explain {' '.join(map(str, paths))}{given}",
    )


def check(plan: Plan) -> None:
    """Refuse files that are no StableHLO, programs with different arguments, and inputs that do not fit.

    :raises BadInput: in one line.
    """
    with Worker(plan.evaluator) as worker:
        graphs = {path: _parsed(worker, Side(label, path)) for label, path in plan.files.items()}
    types = {path: [graph.types[argument] for argument in graph.arguments] for path, graph in graphs.items()}
    (first, wanted), *others = types.items()
    for path, got in others:
        if got != wanted:
            raise BadInput(
                f"{path}: expected the arguments of {first}, ({', '.join(wanted)}), got ({', '.join(got)}); "
                "fix: give programs of the same computation"
            )
    if plan.inputs:
        check_inputs(Path(plan.inputs), wanted)


def _parsed(worker: Worker, side: Side) -> Graph:
    try:
        return worker.generic(side.text)
    except (OSError, UnicodeDecodeError, NotImplementedError, GraphError) as error:
        raise BadInput(f"{side.program}: expected a StableHLO program, got {error}; fix: that file") from None
    except Refused as error:
        said = " ".join(str(error).split())
        at = _PARSED_AT.search(said)
        place = f":{at[1]}" if at else ""
        said = said.partition("error: ")[2] or said
        raise BadInput(
            f"{side.program}{place}: expected a StableHLO program, got {said[:300]}; fix: that line"
        ) from None


def check_inputs(path: Path, types: list[str]) -> None:
    """Refuse an .npz whose arrays are not the arguments.

    :raises BadInput: naming the array.
    """
    try:
        arrays = dict(np.load(path))
    except (OSError, ValueError, TypeError) as error:
        raise BadInput(
            f"{path}: expected an .npz file of arrays, got {error}; fix: write it with numpy.savez"
        ) from None
    names = [f"arg{number}" for number in range(len(types))]
    if list(arrays) == [f"arr_{number}" for number in range(len(arrays))]:
        names = [f"arr_{number}" for number in range(len(types))]
    if set(arrays) != set(names):
        raise BadInput(
            f"{path}: expected the arrays {', '.join(names)}, got {', '.join(arrays)}; fix: their names"
        )
    for name, kind in zip(names, types, strict=True):
        array = arrays[name]
        if array.shape != shape(kind) or array.dtype.kind != np.dtype(dtype(kind)).kind:
            raise BadInput(
                f"{path}: {name}: expected {kind}, got {array.dtype} of shape {array.shape}; fix: that array"
            )
