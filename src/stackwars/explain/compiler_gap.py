"""Find the parts of one program that take longer in one compiler than in another, or the time in one compiler.

A program cannot be compiled half by one compiler and half by the other, so its parts are timed alone in both:
each product, convolution, reduction, loop or other operation that compilers do not fuse with its inputs is a
region, with the operations that follow it. Equal regions are one kind. The kinds that make up the gap are the
answer, with the option of either compiler that closes it, if there is one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.evaluate import Evaluated, evaluate
from stackwars.core.numbers import digits, milliseconds, percent
from stackwars.core.outcome import Failed
from stackwars.core.program import Graph, Op
from stackwars.core.ratio import Estimate, geometric_mean
from stackwars.core.types import as_type
from stackwars.explain import answer, bench
from stackwars.explain.ablation import LOOSENING, YNN, ablate
from stackwars.explain.hybrids import CutProgram
from stackwars.explain.regions import MOST_OPS, Peak, noun, peak_gflops, ran, rate, sentence, special, texts
from stackwars.explain.search import ENOUGH, MOST_KINDS, MOST_SHARE
from stackwars.explain.table import CALL_MS
from stackwars.explain.task import Kept, Task, digest

ANCHORS = {
    f"stablehlo.{name}"
    for name in (
        "dot_general", "dot", "convolution", "reduce", "reduce_window", "select_and_scatter", "sort", "while",
        "if", "case", "gather", "scatter", "dynamic_update_slice", "custom_call", "fft", "cholesky",
        "triangular_solve", "batch_norm_training", "batch_norm_grad", "batch_norm_inference",
        "rng_bit_generator", "composite",
    )
}  # fmt: skip
"""Operations that begin a region."""
TURNS = 4
"""Turns in which the two compilers time a region."""


def regions(graph: Graph) -> list[CutProgram]:
    """Divide a program into regions; what depends on arguments alone is part of every region that reads it.

    Results that depend on no operation that begins a region are the last region.
    """
    home: dict[int, int] = {}
    members: list[list[Op]] = []
    for op in graph.ops:
        homes = [home[value] for value in op.reads if value in home]
        if op.name in ANCHORS:
            members.append([op])
            number = len(members) - 1
        elif homes:
            # The latest: a region then reads earlier ones only.
            number = max(homes)
            members[number].append(op)
        else:
            continue
        home |= dict.fromkeys(op.results, number)
    if rest := graph.needed(value for value in graph.results if value not in home):
        members.append(rest)
        home |= {value: len(members) - 1 for op in rest for value in op.results}
    # -1: the caller of the program.
    readers: dict[int, set[int]] = {value: {-1} for value in graph.results}
    for number, ops in enumerate(members):
        for value in (value for op in ops for value in op.reads):
            readers.setdefault(value, set()).add(number)
    return [_region(graph, number, ops, home, readers) for number, ops in enumerate(members)]


def _region(
    graph: Graph, number: int, members: list[Op], home: dict[int, int], readers: dict[int, set[int]]
) -> CutProgram:
    inside = [value for op in members for value in op.results]
    results = [value for value in inside if readers.get(value, set()) - {number}] or inside[-1:]
    ops = graph.needed(results, [value for value in home if home[value] != number])
    made = {value for op in ops for value in op.results}
    reads = dict.fromkeys(value for op in ops for value in op.reads if value not in made)
    nodes = (tuple((0, value) for value in values) for values in (reads, results))
    arguments, targets = nodes
    return CutProgram(graph.part(ops, reads, results), arguments, tuple((0, op) for op in ops), targets)


def kinds(graph: Graph) -> list[list[CutProgram]]:
    """Return the regions by kind, in order of their first."""
    result: dict[str | bytes, list[CutProgram]] = {}
    for region in regions(graph):
        result.setdefault(region.text, []).append(region)
    return list(result.values())


@dataclass
class TimedKind:
    """A kind of regions timed alone: ns in each compiler, in each turn, and what it does there.

    is_refused: one of them does not take it alone.
    """

    kind: list[CutProgram]
    times: np.ndarray
    rates: tuple[answer.Rate | None, ...] = ()
    is_refused: bool = False

    def difference(self) -> np.ndarray:
        """Return how much longer all regions of the kind take in the first compiler, in each turn."""
        return _gap(self.times) * len(self.kind)

    @property
    def is_call(self) -> bool:
        """Return whether its time alone is no more than the cost of a call."""
        # The median: on a busy machine one turn may take many times as long.
        return not self.is_refused and bool(np.median(self.times, axis=1).max() < 1e6 * CALL_MS)


class GapFinder:
    """One search for the cause of the gap of program a between two compilers, or of its time without another compiler.

    _specs: the slower compiler first.
    """

    def __init__(self, task: Task, say: Callable[[str], None], kept: Kept) -> None:
        self._task, self._say, self._kept = task, say, kept
        self._settings = task.settings
        self._specs: Sequence[CompilerSpec] = [spec for spec in (task.compiler, task.other) if spec]

    def run(self) -> answer.Cause:
        """Return the cause: why program a is slower in one compiler than in the other.

        :raises Failed: if a compiler does not take the program.
        """
        with Worker(self._task.evaluator, **self._settings.evaluator_limits) as evaluator:
            self._graph = evaluator.graph(self._task.a.text)
            arguments = bench.arguments_of(self._task.a, self._graph)
            self._arrays = [
                as_type(argument(0), self._graph.types[value]) for value, argument in arguments.items()
            ]
            self._identity = digest(self._graph.module(), [bench.content_key(array) for array in self._arrays])
            total = self._time_program()
            self._say(f"the program: {' ms and '.join(milliseconds(np.mean(ns) / 1e6) for ns in total)} ms")
            if np.mean(total[0]) < np.mean(total[-1]):
                self._specs, total = self._specs[::-1], total[::-1]
            verdict = bench.gap_verdict(_ratio(total), self._settings.bound) if self._task.other else None
            found = kinds(self._graph) if not verdict else []
            count = sum(map(len, found))
            self._say(f"{len(self._graph.ops)} operations, {count} regions of {len(found)} kinds")
            rows = self._time_kinds(evaluator, found) if found else []
        options = self._options(total) if found else []
        return self._cause(rows, total, verdict, options)

    def _time_program(self) -> np.ndarray:
        """Return the program's times in ns, of each compiler in fresh processes that take turns."""
        seconds = 4 * self._settings.seconds
        times = np.zeros((len(self._specs), 5))
        for number in range(times.shape[1]):
            for side in self._sides(number):
                spec = self._specs[side]
                key = digest("program", self._identity, spec, seconds, number)
                times[side, number] = self._kept.once(key, partial(self._time_once, spec, seconds))
        return times

    def _sides(self, turn: int) -> list[int]:
        """Return the compilers in the order in which they take turns."""
        sides = list(range(len(self._specs)))
        return sides if turn % 2 else sides[::-1]

    def _time_once(self, spec: CompilerSpec, seconds: float) -> float:
        with Worker(spec, **self._settings.limits) as worker:
            worker.load("program", self._graph.module())
            worker.bind("program", [worker.put(str(place), array) for place, array in enumerate(self._arrays)])
            return bench.robust_time(worker.time(["program"], seconds)["program"], bench.WALL)

    def _time_kinds(self, evaluator: Worker, found: list[list[CutProgram]]) -> list[TimedKind]:
        """Return every kind, timed alone in each compiler on the values that its first region reads."""
        rows = []
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stackwars-")))
            wanted = {value for kind in found for _, value in kind[0].arguments}
            values = self._task.a.arguments
            evaluated = evaluate(evaluator, self._graph, values, folder, sets=1, save=wanted)
            evaluator.close()
            workers = [stack.enter_context(Worker(spec, **self._settings.limits)) for spec in self._specs]
            peak = Peak(self._kept, self._specs, lambda: max(map(peak_gflops, workers)))
            for kind in found:
                region = kind[0]
                known = (self._identity, self._specs, region.text, region.arguments, self._settings.seconds)
                measure = partial(self._time_region, workers, region, evaluated)
                try:
                    times, calls = self._kept.once(digest("kind", *known), measure)
                except Failed:
                    rows.append(TimedKind(kind, np.zeros((len(self._specs), TURNS)), is_refused=True))
                    continue
                rates = [rate((self._graph,), region, bench.CallTime(*call)) for call in calls]
                rows.append(TimedKind(kind, np.array(times), tuple(peak.applied(rates))))
        self._say("timed every kind alone")
        return rows

    def _time_region(
        self, workers: Sequence[Worker], region: CutProgram, evaluated: Evaluated
    ) -> tuple[list[list[float]], list[bench.CallTime]]:
        """Return the ns of a region in each compiler in each turn, and its times of the last turn."""
        times = np.zeros((len(workers), TURNS))
        last: list[Any] = [None] * len(workers)
        for worker in workers:
            worker.load("region", region.text)
            keys = [
                worker.put(f"value {value}", as_type(evaluated.array(value), self._graph.types[value]))
                for _, value in region.arguments
            ]
            worker.bind("region", keys)
        for turn in range(TURNS):
            for side in self._sides(turn):
                seconds = self._settings.seconds / TURNS
                last[side] = bench.CallTime.of(workers[side].time(["region"], seconds, least=3)["region"])
                times[side, turn] = last[side].wall
        return times.tolist(), last

    def _options(self, total: np.ndarray) -> list[answer.Option]:
        """Return the options of either compiler that change at least a quarter of the gap, with that share.

        An option of the faster compiler counts if it makes it slower, one of the slower compiler if it makes it faster.
        """
        gap = float(np.mean(_gap(total))) / 1e6
        result = []
        for spec, sign, base in zip(self._specs, (-1, 1), total.mean(axis=1) / 1e6, strict=False):
            key = digest("options", self._identity, spec, self._settings.seconds)
            for row in self._kept.once(key, partial(self._ablate, spec)):
                # These say nothing about a cause: they make any program slower, or compute something else.
                crippling = ("xla_disable_all_hlo_passes", "xla_backend_optimization_level", "iree-opt-level")
                crippling += LOOSENING
                if row["ratio"] is None or row["outcome"] != "ok" or row["variant"].startswith(crippling):
                    continue
                share = sign * (row["ratio"] - 1) * base / gap
                if share >= 0.25:
                    result.append(answer.Option(spec.name, row["flag"], row["ratio"], round(float(share), 3)))
        if any(option.flag == f"{YNN}=" for option in result):
            # Without the library altogether: its parts say no more.
            result = [option for option in result if not option.flag.startswith(f"{YNN}=LIBRARY")]
        # What makes the slower compiler faster says more than what makes the faster one slower.
        return sorted(result, key=lambda option: (option.compiler != self._specs[0].name, -option.share))

    def _ablate(self, spec: CompilerSpec) -> list[dict[str, Any]]:
        """Return the program's variants in a compiler, tried for two minutes."""
        program, limits = (spec, self._graph.module(), self._arrays), self._settings.limits
        return [asdict(row) for row in ablate(*program, seconds=self._settings.seconds, budget_s=120, **limits)]

    def _cause(
        self, rows: list[TimedKind], total: np.ndarray, verdict: str | None, options: list[answer.Option]
    ) -> answer.Cause:
        """Return the fewest kinds that make up enough of the gap."""
        ratio, gap = _ratio(total) if self._task.other else None, float(np.mean(_gap(total)))
        is_call = bool(np.median(total, axis=1).max() < 1e6 * CALL_MS)
        timed = [row for row in rows if not (row.is_refused or row.is_call or is_call)]
        short = f"; the program takes less than {CALL_MS} ms here, the cost of a call"
        # Without another compiler the shares are of all regions, which are timed in the same turns.
        whole = np.full(TURNS, gap)
        if timed and not self._task.other:
            whole = np.sum([row.difference() for row in timed], axis=0)
            gap = float(whole.mean())
        slower = sorted(timed, key=lambda row: -row.difference().mean())
        chosen: list[TimedKind] = []
        for row in slower:
            sum_chosen = sum(other.difference().mean() for other in chosen)
            if sum_chosen >= ENOUGH * gap or row.difference().mean() <= 0:
                break
            chosen.append(row)
        if len(rows) == 1 and timed:
            # It is the program, whatever its times alone are.
            chosen, share = timed, answer.Share(1.0)
        else:
            alone = np.sum([row.difference() for row in chosen], axis=0)
            share = bench.interval(alone, list(whole)) if chosen else answer.Share(0.0, 0.0, 0.0)
        is_untimed = bool(rows) and not timed
        verdict = verdict or (answer.NOT_SEPARABLE if is_untimed else account(chosen, share))
        is_cause = verdict == answer.CAUSE
        first, *second = (spec.name for spec in self._specs)
        sides = [f"{self._task.a.label} in {name}" for name in (first, *second)]
        return answer.Cause(
            name=self._task.name,
            compiler=first,
            a=sides[0],
            b=sides[1] if second else None,
            other=second[0] if second else None,
            verdict=verdict,
            detail=self._detail(verdict, ratio, chosen, share) + (short if is_call else format_left_out(rows)),
            a_ms=float(np.mean(total[0])) / 1e6,
            b_ms=float(np.mean(total[1])) / 1e6 if second else None,
            ratio=answer.Interval.of(ratio) if ratio else None,
            closed=share if is_cause else None,
            left_ms=gap * (1 - share.share) / 1e6,
            regions=[self._row(row, gap, is_only=len(rows) == 1) for row in chosen] if is_cause else [],
            options=options,
        )

    def _detail(
        self, verdict: str, ratio: Estimate | None, chosen: list[TimedKind], share: answer.Share
    ) -> str:
        if verdict == answer.NO_GAP and ratio:
            return bench.gap_detail(verdict, ratio)
        first, *second = (spec.name for spec in self._specs)
        measured, whole = f"the time is that of {first} alone", "the time of all regions"
        if ratio:
            within = f"{digits(ratio.low)} to {digits(ratio.high)}"
            measured = f"{first} takes {digits(ratio.value)} times as long as {second[0]} ({within})"
            whole = "the gap"
        count = f"{len(chosen)} kind{'s' * (len(chosen) != 1)} of regions, timed alone,"
        detail = f"{measured}; {count} make up {bench.format_share(share)} of {whole}"
        if verdict == answer.NOT_SEPARABLE and not chosen:
            return f"{verdict}: {measured}"
        if verdict == answer.NOT_SEPARABLE and share.low > MOST_SHARE:
            return f"{verdict}: regions take longer alone than in the program: {measured}"
        if verdict == answer.NOT_SEPARABLE:
            return f"{verdict} from noise on this machine: {measured}; the regions' share is uncertain"
        if verdict == answer.SPREAD:
            return f"no {MOST_KINDS} kinds of regions make up {percent(ENOUGH)} of {whole}: {detail}"
        return detail

    def _row(self, row: TimedKind, gap: float, is_only: bool) -> answer.Region:
        ops = [op for _, op in row.kind[0].ops]
        anchor = next((op for op in ops if op.name in ANCHORS), ops[0])
        names = {node: f"%{number}" for number, node in enumerate(row.kind[0].arguments)}
        lines = texts(row.kind[0], names)
        first = lines.pop(ops.index(anchor))
        lines = [first, *lines][:MOST_OPS]
        place = self._task.a.place(anchor.place)
        a_ms, b_ms = [*(float(ns.mean()) / 1e6 for ns in row.times), None][:2]
        a, b = [*row.rates, None, None][:2]
        words = f"this {noun([anchor])} {ran(a)}"
        if self._task.other:
            words = sentence(answer.OPERATIONS, [anchor], a, b, "in the other compiler")
        reason = answer.Reason(a, b, words)
        share = 1.0 if is_only else float(row.difference().mean() / gap)
        ends = (lines, lines, a_ms, b_ms)
        count, differs = len(row.kind), special(anchor)
        return answer.Region(
            count, answer.OPERATIONS, share, place, place, *ends, reason=reason, differs=differs
        )


