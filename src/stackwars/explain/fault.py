"""Find the cause of a wrong value, a crash, a hang or a refusal of one program in one compiler.

The whole program is tried again; then the sizes of its workload are made as small as the fault allows, then
its operations as few. Flags and passes that cure what is left are listed, and a reproducer is written and run
in a fresh process."""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.compilers import XLA, iree
from stackwars.explain import reproducer, shapes
from stackwars.explain.ablation import ablate, cures
from stackwars.explain.graph import Graph, Op
from stackwars.explain.question import Question, Side
from stackwars.explain.trials import HANG, RIGHT, UNKNOWN, WRONG, Expected, Outcome, Trials
from stackwars.explain.workers import Crashed, Refused, TimedOut, Worker
from stackwars.explain.wrong import Part, Reduction
from stackwars.measure.inputs import INPUT_SETS

SCHEMA = 1
CONSTANT = "stablehlo.constant"
BUDGET_S, TIMEOUT_S, HANG_S = 300.0, 60.0, 20.0
"""Seconds of a search, of a command, and of a command of a program that hangs, unless the question says
otherwise."""
SHAPES_SHARE, REGION_SHARE = 0.4, 0.7
"""Shares of the budget after which sizes, and operations, are no longer made fewer."""
STATUSES = {"wrong": "wrong", "crash": "crash", "timeout": "hang", "unsupported": "refused", "oom": "refused"}
"""What a check calls a fault, and what it is called here."""


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


class Search:
    """A search for the cause of the fault of a question's program a."""

    def __init__(
        self, question: Question, suspect: Worker, evaluator: Worker, lower: shapes.Lower | None
    ) -> None:
        self._question, self._suspect, self._evaluator, self._lower = question, suspect, evaluator, lower
        self._budget = float(question.settings.get("budget_s", BUDGET_S))
        self._start = time.monotonic()

    def left(self, share: float = 1.0) -> float:
        """Return the seconds until this share of the budget is spent."""
        return self._start + share * self._budget - time.monotonic()

    def whole(self, side: Side, question: Question | None = None) -> Found:
        """Try a whole program, with each set of inputs until one has the fault."""
        question = question or self._question
        graph = self._graph(side.text)
        values = question.values(side, graph)
        for number in range(INPUT_SETS):
            of_set = [_chosen(get, number) for get in values]
            trials = Trials(self._suspect, self._evaluator, graph, of_set)
            outcome, expected = trials.try_part(trials.parts.whole())
            if outcome.kind != RIGHT:
                break
        return Found(side, trials, outcome, expected, dict(question.sizes), trials.parts.whole())

    def smaller(self, found: Found) -> Found:
        """Return the program with the smallest sizes that have the fault."""
        if not self._lower or not found.sizes:
            return found
        best = found

        def is_faulty(sizes: dict[str, int]) -> bool:
            nonlocal best
            self._check(SHAPES_SHARE)
            side = self._lower(sizes)
            if side is None:
                return False
            try:
                one = self.whole(replace(side, label=found.side.label), replace(self._question, sizes=sizes))
            except (Crashed, TimedOut, Refused, MemoryError, ValueError):
                return False
            if _is_same(one.outcome, found.outcome):
                best = one
            return _is_same(one.outcome, found.outcome)

        sizes = shapes.smallest(found.sizes, is_faulty)
        return best if best.sizes == sizes else found

    def reduce(self, found: Found) -> Found:
        """Return the smallest part with the fault."""
        trials, judged = found.trials, found.outcome.kind == WRONG

        def is_faulty(part: Part) -> bool:
            self._check(REGION_SHARE)
            outcome, _ = trials.try_part(part, judged=judged)
            return _is_same(outcome, found.outcome)

        part = Reduction(trials.parts, is_faulty).run()
        arguments = trials.parts.arguments(part)
        types = [trials.parts.graph.types[value] for value in arguments]
        arrays = dict(zip(arguments, reproducer.seeded(reproducer.array_types(types)), strict=True))
        outcome, expected = trials.try_part(part, arrays, judged=judged)
        if not _is_same(outcome, found.outcome):
            arrays, (outcome, expected) = None, trials.try_part(part, judged=judged)
        if expected is None:
            with contextlib.suppress(Crashed, TimedOut, Refused, MemoryError):
                given = trials.arguments(part) if arrays is None else arrays
                expected = trials.expected(part, given, trials.text(part))
        return replace(found, part=part, arrays=arrays, outcome=outcome, expected=expected)

    def pretty(self, text: str) -> str:
        """Return a program in the short form, by whichever XLA knows all of its operations."""
        for worker in (self._evaluator, self._suspect):
            if worker.spec.module == XLA:
                with contextlib.suppress(Refused):
                    return worker.pretty(text)
        return text

    def _check(self, share: float) -> None:
        if self.left(share) < 0:
            raise TimeoutError("no time is left")

    def _graph(self, text: str) -> Graph:
        try:
            return self._evaluator.generic(text)
        except Refused:
            if self._suspect.spec.module != XLA:
                raise
            # Such as an operation that the evaluator's release does not have.
            return self._suspect.generic(text)


