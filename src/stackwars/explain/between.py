"""The cause of a time difference of one program between two compilers: which regions differ, each alone in both.

A region is a heavy operation with what follows up to the inputs of the next ones, so that either compiler can fuse as
it does in the program. There is no hybrid of two compilers: the share closed is the sum of the regions' differences.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from stackwars.explain.answer import Answer
from stackwars.explain.bench import WALL, Arrays, Bench, interval, typical
from stackwars.explain.evaluated import Evaluated, evaluate
from stackwars.explain.gap import CAUSE, SPREAD, Verdict, format_ratio, gap_detail, gap_verdict
from stackwars.explain.graph import Graph
from stackwars.explain.hybrids import A, B, Hybrids
from stackwars.explain.matching import AxisMap, Class
from stackwars.explain.question import Question, Side
from stackwars.explain.search import ENOUGH, MOST_KINDS, PROCESSES, Outcome, Program, Retimed, Row
from stackwars.explain.workers import CompilerSpec, Refused, Worker

HEAVY = ("dot_general", "convolution", "while", "sort", "scatter", "gather", "custom_call", "fft", "cholesky")
ROUNDS = 3
"""How often the two compilers take turns at the same programs."""
Specs = tuple[CompilerSpec, CompilerSpec]


def cuts(graph: Graph, evaluated: Evaluated) -> list[int]:
    """Return where the program is cut: arguments and inputs of heavy operations that are informative, and results."""
    heavy = {value for op in graph.ops if op.name.rpartition(".")[2] in HEAVY for value in op.reads}
    chosen = [v for v in graph.types if (v in heavy or v in graph.arguments) and evaluated.is_informative(v)]
    return list(dict.fromkeys([*chosen, *graph.results]))


def regions(graph: Graph, values: Sequence[int]) -> Hybrids:
    """Return the program's regions between these values, as choices between the program and itself."""
    same = AxisMap((1,), (0,), (1,))
    return Hybrids((graph, graph), [Class((value, value), ({value: same}, {value: same})) for value in values])


class Pair:
    """The same programs in two compilers, timed in turns."""

    def __init__(self, benches: tuple[Bench, Bench]) -> None:
        self.benches = benches

    def load(self, name: str, program: Program) -> None:
        for bench in self.benches:
            bench.load(name, *program)

    def drop(self, name: str) -> None:
        for bench in self.benches:
            bench.worker.drop(name)

    def times(self, name: str, seconds: float) -> tuple[float, float]:
        """Return the shortest typical ns of a call in either compiler."""
        found: tuple[list[float], list[float]] = ([], [])
        for _ in range(ROUNDS):
            for times, bench in zip(found, self.benches, strict=True):
                times.append(typical(bench.time([name], seconds / ROUNDS)[name], bench.clock))
        return min(found[A]), min(found[B])


@contextmanager
def opened(specs: Specs, arrays: Arrays, settings: Mapping[str, Any]) -> Iterator[Pair]:
    """Start a process of either compiler."""
    with Worker(specs[A], **settings) as one, Worker(specs[B], **settings) as other:
        yield Pair((Bench(one, arrays), Bench(other, arrays)))


