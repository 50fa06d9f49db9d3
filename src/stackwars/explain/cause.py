"""The cause of a time difference between two programs in one compiler.

Evaluates both operation by operation, matches their values up to layout, and searches the regions or argument layouts
that close the gap. Writes cause.json, the hybrid program and the regions alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.explain.answer import Answer
from stackwars.explain.bench import CPU, WALL, Arrays, Bench, blocks, typical
from stackwars.explain.evaluated import Evaluated, evaluate, unsupported
from stackwars.explain.graph import Graph, GraphError
from stackwars.explain.hybrids import A, B, Hybrids
from stackwars.explain.layouts import guesses, moved
from stackwars.explain.matching import Matching, match
from stackwars.explain.question import Question, Side
from stackwars.explain.search import ENOUGH, MOST_KINDS, Outcome, Program, Retimed, Search, merged, retime
from stackwars.explain.workers import Crashed, Refused, TimedOut, Worker
from stackwars.measure import machine
from stackwars.measure.log_ratio import Estimate, is_within

SCHEMA = 1
CAUSE, SPREAD, NOT_SEPARABLE = "cause", "spread", "not separable"
NO_GAP, DIFFERENT, FAILED = "no gap", "different values", "failed"
SETTINGS = {"bound": 0.10, "seconds": 0.3, "budget_s": 600, "memory_cap_gib": "auto", "timeout_s": 300}
CLEAR = 1.3
"""A ratio in one process that needs no fresh processes before the search."""
APART, REORDERED_APART = 1e-2, 1e-4
"""Relative difference of two results that no rounding explains, element by element and sorted. Sorted samples of one
distribution are close though they are different numbers."""
PUT_BACK = 2
"""How often the last kind that was left out is put back if fresh processes do not confirm the cause."""


class Verdict(Exception):
    """Ends a search early. verdict: of the answer; detail: one sentence."""

    def __init__(self, verdict: str, detail: str) -> None:
        super().__init__(detail)
        self.verdict, self.detail = verdict, detail


class Finder:
    """One search; `run` returns the content of cause.json."""

    def __init__(self, question: Question, output: Path) -> None:
        self.question, self.output = question, output
        self.settings = SETTINGS | question.settings
        self.start = time.monotonic()
        self.sides: tuple[Side, Side] = (question.a, question.b)
        self.result: dict[str, Any] = {
            "schema": SCHEMA, "name": question.name, "a": question.a.label, "b": question.b.label,
            "compiler": question.compiler.name, "other": None, "verdict": FAILED, "detail": "",
            "regions": [], "a_better": [], "tried": {}, "machine": machine.record(), "source": machine.revision(),
        }  # fmt: skip

    def say(self, text: str) -> None:
        print(f"[{time.monotonic() - self.start:6.1f} s] {text}", flush=True)

    @property
    def worker_settings(self) -> dict[str, Any]:
        return {"cap_gib": self.settings["memory_cap_gib"], "timeout_s": self.settings["timeout_s"]}

    def run(self) -> dict[str, Any]:
        try:
            with Worker(self.question.compiler, **self.worker_settings) as worker:
                self.result["versions"] = worker.versions()
                verdict, detail = self._search(worker)
        except Verdict as early:
            verdict, detail = early.verdict, early.detail
        except (Refused, Crashed, TimedOut, MemoryError, GraphError, NotImplementedError) as error:
            verdict, detail = FAILED, f"{type(error).__name__}: {error}"[:1000]
        self.say(f"{verdict}: {detail}")
        return self.result | {
            "verdict": verdict,
            "detail": detail,
            "seconds": round(time.monotonic() - self.start, 1),
        }

    def _search(self, worker: Worker) -> tuple[str, str]:
        with (
            Worker(self.question.evaluator, **self.worker_settings) as reader,
            tempfile.TemporaryDirectory() as folder,
        ):
            graphs = self._graphs(reader)
            bench, retimed = self._gap(worker, graphs)
            graphs = tuple(reversed(graphs)) if self.sides[A] is self.question.b else graphs
            evaluated = self._evaluate(reader, graphs, bench.arrays, Path(folder))
            reader.close()
            hybrids = self._match(graphs, evaluated)
            bench.arrays.evaluated = evaluated
            end = self.start + 0.6 * self.settings["budget_s"]
            search = Search(bench, hybrids, self.settings["seconds"], end, self.say)
            outcome = search.run()
            self.result["tried"] |= {
                "curve": {str(count): round(value, 4) for count, value in outcome.curve.items()},
                "sane": {name: round(value, 4) for name, value in outcome.ends.items()},
            }
            return self._decide(search, outcome, retimed)

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
        """Return the programs in a worker, the slower one as A; raises Verdict if there is no gap to explain."""
        bench = self._bench(worker, graphs)
        self._check_results(bench, graphs)
        bench.calibrate()
        times = bench.time("AB", 4 * self.settings["seconds"])
        bench.clock, is_noisy = choose_clock(times)
        a, b = (typical(times[name], bench.clock) / 1e6 for name in "AB")
        self.say(f"A {a:.3f} ms, B {b:.3f} ms by the {bench.clock} clock{', noisy' if is_noisy else ''}")
        self.result["clock"] = bench.clock
        ratio, retimed = a / b, None
        if is_noisy or 1 / CLEAR < ratio < CLEAR:
            retimed = self._retime(bench, self._programs(graphs))
            self._note_times(retimed)
            if verdict := gap_verdict(retimed.ratio(), self.settings["bound"]):
                raise Verdict(verdict, self._gap_detail(verdict, retimed.ratio()))
            ratio = retimed.ratio().value
        if ratio < 1:
            self.sides = self.sides[::-1]
            self.result |= {"a": self.sides[A].label, "b": self.sides[B].label}
            self.say(f"A is now {self.sides[A].label}, the slower one")
            bench, retimed = bench.swapped(), None
            for name, program in self._programs(graphs[::-1]).items():
                bench.load(name, *program)
        return bench, retimed

    def _check_results(self, bench: Bench, graphs: tuple[Graph, Graph]) -> None:
        """Raise Verdict if the programs' results differ; first guess the layouts of arguments that nothing tells."""
        worker, arguments = bench.worker, bench.arrays.arguments
        expected = worker.run("A")
        apart = results_apart(expected, worker.run("B"))
        if apart and not any(side.arguments for side in self.sides):
            for guess in guesses(*graphs):
                values = moved(list(arguments[A].values()), guess)
                bench.arrays.replace(B, dict(zip(graphs[B].arguments, values, strict=True)))
                worker.bind("B", bench.arrays.place(worker, [(B, value) for value in graphs[B].arguments]))
                if not (apart := results_apart(expected, worker.run("B"))):
                    break
        if apart:
            raise Verdict(DIFFERENT, apart)

    def _retime(self, bench: Bench, programs: dict[str, Program]) -> Retimed:
        seconds = self.settings["seconds"]
        return retime(
            self.question.compiler,
            self.worker_settings,
            bench.arrays,
            programs,
            bench.clock,
            seconds=seconds,
            least=bench.least,
        )

    def _note_times(self, retimed: Retimed) -> None:
        ratio = retimed.ratio()
        a, b = (float(np.mean(retimed.times[name])) / 1e6 for name in "AB")
        self.result |= {"a_ms": round(a, 4), "b_ms": round(b, 4), "ratio": ratio._asdict()}
        self.say(f"fresh processes: A {a:.3f} ms, B {b:.3f} ms, ratio {_interval(ratio)}")

    def _gap_detail(self, verdict: str, ratio: Estimate) -> str:
        if verdict == NOT_SEPARABLE:
            return f"not separable from noise on this machine: the ratio is {_interval(ratio)}"
        return f"no gap to explain: the ratio is {_interval(ratio)}"

    # Matching.

    def _evaluate(
        self, reader: Worker, graphs: Sequence[Graph], arrays: Arrays, folder: Path
    ) -> tuple[Evaluated, Evaluated]:
        found = []
        for side, graph in enumerate(graphs):
            (folder / "AB"[side]).mkdir()
            values = [arrays.arguments[side][value] for value in graph.arguments]
            found.append(evaluate(reader, graph, values, folder / "AB"[side]))
        self.say("evaluated both operation by operation")
        return tuple(found)

    def _match(self, graphs: tuple[Graph, Graph], evaluated: tuple[Evaluated, Evaluated]) -> Hybrids:
        results = tuple(graph.results for graph in graphs)
        matching = match(evaluated, tuple(list(graph.types) for graph in graphs), results)
        if apart := unmatched_results(matching, results):
            raise Verdict(DIFFERENT, apart)
        hybrids = Hybrids(graphs, matching.classes)
        self.result["tried"] = {
            "operations": [len(graph.ops) for graph in graphs],
            "classes": len(matching.classes),
            "kinds": len(hybrids.kinds),
            "unmapped": matching.unmapped,
        }
        differ = sum(not kind.is_same for kind in hybrids.kinds)
        self.say(f"{len(matching.classes)} classes, {len(hybrids.kinds)} kinds, of which {differ} differ")
        return hybrids

    # The answer.

    def _decide(self, search: Search, outcome: Outcome, retimed: Retimed | None) -> tuple[str, str]:
        bench, hybrids = search.bench, search.hybrids
        programs = self._programs(hybrids.graphs)
        if not outcome.atoms or outcome.kinds > MOST_KINDS:
            retimed = retimed or self._retime(bench, programs)
            return self._spread(outcome, retimed)
        for _ in range(1 + PUT_BACK):
            cause = hybrids.hybrid(outcome.classes)
            reverse = hybrids.hybrid(outcome.classes, B)
            programs |= {"cause": (cause.text, cause.arguments), "reverse": (reverse.text, reverse.arguments)}
            retimed = self._retime(bench, programs)
            share, low, high = self._closed(outcome, retimed)
            if low < ENOUGH <= high and not search.is_late():
                retimed = retimed.plus(self._retime(bench, programs))
                share, low, high = self._closed(outcome, retimed)
            if share >= ENOUGH or not outcome.dropped or search.is_late():
                break
            outcome.atoms = merged([*outcome.atoms, *outcome.dropped.pop()])
        if verdict := gap_verdict(retimed.ratio(), self.settings["bound"]):
            return verdict, self._gap_detail(verdict, retimed.ratio())
        if low <= 0:
            closed = f"{share:.0%} ({low:.0%} to {high:.0%})"
            return NOT_SEPARABLE, f"not separable from noise: what was found closes {closed}"
        if high < ENOUGH or outcome.kinds > MOST_KINDS:
            return self._spread(outcome, retimed)
        return CAUSE, self._cause(search, outcome, retimed)

    def _closed(self, outcome: Outcome, retimed: Retimed) -> tuple[float, float, float]:
        self._note_times(retimed)
        share, low, high = retimed.closed("cause")
        self.say(f"{outcome.kinds} kinds close {share:.0%} ({low:.0%} to {high:.0%}) in fresh processes")
        return share, low, high

    def _cause(self, search: Search, outcome: Outcome, retimed: Retimed) -> str:
        bench, hybrids = search.bench, search.hybrids
        a, b, cause = (float(np.mean(retimed.times[name])) for name in ("A", "B", "cause"))
        share, low, high = retimed.closed("cause")
        back = retimed.closed("reverse", "B", "A")
        (self.output / "hybrid.mlir").write_text(hybrids.hybrid(outcome.classes).text)
        answer = Answer(bench, hybrids, self.sides, self.output, self.settings["seconds"])
        self.result |= {
            "closed": {"share": share, "low": low, "high": high},
            "left_ms": (cause - b) / 1e6,
            "both_directions": {"b_from_a": dict(zip(("share", "low", "high"), back, strict=True))},
            "regions": answer.causes(outcome, a - b),
            "a_better": answer.better(outcome, a - b),
        }
        parts = [f"{row['what']} of {row['count']} x {_brief(row)}" for row in self.result["regions"]]
        return f"{share:.0%} ({low:.0%} to {high:.0%}) of the gap of {(a - b) / 1e6:.3g} ms: {'; '.join(parts)}"

    def _spread(self, outcome: Outcome, retimed: Retimed) -> tuple[str, str]:
        self._note_times(retimed)
        if verdict := gap_verdict(retimed.ratio(), self.settings["bound"]):
            return verdict, self._gap_detail(verdict, retimed.ratio())
        count = outcome.kinds or sum(row.difference > 0 for row in outcome.rows)
        return SPREAD, f"no single region: the gap is spread over {count} kinds"


