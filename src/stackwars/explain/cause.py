"""The cause of a time difference between two programs in one compiler, or of one program in two.

Evaluates both operation by operation, matches their values up to layout, and searches the regions or argument
layouts that close the gap.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from stackwars.core.client import Worker
from stackwars.core.evaluate import unsupported
from stackwars.core.numbers import digits, milliseconds, percent, ratio_interval
from stackwars.core.outcome import Failed
from stackwars.core.program import Graph, GraphError, Program
from stackwars.core.types import ElementTypeError
from stackwars.explain import answer as answers
from stackwars.explain import compiler_gap, matching
from stackwars.explain.answer import Cause, Share
from stackwars.explain.bench import (
    CPU,
    Arrays,
    Bench,
    arguments_of,
    choose_clock,
    format_share,
    gap_detail,
    gap_verdict,
    matched,
    moved_gap,
    robust_time,
)
from stackwars.explain.hybrids import A, B, CutProgram, Hybrids
from stackwars.explain.regions import CauseRegions
from stackwars.explain.search import (
    ENOUGH,
    MOST_KINDS,
    MOST_SHARE,
    Choice,
    CostSearch,
    Findings,
    Retimed,
    Search,
    merged,
    retime,
)
from stackwars.explain.task import Kept, Task, digest

Say = Callable[[str], None]


class Verdict(Exception):
    """Ends a search early. verdict: of the answer; detail: one sentence."""

    def __init__(self, verdict: str, detail: str) -> None:
        super().__init__(detail)
        self.verdict, self.detail = verdict, detail


def find(task: Task, say: Say, kept: Kept | None = None, make: type[Finder] | None = None) -> Cause:
    """Return the cause of a gap; its verdict is FAILED if a compiler does not take a program, or a program fails.

    kept: measurements of a search that was killed, which are not taken again.
    make: of the search between two programs.
    """
    start = time.monotonic()
    finder = (make or Finder)(task, say, kept or Kept())
    try:
        if missing := next((p.missing for p in (task.a, task.b) if p and p.missing), ""):
            raise Verdict(answers.FAILED, missing)
        found = finder.run() if task.b or make else compiler_gap.GapFinder(task, say, finder.kept).run()
    except Verdict as early:
        found = replace(finder.cause, verdict=early.verdict, detail=early.detail)
    except (Failed, GraphError, ElementTypeError) as error:
        found = answers.failed(finder.cause, error)
    is_turned = found.compiler != task.compiler.name or (not task.other and found.a != task.a.label)
    gap = 1 / task.gap if task.gap and is_turned else task.gap
    if moved := moved_gap(gap, found.ratio):
        found = replace(found, detail=f"{found.detail}; {moved}", table_ratio=gap)
    say(f"{found.verdict}: {found.detail}")
    return replace(found, seconds=round(time.monotonic() - start, 1))


def pair(reader: Worker, graphs: tuple[Graph, Graph], arrays: Arrays, folder: Path) -> Hybrids:
    """Return the choices between two programs; give `arrays` the values in between, which are saved in a folder.

    :raises Verdict: if the programs do not compute one thing.
    :raises Failed: if one of them cannot be evaluated.
    """
    arrays.evaluated, classes = matched(reader, graphs, arrays.arguments, folder)
    if differ := matching.unmatched_results(classes, tuple(graph.results for graph in graphs)):
        raise Verdict(answers.DIFFERENT, differ)
    return Hybrids(graphs, classes)


def check_results(bench: Bench, graphs: tuple[Graph, Graph], is_plain: bool) -> None:
    """Compare the programs' results; first guess the layouts of plain arguments.

    is_plain: nothing says which layout the arguments of B have.

    :raises Verdict: if the results differ.
    """
    worker, arguments = bench.worker, bench.arrays.arguments
    expected = worker.call("A")
    differ = matching.results_differ(expected, worker.call("B"))
    if differ and is_plain:
        for guess in matching.guesses(*graphs):
            values = matching.transposed(list(arguments[A].values()), guess)
            bench.arrays.replace(B, dict(zip(graphs[B].arguments, values, strict=True)))
            worker.bind("B", bench.arrays.place(worker, [(B, value) for value in graphs[B].arguments]))
            if not (differ := matching.results_differ(expected, worker.call("B"))):
                break
    if differ:
        raise Verdict(answers.DIFFERENT, differ)


class Finder:
    """One search between two programs; `cause` has what is known so far."""

    processes = 5
    """Fresh processes that decide; twice as many if the share of a cause is near ENOUGH."""

    def __init__(self, task: Task, say: Say, kept: Kept) -> None:
        self.task, self.settings, self.say, self.kept = task, task.settings, say, kept
        self.start = time.monotonic()
        self.programs: tuple[Program, Program] = (task.a, task.b)
        b, other = task.b and task.b.label, task.other and task.other.name
        self.cause = Cause(task.name, task.compiler.name, task.a.label, b, other, "", "", ask=self.settings.ask)

    def run(self) -> Cause:
        with Worker(self.task.compiler, **self.settings.limits) as worker:
            verdict, detail = self._search(worker)
        return replace(self.cause, verdict=verdict, detail=detail)

    def _search(self, worker: Worker) -> tuple[str, str]:
        with (
            Worker(self.task.evaluator, **self.settings.evaluator_limits) as reader,
            tempfile.TemporaryDirectory(prefix="stackwars-") as folder,
        ):
            graphs = tuple(reader.graph(program.text) for program in self.programs)
            for graph in graphs:
                if op := unsupported(graph):
                    raise Verdict(answers.FAILED, f"{op.name} has a result that is no tensor of known extents")
            self.say(f"operations {[len(graph.ops) for graph in graphs]}")
            bench, retimed = self._gap(worker, graphs)
            graphs = graphs if self.programs[A] is self.task.a else graphs[::-1]
            hybrids = self._pair(reader, graphs, bench, Path(folder))
            # Its memory is the whole model's, and nothing more is evaluated.
            reader.stop()
            found = self._searched(bench, hybrids, retimed)
            if found is self.inconsistent and (
                classes := matching.without_coincidences(hybrids.classes, graphs)
            ):
                self.say("again without values that are equal on these inputs alone")
                found = self._searched(bench, Hybrids(graphs, classes), retimed)
            return found

    def _pair(self, reader: Worker, graphs: tuple[Graph, Graph], bench: Bench, folder: Path) -> Hybrids:
        return pair(reader, graphs, bench.arrays, folder)

    def _searched(self, bench: Bench, hybrids: Hybrids, retimed: Retimed | None) -> tuple[str, str]:
        operations = [len(graph.ops) for graph in hybrids.graphs]
        tried = answers.Tried(operations, len(hybrids.classes), len(hybrids.kinds))
        self.cause = replace(self.cause, tried=tried)
        differ = sum(not kind.is_same for kind in hybrids.kinds)
        self.say(f"{tried.classes} classes, {tried.kinds} kinds, of which {differ} differ")
        search = self._search_among(bench, hybrids)
        findings = search.run()
        curve = {str(count): round(share, 4) for count, share in findings.curve.items()}
        self.cause = replace(self.cause, tried=replace(tried, curve=curve))
        return self._decide(search, findings, retimed)

    def _search_among(self, bench: Bench, hybrids: Hybrids) -> Search:
        # Fresh processes and the answer need the rest of the budget.
        end = self.start + 0.6 * self.settings.budget_s
        return Search(bench, hybrids, self.settings.seconds, end, self.say, self.kept)

    # The gap, before anything else: without one there is nothing to search.

    def _bench(self, worker: Worker, graphs: tuple[Graph, Graph]) -> Bench:
        arguments = tuple(map(arguments_of, self.programs, graphs))
        bench = Bench(worker, Arrays((graphs[A].types, graphs[B].types), arguments))
        for side in (A, B):
            nodes = tuple((side, value) for value in graphs[side].arguments)
            bench.load("AB"[side], CutProgram(self.programs[side].text, nodes))
        return bench

    def _gap(self, worker: Worker, graphs: tuple[Graph, Graph]) -> tuple[Bench, Retimed | None]:
        """Return the programs in a worker, the slower one as A, and their times in fresh processes if they were taken.

        :raises Verdict: if there is no gap to explain.
        """
        bench = self._bench(worker, graphs)
        check_results(bench, graphs, self.task.is_plain)
        bench.calibrate()
        # What is measured later is kept under the clock, so the choice of the clock is kept too.
        key = digest("gap", bench.identity, self.settings.seconds)
        bench.clock, is_noisy, a, b = self.kept.once(key, lambda: self._time(bench))
        self.say(
            f"A {milliseconds(a)} ms, B {milliseconds(b)} ms by the {bench.clock} clock{', noisy' if is_noisy else ''}"
        )
        ratio, retimed = a / b, None
        # A gap over 1.3 in one process is one in any.
        if is_noisy or 1 / 1.3 < ratio < 1.3:
            retimed = self._retime(bench)
            bound = self.settings.bound
            if gap_verdict(retimed.ratio(), bound) == answers.NOT_SEPARABLE:
                by_cpu = retimed.by(CPU)
                if gap_verdict(by_cpu.ratio(), bound) != answers.NOT_SEPARABLE:
                    self.say("the machine is busy: by the processor's time")
                    retimed, bench.clock = by_cpu, CPU
            self._note_times(retimed)
            if verdict := gap_verdict(retimed.ratio(), bound):
                raise Verdict(verdict, gap_detail(verdict, retimed.ratio()))
            ratio = retimed.ratio().value
        if ratio < 1:
            self.programs = self.programs[::-1]
            self.cause = replace(self.cause, a=self.programs[A].label, b=self.programs[B].label)
            self.say(f"A is now {self.programs[A].label}, the slower one")
            bench, retimed = bench.swapped(), None
        return bench, retimed

    def _time(self, bench: Bench) -> tuple[str, bool, float, float]:
        times = bench.time("AB", 4 * self.settings.seconds)
        clock, is_noisy = choose_clock(times)
        return clock, is_noisy, *(robust_time(times[name], clock) / 1e6 for name in "AB")

    def _retime(self, bench: Bench, cause: CutProgram | None = None, factor: int = 1) -> Retimed:
        programs = {**bench.programs, **({"cause": cause} if cause else {})}
        # Twice the seconds of other programs: all rounds of a process share its layout of memory.
        seconds = 2 * self.settings.seconds
        times = retime(bench, programs, seconds, self.settings.limits, self.kept)
        return Retimed(list(islice(times, factor * self.processes)), bench.clock)

    def _note_times(self, retimed: Retimed) -> None:
        ratio = retimed.ratio()
        a, b = (float(np.mean(retimed.times(name))) / 1e6 for name in "AB")
        self.cause = replace(self.cause, a_ms=round(a, 4), b_ms=round(b, 4), ratio=answers.Interval.of(ratio))
        self.say(
            f"fresh processes: A {milliseconds(a)} ms, B {milliseconds(b)} ms, ratio {ratio_interval(*ratio)}"
        )

    # The answer.

    inconsistent = (
        answers.NOT_SEPARABLE,
        "not separable: values matched only on these inputs: a program of both sides is faster than either",
    )
    """The answer if regions close more than the gap."""

    def _decide(self, search: Search, findings: Findings, retimed: Retimed | None) -> tuple[str, str]:
        bench, hybrids = search.bench, search.hybrids
        families = {hybrids.family(choice.kind) for choice in findings.choices}
        if not findings.choices or len(families) > MOST_KINDS:
            retimed = retimed or self._retime(bench)
            if findings.is_uncertain and not findings.choices:
                self._note_times(retimed)
                return (
                    answers.NOT_SEPARABLE,
                    "not separable from noise on this machine: what regions close is uncertain",
                )
            return self._spread(findings, retimed)
        # The last kinds that were left out are put back, twice at most, if fresh processes do not confirm the cause.
        for is_last in (False, False, True):
            cause = hybrids.hybrid(findings.classes)
            self._check_hybrid(bench, cause)
            retimed = self._retime(bench, cause)
            closed = self._closed(findings, retimed)
            if closed.low < ENOUGH <= closed.high and not search.out_of_time():
                retimed = self._retime(bench, cause, factor=2).clearest("cause")
                closed = self._closed(findings, retimed)
            # Too wide an interval to put anything back for it.
            is_vague = closed.high >= ENOUGH and closed.high - closed.low > 0.4
            is_done = closed.share >= ENOUGH or is_vague or not findings.dropped or search.out_of_time()
            if is_done or is_last:
                break
            findings.choices = merged([*findings.choices, *findings.dropped.pop()])
        if verdict := gap_verdict(retimed.ratio(), self.settings.bound):
            return verdict, gap_detail(verdict, retimed.ratio())
        if closed.low > MOST_SHARE:
            self.say(f"more than the gap: {format_share(closed)}")
            return self.inconsistent
        if closed.low <= 0 or closed.share > MOST_SHARE:
            return answers.NOT_SEPARABLE, "not separable from noise: what regions close is uncertain"
        if closed.high < ENOUGH:
            return self._spread(findings, retimed)
        return answers.CAUSE, self._explain(search, findings, retimed, closed)

    def _check_hybrid(self, bench: Bench, cause: CutProgram) -> None:
        """Raise Verdict if the program that closes the gap computes something else."""
        bench.load("cause", cause)
        differ = matching.results_differ(bench.worker.call("A"), bench.worker.call("cause"))
        bench.worker.drop("cause")
        if differ:
            raise Verdict(answers.FAILED, f"the hybrid that closes the gap has other values: {differ}")

    def _closed(self, findings: Findings, retimed: Retimed) -> Share:
        self._note_times(retimed)
        closed = retimed.closed("cause")
        self.say(f"{findings.kinds} kinds close {format_share(closed)} in fresh processes")
        return closed

    def _explain(self, search: Search, findings: Findings, retimed: Retimed, closed: Share) -> str:
        a, b, cause = (float(np.mean(retimed.times(name))) for name in ("A", "B", "cause"))
        regions = CauseRegions(search, self.programs).regions(findings, a - b)
        self.cause = replace(self.cause, closed=closed, left_ms=(cause - b) / 1e6, regions=regions)
        return f"{format_share(closed)} of the gap of {digits((a - b) / 1e6)} ms"

    def _spread(self, findings: Findings, retimed: Retimed) -> tuple[str, str]:
        self._note_times(retimed)
        if verdict := gap_verdict(retimed.ratio(), self.settings.bound):
            return verdict, gap_detail(verdict, retimed.ratio())
        count = findings.kinds or sum(row.difference > 0 for row in findings.alone)
        if count < 2:
            closed = f"; it closes {percent(max(findings.curve.values()))}" if findings.curve else ""
            detail = f"not separable: {count or 'no'} kind of regions is slower alone{closed}"
            return answers.NOT_SEPARABLE, detail
        detail = f"no single region: the gap is spread over {count} kinds"
        if findings.most < ENOUGH:
            detail += f"; all matched values from {self.programs[B].label} close {percent(findings.most)}"
        return answers.SPREAD, detail


# A difference in a cost that a compilation has: bytes of memory, or seconds of the processor. No call is timed.


class CostRegions(CauseRegions):
    """The regions of a cause of a difference in cost. The share of one is what it closes alone."""

    def _of_choice(self, choice: Choice, *_: object) -> answers.Region:
        found = self._search.closed([choice])
        what = answers.LAYOUT if choice.kind.is_layout else answers.OPERATIONS
        return self._region(choice, what, None, found and found.value)


class CostFinder(Finder):
    """One search between two programs, of which the first has the larger cost."""

    searches: type[CostSearch]
    _ends: tuple[float, float]
    """Costs of the programs that hybrids are compared with."""
    _error = 0.0
    inconsistent = answers.NOT_DECIDED, "not decided: a program of both sides needs less than either"

    def _search_among(self, bench: Bench, hybrids: Hybrids) -> Search:
        end = self.start + 0.8 * self.settings.budget_s
        return self.searches(bench, hybrids, 0.0, end, self.say, self.kept, self._ends, self._error)

    def _decide(self, search: Search, findings: Findings, retimed: Retimed | None) -> tuple[str, str]:
        if not findings.choices:
            what, most = f"all regions from {self.programs[B].label} close", findings.most
            if findings.most >= ENOUGH:
                what = "the regions that were tried close at most"
                most = max(findings.curve.values(), default=0.0)
            return answers.NOT_DECIDED, f"not decided: {what} {percent(most)}"
        families = {search.hybrids.family(choice.kind) for choice in findings.choices}
        if len(families) > MOST_KINDS:
            return answers.SPREAD, f"no single region: the difference is spread over {findings.kinds} kinds"
        hybrid = search.hybrids.hybrid(findings.classes)
        self._check_hybrid(search.bench, hybrid)
        closed = self._confirmed(search, findings, hybrid)
        if (closed.share if closed.low is None else closed.low) > MOST_SHARE:
            return self.inconsistent
        regions = CostRegions(search, self.programs).regions(findings, 0)
        self.cause = replace(self.cause, closed=closed, regions=regions)
        return answers.CAUSE, f"{format_share(closed)} of the difference of {self._difference()}"

    def _confirmed(self, search: Search, findings: Findings, hybrid: CutProgram) -> Share:
        """Return the share that the cause closes.

        :raises Verdict: if that is not decided.
        """
        return Share(search.closed(findings.choices).value)

    def _difference(self) -> str:
        """Return the difference of the costs in words."""
        raise NotImplementedError