def _gap(times: np.ndarray) -> np.ndarray:
    """Return how much longer the first compiler takes in each turn; its time if there is no other."""
    return times[0] - times[1:].sum(axis=0)


def _ratio(total: np.ndarray) -> Estimate:
    """Return how many times as long the first compiler takes, from pairs of processes."""
    return geometric_mean(list(total[0] / total[1]))


def account(chosen: list[TimedKind], share: answer.Share) -> str:
    """Return whether regions alone make up the gap: a cause does by its estimate, and by its interval not by chance.

    More than the gap is an inconsistency. A share without an interval is the program's.
    """
    if chosen and share.low is not None and (share.low <= 0 or share.share > MOST_SHARE):
        return answer.NOT_SEPARABLE
    return answer.CAUSE if share.share >= ENOUGH and len(chosen) <= MOST_KINDS else answer.SPREAD


def format_left_out(rows: list[TimedKind]) -> str:
    """Return how many kinds are not in the account and why, as the end of a sentence; "" if all are."""
    counts = {
        "could not be timed alone": sum(row.is_refused for row in rows),
        f"take less than {CALL_MS} ms alone, the cost of a call": sum(row.is_call for row in rows),
    }
    return "".join(f"; {count} of {len(rows)} kinds {why}" for why, count in counts.items() if count)