def choose_clock(times: dict[str, Any]) -> tuple[str, bool]:
    """Return the clock by which A against itself varies less than the gap, and whether neither does.

    A against itself: the range of successive blocks of its rounds.
    """
    for clock in (WALL, CPU):
        gap = abs(typical(times["A"], clock) - typical(times["B"], clock))
        if all(np.ptp(blocks(times[name], clock)) <= gap for name in "AB"):
            return clock, False
    return WALL, True


def gap_verdict(ratio: Estimate, bound: float) -> str | None:
    """Return why there is no gap to explain: none, or not separable from noise; None if there is one."""
    if is_within(ratio.low, ratio.high, bound):
        return NO_GAP
    if ratio.low > 1 or ratio.high < 1:
        return None
    return NO_GAP if is_within(ratio.low, ratio.high, 2 * bound) else NOT_SEPARABLE


def results_apart(a: Sequence[np.ndarray], b: Sequence[np.ndarray]) -> str:
    """Return how the results of two programs differ by more than their layout and rounding; "" if they do not."""
    left = list(b)
    if len(a) != len(b):
        return ""  # The matching says which of them have a partner.
    for number, array in enumerate(a):
        place = next((k for k, other in enumerate(left) if _is_alike(array, other)), None)
        if place is None:
            return f"the programs do not compute one thing: result {number} of A has no equal in B"
        left.pop(place)
    return ""