def _is_same(outcome: Outcome, other: Outcome) -> bool:
    return (outcome.kind, outcome.signature) == (other.kind, other.signature)


def _chosen(get: Callable[[int], np.ndarray], number: int) -> Callable[[int], np.ndarray]:
    def value(_: int) -> np.ndarray:
        return get(number)

    return value


def find(question: Question, folder: Path, lower: shapes.Lower | None = None) -> dict[str, Any]:
    """Return the document of fault.json; write the reduced program and the reproducer into the folder."""
    start = time.monotonic()
    settings = question.settings
    hangs = STATUSES.get(question.suspect.get("status", "")) == HANG
    timeout_s = HANG_S if hangs else float(settings.get("timeout_s", TIMEOUT_S))
    cap = settings.get("memory_cap_gib", "auto")
    document = _document(question)
    with (
        Worker(question.compiler, timeout_s=timeout_s, cap_gib=cap) as suspect,
        Worker(question.evaluator, cap_gib=cap) as evaluator,
    ):
        search = Search(question, suspect, evaluator, lower)
        found = search.whole(question.a)
        document["kind"] = found.outcome.kind
        document["error"] = found.outcome.detail
        if found.outcome.kind in (RIGHT, UNKNOWN):
            is_right = found.outcome.kind == RIGHT
            document["kind"] = STATUSES.get(question.suspect.get("status", ""), WRONG)
            document["verdict"] = "right" if is_right else "not reduced"
            document["detail"] = (
                "the program is right when it is tried again" if is_right else found.outcome.detail
            )
        else:
            before = _count(found)
            reduced = search.reduce(search.smaller(found))
            text = search.pretty(reduced.trials.text(reduced.part))
            versions = {"suspect": suspect.versions(), "evaluator": evaluator.versions()}
            suspect.close()
            document |= _describe(question, reduced, before, versions)
            document |= _cured(question, reduced, text, search.left(), timeout_s)
            document |= _reproduced(question, reduced, text, document, folder, timeout_s)
            document["detail"] = _sentence(document)
        document["seconds"] = round(time.monotonic() - start, 1)
    return document


def _document(question: Question) -> dict[str, Any]:
    return {
        "schema": SCHEMA, "name": question.name, "program": question.a.label, "compiler": question.compiler.name,
        "kind": "", "verdict": "", "detail": "", "operations": [0, 0], "region": [], "lines": [], "shapes": {},
        "reduced": "", "error": "", "judge": "", "cures": [], "ablation": [], "reproduced": False, "versions": {},
        "seconds": 0.0,
    }  # fmt: skip


def _describe(question: Question, found: Found, before: int, versions: dict[str, Any]) -> dict[str, Any]:
    """Return what is left of the program, which had so many operations before."""
    parts = found.trials.parts
    ops = parts.operations(found.part)
    places = [found.side.place(op.place) for op in ops if op.place]
    judge = f"jaxlib {versions['evaluator'].get('jaxlib', '')}, each operation alone in float64"
    return {
        "verdict": "reduced",
        "operations": [before, _count(found)],
        "region": [describe(parts.graph, op) for op in ops],
        "lines": list(dict.fromkeys(place for place in places if place)),
        "shapes": found.sizes if found.sizes != question.sizes else {},
        "reduced": reproducer.PROGRAM,
        "error": found.outcome.detail,
        "judge": judge if found.expected else "",
        "versions": versions,
    }


