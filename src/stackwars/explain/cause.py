"""The cause of a time difference between two programs in one compiler.

Evaluates both operation by operation, matches their values up to layout, and searches the regions or argument
layouts that close the gap.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.explain import between
from stackwars.explain.answer import Answer
from stackwars.explain.bench import CPU, Arrays, Bench, typical
from stackwars.explain.evaluated import evaluate, unsupported
from stackwars.explain.gap import (
    CAUSE,
    DIFFERENT,
    FAILED,
    NOT_SEPARABLE,
    SPREAD,
    Verdict,
    check_results,
    choose_clock,
    format_ratio,
    gap_detail,
    gap_verdict,
    results_apart,
    unmatched_results,
)
from stackwars.explain.graph import Graph, GraphError
from stackwars.explain.hybrids import A, B, Hybrids, Part
from stackwars.explain.matching import match
from stackwars.explain.question import Question, Side
from stackwars.explain.search import ENOUGH, MOST_KINDS, Outcome, Program, Retimed, Search, merged, retime
from stackwars.explain.workers import Crashed, Refused, TimedOut, Worker
from stackwars.measure import documents

SCHEMA = 1
CLEAR = 1.3
"""A ratio in one process that needs no fresh processes before the search."""
SEARCH_SHARE = 0.6
"""Share of the budget after which no new hybrid is tried: fresh processes and the answer need the rest."""
NOT_TAKEN = (Refused, Crashed, TimedOut, MemoryError, GraphError, NotImplementedError)
"""Why a program is not searched to the end."""
FRESH_ROUNDS = 2
"""Times the seconds of a program in a fresh process: all rounds of a process share its layout of memory."""
VAGUE = 0.2
"""Half of an interval of the share closed that is too wide to put anything back for it."""
PUT_BACK = 2
"""How often the last kind that was left out is put back if fresh processes do not confirm the cause."""


def search(question: Question) -> dict[str, Any]:
    """Return the document of cause.json, which says so if a compiler does not take a program."""
    start = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - start:6.1f} s] {text}", flush=True)

    try:
        found = between.find(question, say) if question.other else Finder(question, say).run()
    except NOT_TAKEN as error:
        found = question.failed("cause", _described(error))
    say(f"{found['verdict']}: {found['detail']}")
    return found | {"seconds": round(time.monotonic() - start, 1)}


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:1000]


def pair(reader: Worker, graphs: tuple[Graph, Graph], arrays: Arrays, folder: Path) -> Hybrids:
    """Return the choices between two programs; give `arrays` the values in between.

    folder: for the values. Raises Verdict if the programs do not compute one thing, and Refused.
    """
    found = []
    for side, graph in enumerate(graphs):
        own = folder / "AB"[side]
        own.mkdir()
        found.append(evaluate(reader, graph, [arrays.arguments[side][value] for value in graph.arguments], own))
    arrays.evaluated = tuple(found)
    results = tuple(graph.results for graph in graphs)
    classes = match(arrays.evaluated, tuple(list(graph.types) for graph in graphs), results)
    if apart := unmatched_results(classes, results):
        raise Verdict(DIFFERENT, apart)
    return Hybrids(graphs, classes)


class Finder:
    """One search; `run` returns the content of cause.json."""

    def __init__(self, question: Question, say: Callable[[str], None]) -> None:
        self.question, self.settings, self.say = question, question.settings, say
        self.start = time.monotonic()
        self.sides: tuple[Side, Side] = (question.a, question.b)
        self.result: dict[str, Any] = {
            "schema": SCHEMA, "name": question.name, "a": question.a.label, "b": question.b.label,
            "compiler": question.compiler.name, "other": None, "regions": [],
        }  # fmt: skip

    def run(self) -> dict[str, Any]:
        try:
            with Worker(self.question.compiler, **self.question.limits) as worker:
                verdict, detail = self._search(worker)
        except Verdict as early:
            verdict, detail = early.verdict, early.detail
        except NOT_TAKEN as error:
            verdict, detail = FAILED, _described(error)
        return self.result | {"verdict": verdict, "detail": detail}

    def _search(self, worker: Worker) -> tuple[str, str]:
        # To evaluate a whole model is one command.
        patient = {"timeout_s": max(self.settings["timeout_s"], self.settings["budget_s"])}
        with (
            Worker(self.question.evaluator, **(self.question.limits | patient)) as reader,
            tempfile.TemporaryDirectory() as folder,
        ):
            graphs = self._graphs(reader)
            bench, retimed = self._gap(worker, graphs)
            graphs = graphs[::-1] if self.sides[A] is self.question.b else graphs
            hybrids = pair(reader, graphs, bench.arrays, Path(folder))
            # Its memory is the whole model's, and nothing more is evaluated.
            reader.stop()
            self._note_matching(hybrids)
            end = self.start + SEARCH_SHARE * self.settings["budget_s"]
            search = Search(bench, hybrids, self.settings["seconds"], end, self.say)
            outcome = search.run()
            self.result["tried"]["curve"] = {str(n): round(value, 4) for n, value in outcome.curve.items()}
            return self._decide(search, outcome, retimed)

    def _note_matching(self, hybrids: Hybrids) -> None:
        self.result["tried"] = {
            "operations": [len(graph.ops) for graph in hybrids.graphs],
            "classes": len(hybrids.classes),
            "kinds": len(hybrids.kinds),
        }
        differ = sum(not kind.is_same for kind in hybrids.kinds)
        self.say(f"{len(hybrids.classes)} classes, {len(hybrids.kinds)} kinds, of which {differ} differ")

    def _graphs(self, reader: Worker) -> tuple[Graph, Graph]:
        graphs = tuple(reader.generic(side.text) for side in self.sides)
        for graph in graphs:
            if op := unsupported(graph):
                raise Verdict(FAILED, f"{op.name} has a result that is no tensor of known extents")
        self.say(f"operations {[len(graph.ops) for graph in graphs]}")
        return graphs

    # The gap, before anything else: without one there is nothing to search.

    def _bench(self, worker: Worker, graphs: tuple[Graph, Graph]) -> Bench:
        arguments = tuple(
            dict(zip(graph.arguments, self.question.values(side, graph), strict=True))
            for side, graph in zip(self.sides, graphs, strict=True)
        )
        bench = Bench(worker, Arrays((graphs[A].types, graphs[B].types), arguments))
        for name, program in self._programs(graphs).items():
            bench.load(name, *program)
        return bench

    def _programs(self, graphs: Sequence[Graph]) -> dict[str, Program]:
        return {
            "AB"[side]: (self.sides[side].text, [(side, value) for value in graphs[side].arguments])
            for side in (A, B)
        }

    def _gap(self, worker: Worker, graphs: tuple[Graph, Graph]) -> tuple[Bench, Retimed | None]:
        """Return the programs in a worker, the slower one as A; raises Verdict if there is no gap to
        explain.
        """
        bench = self._bench(worker, graphs)
        check_results(bench, graphs, not any(side.arguments for side in self.sides))
        bench.calibrate()
        times = bench.time("AB", 4 * self.settings["seconds"])
        bench.clock, is_noisy = choose_clock(times)
        a, b = (typical(times[name], bench.clock) / 1e6 for name in "AB")
        self.say(f"A {a:.3f} ms, B {b:.3f} ms by the {bench.clock} clock{', noisy' if is_noisy else ''}")
        ratio, retimed = a / b, None
        if is_noisy or 1 / CLEAR < ratio < CLEAR:
            retimed = self._retime(bench, self._programs(graphs))
            if gap_verdict(retimed.ratio(), self.settings["bound"]) == NOT_SEPARABLE:
                other = retimed.by(CPU)
                if gap_verdict(other.ratio(), self.settings["bound"]) != NOT_SEPARABLE:
                    self.say("the machine is busy: by the processor's time")
                    retimed, bench.clock = other, CPU
            self._note_times(retimed)
            if verdict := gap_verdict(retimed.ratio(), self.settings["bound"]):
                raise Verdict(verdict, gap_detail(verdict, retimed.ratio()))
            ratio = retimed.ratio().value
        if ratio < 1:
            self.sides = self.sides[::-1]
            self.result |= {"a": self.sides[A].label, "b": self.sides[B].label}
            self.say(f"A is now {self.sides[A].label}, the slower one")
            bench, retimed = bench.swapped(), None
            for name, program in self._programs(graphs[::-1]).items():
                bench.load(name, *program)
        return bench, retimed

    def _retime(self, bench: Bench, programs: dict[str, Program]) -> Retimed:
        seconds = FRESH_ROUNDS * self.settings["seconds"]
        return retime(self.question.compiler, self.question.limits, bench, programs, seconds)

    def _note_times(self, retimed: Retimed) -> None:
        ratio = retimed.ratio()
        a, b = (float(np.mean(retimed.times[name])) / 1e6 for name in "AB")
        self.result |= {"a_ms": round(a, 4), "b_ms": round(b, 4), "ratio": ratio._asdict()}
        self.say(f"fresh processes: A {a:.3f} ms, B {b:.3f} ms, ratio {format_ratio(ratio)}")

    # The answer.

    def _decide(self, search: Search, outcome: Outcome, retimed: Retimed | None) -> tuple[str, str]:
        bench, hybrids = search.bench, search.hybrids
        programs = self._programs(hybrids.graphs)
        families = {hybrids.family(atom.kind) for atom in outcome.atoms}
        if not outcome.atoms or len(families) > MOST_KINDS:
            retimed = retimed or self._retime(bench, programs)
            if outcome.is_uncertain and not outcome.atoms:
                self._note_times(retimed)
                return (
                    NOT_SEPARABLE,
                    "not separable from noise on this machine: what regions close is uncertain",
                )
            return self._spread(outcome, retimed)
        for _ in range(1 + PUT_BACK):
            cause = hybrids.hybrid(outcome.classes)
            programs["cause"] = (cause.text, cause.arguments)
            self._check_hybrid(bench, cause)
            retimed = self._retime(bench, programs)
            share, low, high = self._closed(outcome, retimed)
            if low < ENOUGH <= high and not search.is_late():
                retimed = retimed.plus(self._retime(bench, programs)).clearest("cause")
                share, low, high = self._closed(outcome, retimed)
            is_vague = high >= ENOUGH and high - low > 2 * VAGUE
            if share >= ENOUGH or is_vague or not outcome.dropped or search.is_late():
                break
            outcome.atoms = merged([*outcome.atoms, *outcome.dropped.pop()])
        if verdict := gap_verdict(retimed.ratio(), self.settings["bound"]):
            return verdict, gap_detail(verdict, retimed.ratio())
        if low <= 0:
            closed = f"{share:.0%} ({low:.0%} to {high:.0%})"
            return NOT_SEPARABLE, f"not separable from noise: what was found closes {closed}"
        if high < ENOUGH:
            return self._spread(outcome, retimed)
        return CAUSE, self._cause(search, outcome, retimed)

    def _check_hybrid(self, bench: Bench, cause: Part) -> None:
        """Raise Verdict if the program that closes the gap computes something else."""
        bench.load_part("cause", cause)
        apart = results_apart(bench.worker.run("A"), bench.worker.run("cause"))
        bench.worker.drop("cause")
        if apart:
            raise Verdict(FAILED, f"the hybrid that closes the gap has other values: {apart}")

    def _closed(self, outcome: Outcome, retimed: Retimed) -> tuple[float, float, float]:
        self._note_times(retimed)
        share, low, high = retimed.closed("cause")
        self.say(f"{outcome.kinds} kinds close {share:.0%} ({low:.0%} to {high:.0%}) in fresh processes")
        return share, low, high

    def _cause(self, search: Search, outcome: Outcome, retimed: Retimed) -> str:
        bench, hybrids = search.bench, search.hybrids
        a, b, cause = (float(np.mean(retimed.times[name])) for name in ("A", "B", "cause"))
        share, low, high = retimed.closed("cause")
        answer = Answer(bench, hybrids, self.sides, self.settings["seconds"])
        self.result |= {
            "closed": {"share": share, "low": low, "high": high},
            "left_ms": (cause - b) / 1e6,
            "regions": answer.causes(outcome, a - b),
        }
        return f"{share:.0%} ({low:.0%} to {high:.0%}) of the gap of {(a - b) / 1e6:.3g} ms"

    def _spread(self, outcome: Outcome, retimed: Retimed) -> tuple[str, str]:
        self._note_times(retimed)
        if verdict := gap_verdict(retimed.ratio(), self.settings["bound"]):
            return verdict, gap_detail(verdict, retimed.ratio())
        count = outcome.kinds or sum(row.difference > 0 for row in outcome.rows)
        detail = f"no single region: the gap is spread over {count} kinds"
        if outcome.most < ENOUGH:
            detail += f"; all matched values from {self.sides[B].label} close {outcome.most:.0%}"
        return SPREAD, detail


def main() -> None:
    """`python -m stackwars.explain.cause --job JOB --output FOLDER`."""
    options = documents.parse_arguments(__doc__, "job", "output")
    documents.write(options.output / "cause.json", search(Question.read(options.job)))


if __name__ == "__main__":
    main()
