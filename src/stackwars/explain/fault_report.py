"""Describe a reduced fault: what is left of the program, what cures it, and a reproducer that was run."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.compilers import XLA, iree
from stackwars.explain import reproducer
from stackwars.explain.ablation import ablate, cures
from stackwars.explain.graph import Graph, Op
from stackwars.explain.question import Question, Side
from stackwars.explain.trial_outcomes import Expected, Outcome
from stackwars.explain.trials import Trials
from stackwars.explain.wrong import Part

SCHEMA = 1
CONSTANT = "stablehlo.constant"


@dataclass
class Found:
    """A program with the fault, and the smallest part of it that has it."""

    side: Side
    trials: Trials
    outcome: Outcome
    expected: Expected | None
    sizes: dict[str, int] = field(default_factory=dict)
    part: Part | None = None
    arrays: dict[int, np.ndarray] | None = None


def empty_document(question: Question) -> dict[str, Any]:
    return {
        "schema": SCHEMA, "name": question.name, "program": question.a.label, "compiler": question.compiler.name,
        "kind": "", "verdict": "", "detail": "", "operations": [0, 0], "region": [], "lines": [], "shapes": {},
        "error": "", "judge": "", "cures": [], "ablation": [], "reproduced": False, "versions": {},
    }  # fmt: skip


def describe_part(question: Question, found: Found, before: int, versions: dict[str, Any]) -> dict[str, Any]:
    """Return what is left of the program, which had so many operations before."""
    parts = found.trials.parts
    ops = parts.operations(found.part)
    places = [found.side.place(op.place) for op in ops if op.place]
    judge = f"jaxlib {versions['evaluator'].get('jaxlib', '')}, each operation alone in float64"
    return {
        "verdict": "reduced",
        "operations": [before, count_operations(found)],
        "region": [describe(parts.graph, op) for op in ops],
        "lines": list(dict.fromkeys(place for place in places if place)),
        "shapes": found.sizes if found.sizes != question.sizes else {},
        "error": found.outcome.detail,
        "judge": judge if found.expected else "",
        "versions": versions,
    }


def count_operations(found: Found) -> int:
    return sum(op.name != CONSTANT for op in found.trials.parts.operations(found.part))


def describe(graph: Graph, op: Op) -> str:
    """Return an operation's name and types."""
    given = ", ".join(graph.types[value] for value in op.operands)
    made = ", ".join(graph.types[value] for value in op.results)
    return f"{op.name} : ({given}) -> {made}"


def find_cures(question: Question, found: Found, text: str, left: float, timeout_s: float) -> dict[str, Any]:
    arrays = list((found.arrays if found.arrays is not None else found.trials.arguments(found.part)).values())
    rows = ablate(
        *(question.compiler, text, arrays, found.expected),
        seconds=0,
        budget_s=max(left, 30),
        timeout_s=timeout_s,
        cap_gib=question.settings["memory_cap_gib"],
    )
    return {"ablation": rows, "cures": cures(rows)}


def reproduce(
    question: Question, found: Found, text: str, document: dict[str, Any], folder: Path, timeout_s: float
) -> dict[str, Any]:
    """Write the reproducer, run it in a fresh process, and return whether it shows the fault."""
    spec, parts = question.compiler, found.trials.parts
    is_xla = spec.module == XLA
    types = [parts.graph.types[value] for value in parts.arguments(found.part)]
    given = None if found.arrays is not None else list(found.trials.arguments(found.part).values())
    fault = reproducer.Fault(
        doc=_doc(question, document),
        module=spec.module,
        options=spec.options if is_xla else iree.flags(spec.options),
        program=text if is_xla else iree.rewritten(text),
        types=reproducer.array_types(types),
        arguments=given,
        expected=found.expected.values if found.expected else [],
        results=_results(found),
        limits=found.expected.limits if found.expected else [],
        timeout_s=timeout_s,
    )
    path = reproducer.write(fault, folder)
    try:
        status, said = reproducer.run(path, spec.python(), 3 * timeout_s)
    except subprocess.TimeoutExpired as error:
        status, said = 2, str(error)
    (folder / "reproduce.log").write_text(f"{said}\n")
    return {"reproduced": status == 1 and "FAULT: " in said}


def _results(found: Found) -> list[np.ndarray]:
    """Return what the suspect gave in place of the right results; those if it gave none."""
    if found.expected is None:
        return []
    return found.outcome.results or found.expected.values


def _doc(question: Question, document: dict[str, Any]) -> str:
    packages = " ".join(f"{name}=={version}" for name, version in document["versions"]["suspect"].items())
    lines = [
        f"{question.compiler.name}: {document['kind']}: {document['error']}",
        "",
        f"{question.a.label}, reduced from {document['operations'][0]} to {document['operations'][1]} operations:",
        *(f"    {line}" for line in document["region"]),
        f"Seen with: pip install {packages}",
    ]
    if document["judge"]:
        lines.append(f"Right values: {document['judge']}")
    if document["cures"]:
        lines.append(f"No fault with: {'; '.join(one['flag'] for one in document['cures'][:4])}")
    return "\n".join(lines)