class Between(NamedTuple):
    """A search between two compilers. worker: settings of worker processes."""

    question: Question
    worker: Mapping[str, Any]
    seconds: float
    bound: float
    say: Any

    def run(self, result: dict[str, Any], output: Path) -> tuple[str, str]:
        """Return verdict and detail, and fill the result. Raises Verdict if there is no gap, and Refused."""
        question, side = self.question, self.question.a
        specs = (question.compiler, question.other)
        with Worker(question.evaluator, **self.worker) as reader, tempfile.TemporaryDirectory() as folder:
            graph = reader.generic(side.text)
            get = dict(zip(graph.arguments, question.values(side, graph), strict=True))
            arrays = Arrays((graph.types, graph.types), (get, get))
            whole = {"A": (side.text, [(A, value) for value in graph.arguments])}
            times = self.retime(specs, arrays, whole)
            if times.ratio().value < 1:
                specs, times = specs[::-1], Retimed({"A": times.times["B"], "B": times.times["A"]})
            self._note(result, specs, times, side)
            if verdict := gap_verdict(times.ratio(), self.bound):
                raise Verdict(verdict, gap_detail(verdict, times.ratio()))
            evaluated = evaluate(reader, graph, list(get.values()), Path(folder))
            reader.stop()
            arrays.evaluated = (evaluated, evaluated)
            hybrids = regions(graph, cuts(graph, evaluated))
            with opened(specs, arrays, self.worker) as pair:
                rows = self.rank(pair, hybrids)
                gap = sum(a - b for a, b in zip(*times.times.values(), strict=True)) / len(times.times["A"])
                chosen = smallest(rows, gap)
                result["tried"] = {"operations": [len(graph.ops)] * 2, "kinds": len(hybrids.kinds)}
                if not chosen or len(chosen) > MOST_KINDS:
                    count = sum(row.difference > 0 for row in rows)
                    return SPREAD, f"no single region: the gap is spread over {count} kinds"
                answer = Answer(pair.benches, hybrids, (side, side), output, self.seconds)
                outcome = Outcome(rows=rows)
                result["regions"] = answer.rows(chosen, gap)
                result["a_better"] = answer.better(outcome, gap)
            closed = self.closed(specs, arrays, hybrids, chosen, whole)
        share, low, high = closed
        result["closed"] = {"share": share, "low": low, "high": high}
        result["left_ms"] = gap * (1 - share) / 1e6
        self.say(f"{len(chosen)} kinds alone account for {share:.0%} ({low:.0%} to {high:.0%})")
        if high < ENOUGH or low <= 0:
            return (
                SPREAD,
                f"no single region: the largest {len(chosen)} account for {share:.0%} in fresh processes",
            )
        names = ", ".join(f"{row['count']} x {row['a'][-1].partition('(')[0]}" for row in result["regions"])
        detail = (
            f"{share:.0%} ({low:.0%} to {high:.0%}) of the gap of {gap / 1e6:.3g} ms, regions alone: {names}"
        )
        return CAUSE, detail

    def _note(self, result: dict[str, Any], specs: Specs, times: Retimed, side: Side) -> None:
        a, b = (sum(one) / len(one) / 1e6 for one in (times.times["A"], times.times["B"]))
        result |= {
            **{"a": side.label, "b": side.label, "compiler": specs[A].name, "other": specs[B].name},
            **{"a_ms": round(a, 4), "b_ms": round(b, 4), "ratio": times.ratio()._asdict(), "clock": WALL},
        }
        names = f"{specs[A].name} {a:.3f} ms, {specs[B].name} {b:.3f} ms"
        self.say(f"fresh processes: {names}, ratio {format_ratio(times.ratio())}")

    def retime(self, specs: Specs, arrays: Arrays, programs: Mapping[str, Program]) -> Retimed:
        """Return the times of a program, `A` in one compiler and `B` in the other, in fresh processes."""
        times: dict[str, list[float]] = {"A": [], "B": []}
        for _ in range(PROCESSES):
            with opened(specs, arrays, self.worker) as pair:
                pair.load("A", programs["A"])
                for name, one in zip("AB", pair.times("A", self.seconds), strict=True):
                    times[name].append(one)
        return Retimed(times)

    def rank(self, pair: Pair, hybrids: Hybrids) -> list[Row]:
        """Return the kinds by their difference between the compilers, the largest first."""
        rows = []
        for kind in hybrids.kinds:
            part = hybrids.region(kind.classes[0], A)
            if not part.ops:
                continue
            try:
                pair.load("region", (part.text, part.arguments))
            except Refused as error:
                self.say(f"kind {kind.number} alone: {error}"[:300])
                continue
            a, b = pair.times("region", self.seconds)
            pair.drop("region")
            rows.append(Row(kind, a, b, (a - b) * len(kind)))
        rows.sort(key=lambda row: -row.difference)
        self.say(
            f"timed {len(rows)} kinds alone: differences sum to {sum(r.difference for r in rows) / 1e6:.2f} ms"
        )
        return rows

    def closed(
        self,
        specs: Specs,
        arrays: Arrays,
        hybrids: Hybrids,
        chosen: Sequence[Row],
        whole: Mapping[str, Program],
    ) -> tuple[float, float, float]:
        """Return the share of the gap that the regions account for in fresh processes, with its interval."""
        sums, gaps = [], []
        for _ in range(PROCESSES):
            with opened(specs, arrays, self.worker) as pair:
                pair.load("A", whole["A"])
                a, b = pair.times("A", self.seconds)
                gaps.append((a - b) / a)
                total = 0.0
                for row in chosen:
                    part = hybrids.region(row.kind.classes[0], A)
                    pair.load("region", (part.text, part.arguments))
                    one, other = pair.times("region", self.seconds)
                    total += (one - other) * len(row.kind)
                sums.append(total / a)
        return interval(sums, gaps)


def smallest(rows: Sequence[Row], gap: float) -> list[Row]:
    """Return the first rows whose differences sum to enough of the gap; [] if none do."""
    total = 0.0
    for count, row in enumerate(rows, 1):
        if row.difference <= 0:
            break
        total += row.difference
        if total >= ENOUGH * gap:
            return list(rows[:count])
    return []
