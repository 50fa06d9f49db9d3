"""Find the cause of a wrong value, a crash, a hang or a refusal of one program in one compiler.

The whole program is tried again; then the sizes of its workload are made as small as the fault allows, then its
operations as few. Flags and passes that cure what is left are listed, and a reproducer is written and run in a fresh
process.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from stackwars.compilers import XLA
from stackwars.compilers.lowering import Lowering
from stackwars.explain import loops, reproducer, shapes
from stackwars.explain.fault_report import (
    Found,
    count_operations,
    describe_part,
    empty_document,
    find_cures,
    reproduce,
)
from stackwars.explain.graph import Graph, GraphError
from stackwars.explain.question import Question, Side
from stackwars.explain.trial_outcomes import HANG, RIGHT, UNKNOWN, WRONG, Outcome
from stackwars.explain.trials import Trials, fixed
from stackwars.explain.workers import Crashed, Refused, TimedOut, Worker
from stackwars.explain.wrong import Part, Reduction
from stackwars.measure import documents, limits
from stackwars.workloads.base import INPUT_SETS

HANG_S = 20.0
"""Seconds of a command of a program that hangs."""
SHAPES_SHARE, REGION_SHARE = 0.4, 0.7
"""Shares of the budget after which sizes, and operations, are no longer made fewer."""
AS_EMITTED = "its operations without its functions, attributes and unused arguments are right"


class Search:
    """A search for the cause of the fault of a question's program a."""

    def __init__(
        self, question: Question, suspect: Worker, evaluator: Worker, lower: shapes.Lower | None
    ) -> None:
        self._question, self._suspect, self._evaluator, self._lower = question, suspect, evaluator, lower
        self._start = time.monotonic()

    def left(self, share: float = 1.0) -> float:
        """Return the seconds until this share of the budget is spent."""
        return self._start + share * self._question.settings["budget_s"] - time.monotonic()

    def whole(self, side: Side, question: Question | None = None) -> Found:
        """Try a whole program, with each set of inputs until one has the fault."""
        question = question or self._question
        graph = self._graph(side.text)
        values = question.values(side, graph)
        for number in range(INPUT_SETS):
            of_set = [fixed(get(number)) for get in values]
            trials = Trials(self._suspect, self._evaluator, graph, of_set)
            outcome, expected = trials.try_part(trials.parts.whole())
            if outcome.kind != RIGHT:
                break
        return Found(side, trials, outcome, expected, dict(question.sizes), trials.parts.whole())

    def as_emitted(self, found: Found) -> Found:
        """Try the text as it is: with its functions, unused arguments and attributes, which a part does not have."""
        outcome, expected = found.trials.try_part(found.part, emitted=found.side.text)
        return replace(found, outcome=outcome, expected=expected, arrays=None)

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
                one = self.whole(side, replace(self._question, sizes=sizes))
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

    def enter_loop(self, found: Found) -> Found:
        """Return the fault in the body of a loop, if the loop is all that is left and its body has the fault alone."""
        parts = found.trials.parts
        ops = [op for op in parts.operations(found.part) if op.operands]
        if len(ops) != 1 or ops[0].name != loops.WHILE:
            return found
        arrays = found.trials.arguments(found.part) if found.arrays is None else found.arrays
        given = {**arrays, **found.trials.arrays(found.part.literals)}
        try:
            graph = found.trials.graph(found.part)
            body, values = loops.body(
                self._evaluator, graph, ops[0], [given[value] for value in graph.arguments]
            )
        except (Crashed, TimedOut, Refused, MemoryError, GraphError):
            return found
        inner = replace(body, ops=[replace(op, place=ops[0].place) for op in body.ops])
        trials = Trials(self._suspect, self._evaluator, inner, list(map(fixed, values)))
        outcome, expected = trials.try_part(trials.parts.whole(), judged=found.outcome.kind == WRONG)
        if not _is_same(outcome, found.outcome):
            return found
        return self.reduce(Found(found.side, trials, outcome, expected, found.sizes, trials.parts.whole()))

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


def find(question: Question, folder: Path, lower: shapes.Lower | None = None) -> dict[str, Any]:
    """Return the document of fault.json; write the reduced program and the reproducer into the folder."""
    timeout_s = HANG_S if question.suspect == HANG else float(question.settings["timeout_s"])
    cap = question.settings["memory_cap_gib"]
    document = empty_document(question)
    with (
        Worker(question.compiler, timeout_s=timeout_s, cap_gib=cap) as suspect,
        Worker(question.evaluator, cap_gib=cap) as evaluator,
    ):
        search = Search(question, suspect, evaluator, lower)
        found = search.whole(question.a)
        is_part = found.outcome.kind != RIGHT
        if not is_part:
            found = search.as_emitted(found)
        document |= {"kind": found.outcome.kind, "error": found.outcome.detail}
        if found.outcome.kind in (RIGHT, UNKNOWN):
            document |= no_fault(question, found.outcome)
        elif not is_part:
            document |= {
                "verdict": "not reduced",
                "detail": f"{found.outcome.kind} only as it is emitted: {AS_EMITTED}",
            }
        else:
            before = count_operations(found)
            reduced = search.enter_loop(search.reduce(search.smaller(found)))
            text = search.pretty(reduced.trials.text(reduced.part))
            versions = {"suspect": suspect.versions(), "evaluator": evaluator.versions()}
            suspect.close()
            document |= describe_part(question, reduced, before, versions)
            document |= find_cures(question, reduced, text, search.left(), timeout_s)
            document |= reproduce(question, reduced, text, document, folder, timeout_s)
    return document


def no_fault(question: Question, outcome: Outcome) -> dict[str, Any]:
    """Return the answer about a program that has no fault when it is tried again, or of which nobody knows."""
    kind = question.suspect or WRONG
    if outcome.kind == UNKNOWN:
        return {"kind": kind, "verdict": "not reduced", "detail": outcome.detail}
    return {"kind": kind, "verdict": "right", "detail": f"right when it is tried again: {outcome.detail}"}


@contextlib.contextmanager
def lowering(question: Question) -> Iterator[shapes.Lower | None]:
    """Return what lowers the program with other sizes, if the question's settings say how."""
    how = question.settings.get("lower")
    if not how or not question.sizes:
        yield None
        return
    cap = limits.cap_bytes(question.settings["memory_cap_gib"])
    timeout_s = question.settings["timeout_s"]
    with (
        Lowering(Path(how["pins"]), how["job"], timeout_s, cap) as lower,
        tempfile.TemporaryDirectory() as folder,
    ):

        def program(sizes: dict[str, int]) -> Side | None:
            place = Path(folder, "-".join(map(str, sizes.values())))
            try:
                side = Side(question.a.label, str(lower(sizes, place)), str(place / "arguments.json"))
                return side if side.text else None
            except (OSError, NotImplementedError):
                return None

        yield program


def main() -> None:
    """`python -m stackwars.explain.fault --job FILE --output DIR`: write fault.json, reduced.mlir, reproduce.py."""
    options = documents.parse_arguments(main.__doc__, "job", "output")
    question = Question.read(options.job)
    options.output.mkdir(parents=True, exist_ok=True)
    with lowering(question) as lower:
        documents.write(options.output / "fault.json", find(question, options.output, lower))


if __name__ == "__main__":
    main()