def _count(found: Found) -> int:
    return sum(op.name != CONSTANT for op in found.trials.parts.operations(found.part))


def describe(graph: Graph, op: Op) -> str:
    """Return an operation's name and types."""
    given = ", ".join(graph.types[value] for value in op.operands)
    made = ", ".join(graph.types[value] for value in op.results)
    return f"{op.name} : ({given}) -> {made}"


def _cured(question: Question, found: Found, text: str, left: float, timeout_s: float) -> dict[str, Any]:
    arrays = list((found.arrays if found.arrays is not None else found.trials.arguments(found.part)).values())
    rows = ablate(
        question.compiler, text, arrays, found.expected, seconds=0, budget_s=max(left, 30), timeout_s=timeout_s
    )
    return {"ablation": rows, "cures": cures(rows)}


def _reproduced(
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
        status, said = reproducer.run(path, spec.python or sys.executable, 3 * timeout_s)
    except subprocess.TimeoutExpired as error:
        status, said = 2, str(error)
    (folder / "reproduce.log").write_text(f"{said}\n")
    return {
        "reproduced": status == 1 and "FAULT: " in said,
        "reproducer": reproducer.REPRODUCER,
        "said": said[-2000:],
    }


def _results(found: Found) -> list[np.ndarray]:
    """Return what the suspect gave in place of the right results; those if it gave none."""
    if found.expected is None:
        return []
    return found.outcome.results or found.expected.values


def _doc(question: Question, document: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"]["suspect"].items())
    lines = [
        f"{question.compiler.name}: {document['kind']}: {document['error']}",
        "",
        f"{question.a.label}, reduced from {document['operations'][0]} to {document['operations'][1]} operations:",
        *(f"    {line}" for line in document["region"]),
        f"Versions: {versions}.",
    ]
    if document["judge"]:
        lines.append(f"Right values: {document['judge']}.")
    if document["cures"]:
        lines.append(f"No fault with: {'; '.join(one['flag'] for one in document['cures'][:4])}.")
    return "\n".join(lines)


def _sentence(document: dict[str, Any]) -> str:
    heads = [line.partition(" : ")[0] for line in document["region"]]
    names = ", ".join(head.partition(".")[2] for head in heads if head != CONSTANT)
    sizes = ", ".join(f"{name} {extent}" for name, extent in document["shapes"].items())
    cured = f"; cured by {document['cures'][0]['flag']}" if document["cures"] else "; no flag or pass cures it"
    return (
        f"{document['kind']} with {document['operations'][1]} of {document['operations'][0]} operations ({names})"
        + (f", from {sizes}" if sizes else "")
        + cured
        + ("" if document["reproduced"] else "; the reproducer does not show it")
    )


@contextlib.contextmanager
def lowering(question: Question) -> Iterator[shapes.Lower | None]:
    """Return what lowers the program with other sizes, if the question's settings say how."""
    how = question.settings.get("lower")
    if not how or not question.sizes:
        yield None
    else:
        with shapes.Lowering(how["python"], how["job"]) as lower:
            yield lower


def main() -> None:
    """`python -m stackwars.explain.fault --job FILE --output DIR`: write fault.json, reduced.mlir,
    reproduce.py."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--job", required=True, help="file of the Question, as JSON")
    parser.add_argument("--output", required=True, type=Path, help="folder to write into")
    options = parser.parse_args()
    question = Question.read(options.job)
    options.output.mkdir(parents=True, exist_ok=True)
    with lowering(question) as lower:
        document = find(question, options.output, lower)
    (options.output / "fault.json").write_text(json.dumps(document, indent=1) + "\n")
    print(document["detail"])


if __name__ == "__main__":
    main()