def _is_alike(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two arrays have about the same elements, or almost exactly in another order."""
    if a.size != b.size:
        return False
    if [n for n in a.shape if n > 1] == [n for n in b.shape if n > 1] and _is_near(
        a, b.reshape(a.shape), APART
    ):
        return True
    return _is_near(np.sort(a, axis=None), np.sort(b, axis=None), REORDERED_APART)


def _is_near(a: np.ndarray, b: np.ndarray, limit: float) -> bool:
    if a.dtype.kind not in "fc" or b.dtype.kind not in "fc":
        return np.array_equal(a, b)
    finite = np.isfinite(b)
    if not np.array_equal(finite, np.isfinite(a)):
        return False
    a, b = a[finite].astype(complex), b[finite].astype(complex)
    return bool(np.linalg.norm(a - b) <= limit * (np.linalg.norm(b) or 1.0))


def unmatched_results(matching: Matching, results: tuple[list[int], list[int]]) -> str:
    """Return which result of either program is not computed by the other; "" if each is."""
    for side in (A, B):
        for number, value in enumerate(results[side]):
            own = [one for one in matching.classes if value in one.maps[side]]
            if not any(other in one.maps[1 - side] for one in own for other in results[1 - side]):
                return f"the programs do not compute one thing: result {number} of {'AB'[side]} has no equal"
    return ""


def _brief(row: dict[str, Any]) -> str:
    names = [text.partition("(")[0].strip('" ').rpartition(".")[2] for text in row["a"] if text.startswith('"')]
    first = row["a"][0] if row["a"] else "nothing"
    return first.removeprefix("argument : ") if row["what"] == "argument layout" else ", ".join(names) or first


def _interval(ratio: Estimate) -> str:
    return f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f})"


def main() -> None:
    """`python -m stackwars.explain.cause --job JOB --output FOLDER`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    result = Finder(Question.read(options.job), options.output).run()
    (options.output / "cause.json").write_text(json.dumps(result, indent=1) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
