"""Why a program compiles long, and why one compiles longer than another: the processor's seconds in fresh processes.

Operations are taken out of a program: their results become arguments, and what they read stays a result. The fewest
groups without which it compiles in a moment are the cause. Values computed from constants alone are taken out like
others: a compiler that folds them computes them while it compiles. For two programs hybrids are compiled. For both,
passes that take long by XLA's clock are left out.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.compilers import iree
from stackwars.core.numbers import percent, ratio_interval, significant
from stackwars.core.outcome import Failed
from stackwars.core.program import Graph, Op, Program
from stackwars.core.ratio import geometric_mean, growth
from stackwars.core.types import is_tensor, size
from stackwars.explain import answer, cause, reproducer
from stackwars.explain.ablation import DISABLE
from stackwars.explain.answer import CAUSE, NO_CAUSE, NO_GAP, NOT_DECIDED, NOT_SEPARABLE, SPREAD, Option, Share
from stackwars.explain.bench import CPU, Bench, CallTime, format_share, gap_detail, gap_verdict
from stackwars.explain.cause import CostFinder, Finder, Say, Verdict, check_results
from stackwars.explain.hybrids import A, CutProgram, Hybrids, RegionKind
from stackwars.explain.reduction import LITERAL, Reduction, Subset, Subsets, shrink
from stackwars.explain.regions import MOST_OPS, by_cost, shorten, special
from stackwars.explain.search import ENOUGH, MOST_KINDS, CostSearch, Findings, Retimed, Search
from stackwars.explain.table import COMPILE_S, LONG_S
from stackwars.explain.task import Kept, Task, digest

FIRST = "module @first {\nfunc.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}\n}\n"
"""A program that compiles in a moment: what a compiler does once in a process is not counted."""
LEAST_ROUNDS, MOST_ROUNDS = 3, 6
"""Rounds of fresh processes that decide a question: at least, and at most."""
PASS_SHARE, MOST_PASSES, MOST_RECORDED = 0.25, 3, 20
"""A pass that takes this share of the time by XLA's clock is left out; how many are, and how many are recorded."""
MOST_COPIES = 8
"""Operations of one group that differ in numbers alone and need no loop."""
SEARCH_SHARE, REDUCE_SHARE, MOST_REDUCED = 0.5, 0.8, 32
"""Shares of the budget for taking operations out, and for reducing; operations of a program that is reduced at most."""
LEVEL = "xla_backend_optimization_level"
"""The option that says how much LLVM optimises, which is in no pass of XLA's."""
TELL = {"TF_CPP_MIN_LOG_LEVEL": "0", "TF_CPP_VMODULE": "hlo_pass_pipeline=1"}
"""Variables with which XLA prints the beginning and the time of each pass."""
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_PASS = re.compile(
    rf"HLO pass(?:: (\S+) time: ([\d.e+-]+) ({'|'.join(_UNITS)})\b| +[\w.-]+[ \t]*$)", re.MULTILINE
)
Text = str | bytes
Variant = tuple[Text, dict[str, Any]]
"""A program's text, and options of the compiler for it."""


def compiled(
    spec: CompilerSpec, text: Text, limits: Mapping[str, Any], options: dict[str, Any] | None = None
) -> CallTime:
    """Return the ns of compiling a program in a fresh process.

    :raises Failed: if the compiler does not take it.
    """
    with Worker(spec, **limits) as worker:
        worker.load("first", FIRST, options)
        seconds = worker.load("program", text, options)
        return CallTime(*(1e9 * one for one in (seconds, worker.compile_cpu_s, worker.compile_cpu_s)))


def pass_seconds(printed: str) -> dict[str, float]:
    """Return the seconds of each pass without those inside it, the longest first; empty if XLA printed none.

    printed: with the variables TELL.
    """
    result: Counter[str] = Counter()
    inside: list[float] = []
    for name, value, unit in _PASS.findall(printed):
        if not name:
            inside.append(0.0)
            continue
        seconds = float(value) * _UNITS[unit]
        result[name] += max(0.0, seconds - (inside.pop() if inside else 0.0))
        if inside:
            inside[-1] += seconds
    return dict(result.most_common(MOST_RECORDED))


@dataclass
class Compilations:
    """Compilations by one compiler in fresh processes. One that was measured is not repeated."""

    spec: CompilerSpec
    limits: Mapping[str, Any]
    kept: Kept

    def time(self, text: Text, options: dict[str, Any] | None = None, number: Any = 0) -> CallTime:
        """Return the ns of compiling a program. Another number measures it again."""
        key = digest("compiled", self.spec, (text, options or {}), number)
        return CallTime(*self.kept.once(key, lambda: compiled(self.spec, text, self.limits, options)))

    def cpu(self, text: Text, options: dict[str, Any] | None = None, number: Any = 0) -> float:
        return self.time(text, options, number).cpu

    def rounds(self, variants: Mapping[str, Variant], is_decided: Callable[[Retimed], bool]) -> Retimed:
        """Return rounds in which each program is compiled, until a question is decided or there are MOST_ROUNDS."""
        found: list[dict[str, CallTime]] = []
        content = digest(list(variants.items()))
        while len(found) < LEAST_ROUNDS or (len(found) < MOST_ROUNDS and not is_decided(Retimed(found, CPU))):
            # In alternating order, and for this question alone: what disturbs a round disturbs all of it.
            order = [*variants][:: -1 if len(found) % 2 else 1]
            times = {name: self.time(*variants[name], (content, len(found))) for name in order}
            found.append({name: times[name] for name in variants})
        return Retimed(found, CPU)

    def confirmed(
        self, text: Text, other: Text, by: Variant, passes: Mapping[str, Variant]
    ) -> tuple[Retimed, list[Option]]:
        """Return rounds of A, B and the cause, and the flags of passes by the share of the difference that they close.

        :raises Verdict: if the cause does not close enough of the difference, or that is not decided.
        """
        found = self.rounds({"A": (text, {}), "B": (other, {}), "cause": by, **passes}, _is_share_decided)
        words = f"what was found makes up {format_share(found.closed('cause'))} of the difference"
        if not _is_share_decided(found):
            raise Verdict(NOT_DECIDED, f"not decided: {words}")
        if found.closed("cause").high < ENOUGH:
            raise Verdict(SPREAD, f"no single region: {words}")
        shares = {flag: found.closed(flag).share for flag in passes}
        ratios = {flag: float(np.mean(found.times(flag)) / np.mean(found.times("A"))) for flag in passes}
        options = [Option(self.spec.name, flag, ratios[flag], shares[flag]) for flag in passes]
        return found, sorted(options, key=lambda option: -option.share)

    def pass_times(self, text: Text) -> dict[str, float]:
        """Return the seconds of the longest passes by XLA's clock; empty if this compiler does not tell them."""

        def measure() -> dict[str, float]:
            with Worker(self.spec, **self.limits, environ=TELL) as worker:
                worker.load("program", text)
                return pass_seconds(worker.log(lines=10_000_000))

        return self.kept.once(digest("passes", self.spec, text), measure) if self.spec.is_xla else {}

    def without_passes(self, text: Text, other: Text) -> dict[str, Variant]:
        """Return the program without each pass that makes it compile longer than another, by the flag that does so.

        If no pass takes long and the other program compiles in a moment, code generation does: without fusion, which
        decides how large the kernels are, and without LLVM's optimisations.
        """
        a, b = self.pass_times(text), self.pass_times(other)
        least, before = PASS_SHARE * (self.cpu(text) - self.cpu(other)), self.spec.options.get(DISABLE, "")
        names = (
            [name for name in a if 1e9 * (a[name] - b.get(name, 0.0)) >= least] if a else ["constant_folding"]
        )
        is_code = not names and other == FIRST
        tried = ["fusion"] if is_code else names[:MOST_PASSES]
        flags = [(f"{DISABLE}={name}", {DISABLE: f"{before},{name}".strip(",")}) for name in tried]
        if is_code:
            flags.append((f"{LEVEL}=0", {LEVEL: "0"}))
        result = {}
        for flag, options in flags if self.spec.is_xla else ():
            # Some programs do not compile without a pass.
            with contextlib.suppress(Failed):
                if self.cpu(text) - self.cpu(text, options) >= least:
                    result[flag] = (text, options)
        return result


def _is_share_decided(found: Retimed) -> bool:
    closed = found.closed("cause")
    return closed.low >= ENOUGH - 0.1 or closed.high < ENOUGH


def _is_length_decided(found: Retimed) -> bool:
    _, low, high = geometric_mean(found.times("A"))
    return not low < 1e9 * LONG_S <= high


def in_seconds(ns: float) -> str:
    return f"{significant(ns / 1e9)} s of the processor"


# Two programs


class CompileSearch(CostSearch):
    """A search in which a program's cost is the processor's ns of compiling it in a fresh process."""

    compilations: Compilations

    def cost(self, program: CutProgram) -> float:
        return self.compilations.cpu(program.text)

    def difference(self, kind: RegionKind, parts: Sequence[CutProgram]) -> tuple[float, float, float]:
        # Ranks need no fresh processes, and there are many regions.
        a, b = (self._warm(part) if part.ops else 0.0 for part in parts)
        return a, b, (a - b) * len(kind)

    def _warm(self, part: CutProgram) -> float:
        worker = self.bench.worker
        worker.load("region", part.text)
        worker.drop("region")
        return 1e9 * worker.compile_cpu_s


class CompileFinder(CostFinder):
    """One search between two programs, of which the first compiles longer."""

    searches = CompileSearch

    def _gap(self, worker: Worker, graphs: tuple[Graph, Graph]) -> tuple[Bench, Retimed | None]:
        self._compilations = Compilations(self.task.compiler, self.settings.limits, self.kept)
        bound = self.settings.bound
        found = self._compilations.rounds(
            {name: (program.text, {}) for name, program in zip("AB", self.programs, strict=True)},
            lambda found: gap_verdict(found.ratio(), bound) != NOT_SEPARABLE,
        )
        if found.ratio().value < 1:
            self.programs, graphs = self.programs[::-1], graphs[::-1]
            self.cause = replace(self.cause, a=self.programs[0].label, b=self.programs[1].label)
            found = Retimed([{"A": one["B"], "B": one["A"]} for one in found.processes], CPU)
        a, b = self._ends = tuple(float(np.mean(found.times(name))) for name in "AB")
        self._error = float(np.std(found.times("A"), ddof=1)) / max(1.0, a - b)
        self.cause = replace(self.cause, a_ms=a / 1e6, b_ms=b / 1e6, ratio=answer.Interval.of(found.ratio()))
        self.say(f"A {in_seconds(a)}, B {in_seconds(b)}, ratio {ratio_interval(*found.ratio())}")
        if a - b < 1e9 * COMPILE_S:
            raise Verdict(NO_GAP, f"no gap to explain: they differ by less than {COMPILE_S} s of the processor")
        if verdict := gap_verdict(found.ratio(), bound):
            raise Verdict(verdict, gap_detail(verdict, found.ratio()))
        bench = self._bench(worker, graphs)
        check_results(bench, graphs, self.task.is_plain)
        return bench, None

    def _search_among(self, bench: Bench, hybrids: Hybrids) -> Search:
        search = super()._search_among(bench, hybrids)
        search.compilations = self._compilations
        return search

    def _confirmed(self, search: Search, findings: Findings, hybrid: CutProgram) -> Share:
        texts = [program.text for program in self.programs]
        passes = self._compilations.without_passes(*texts)
        found, options = self._compilations.confirmed(*texts, (hybrid.text, {}), passes)
        self.cause = replace(self.cause, passes=self._compilations.pass_times(texts[0]), options=options)
        return found.closed("cause")

    def _difference(self) -> str:
        return in_seconds(self._ends[0] - self._ends[1])


# One program


def groups(program: Program, graph: Graph) -> list[list[Op]]:
    """Return the operations of a program by source line, or those that differ in numbers alone if they have no line.

    Those computed from constants alone are groups of their own. Large constants come first, because what comes first is
    left in the program if other groups are enough; small ones belong to none.
    """
    subsets, unknown = Subsets(graph), f"{program.file or program.label}:"
    found: dict[tuple[bool, bool, str], list[Op]] = {}
    for op in graph.needed(graph.results):
        is_literal = op.name.endswith(".constant")
        # A program whose scalars are arguments is another one: a reduction has its initial value among them.
        if op.name.endswith(".iota") or (is_literal and size(graph.types[op.results[0]]) <= LITERAL):
            continue
        place = program.place(op.place) if program.sources and op.place else unknown
        key = _without_numbers(op) if place.startswith(unknown) else place
        found.setdefault((not is_literal, subsets.is_constant(op), key), []).append(op)
    return [found[key] for key in sorted(found, key=lambda key: key[0])]


def _without_numbers(op: Op) -> str:
    """Return a text that copies of an operation share: those in an unrolled loop may differ in places and sizes."""
    return re.sub(r"\d+", "", op.form())


def without(graph: Graph, taken: Iterable[Sequence[Op]]) -> str:
    """Return a program without some operations: their results are arguments, and what they read are further results."""
    gone = {op.number: op for ops in taken for op in ops}
    left = [op for op in graph.needed(graph.results) if op.number not in gone]
    made = {value for op in left for value in op.results}
    read = [value for number in sorted(gone) for value in gone[number].reads if value in made]
    results = list(dict.fromkeys([*graph.results, *(value for value in read if is_tensor(graph.types[value]))]))
    needed = dict.fromkeys([*(value for op in left for value in op.reads), *results])
    known = made.union(graph.arguments)
    return graph.part(left, [*graph.arguments, *(value for value in needed if value not in known)], results)


def region(program: Program, subsets: Subsets, ops: Sequence[Op], share: float, left: float) -> answer.Region:
    """Return a group as a region of the answer. share: of the time that it takes; left: ns of compiling without it."""
    copies, what = Counter(map(_without_numbers, ops)), answer.OPERATIONS
    alike = {_without_numbers(op): op for op in sorted(ops, key=lambda op: op.work)}
    ordered = by_cost(CutProgram("", (), tuple((A, op) for op in alike.values())))
    if subsets.is_constant(ops[0]) and any(op.operands for op in ops):
        what = answer.COMPUTED
    elif max(copies.values()) >= MOST_COPIES:
        what = answer.REPEATED
    line = program.place(ordered[0].place) if ordered[0].place else ""
    texts = [shorten(op) for op in ordered[:MOST_OPS]]
    return answer.Region(
        *(copies[_without_numbers(ordered[0])], what, round(share, 4), line, line, texts, texts),
        reason=answer.Reason(sentence=f"with their results as arguments it compiles in {in_seconds(left)}"),
        differs=special(ordered[0]),
    )


class LongFinder(Finder):
    """One search for what makes a program compile long."""

    def run(self) -> answer.Cause:
        task, text = self.task, self.task.a.text
        self._compilations = Compilations(task.compiler, self.settings.limits, self.kept)
        with Worker(task.evaluator, **self.settings.evaluator_limits) as reader:
            self._graph = reader.graph(text)
            self._subsets = Subsets(self._graph)
            found = self._compilations.rounds({"A": (text, {}), "B": (FIRST, {})}, _is_length_decided)
            self._a, self._b = (float(np.mean(found.times(name))) for name in "AB")
            self.cause = replace(self.cause, a_ms=self._a / 1e6)
            what = f"it compiles in {in_seconds(self._a)}"
            self.say(f"{what}, {len(self._graph.ops)} operations")
            if not _is_length_decided(found):
                raise Verdict(NOT_DECIDED, f"not decided: {what}, with {LONG_S:g} s in the interval")
            if self._a < 1e9 * LONG_S:
                raise Verdict(NO_CAUSE, f"no cause: {what}, less than {LONG_S:g} s")
            self.cause = replace(self.cause, passes=self._compilations.pass_times(text))
            taken = self._fewest(groups(task.a, self._graph))
            detail = self._confirmed(taken)
            self.cause = replace(self.cause, growth=self._growth())
            detail += (
                self._reproduced(reader, [op for ops in taken for op in ops]) if self.cause.regions else ""
            )
        return replace(self.cause, verdict=CAUSE, detail=detail)

    def _is_late(self, share: float) -> bool:
        return time.monotonic() > self.start + share * self.settings.budget_s

    def _saved(self, taken: Sequence[Sequence[Op]]) -> float:
        """Return the share of the time that a program without some groups saves; 0 if it does not compile."""
        try:
            return (self._a - self._compilations.cpu(without(self._graph, taken))) / (self._a - self._b)
        except Failed as error:
            self.say(f"without {len(taken)} groups: {error}"[:300])
            return 0.0

    def _fewest(self, found: Sequence[Sequence[Op]]) -> list[Sequence[Op]]:
        """Return the fewest groups whose absence saves enough; none if all do not."""
        fewest: list[Sequence[Op]] = []

        def is_enough(left: Sequence[Sequence[Op]]) -> bool:
            nonlocal fewest
            if self._is_late(SEARCH_SHARE):
                raise TimeoutError("no time is left")
            saved = self._saved(left) if left else 0.0
            self.say(f"without {len(left)} of {len(found)} groups: {percent(saved)} of the time is saved")
            fewest = list(left) if saved >= ENOUGH else fewest
            return saved >= ENOUGH

        with contextlib.suppress(TimeoutError):
            if is_enough(found):
                shrink(found, is_enough)
        return fewest

    def _confirmed(self, taken: Sequence[Sequence[Op]]) -> str:
        """Set the regions of the cause, or the pass if there are too many; return a sentence.

        :raises Verdict: if neither makes up enough, or that is not decided.
        """
        text = self.task.a.text
        passes = self._compilations.without_passes(text, FIRST)
        if taken and len(taken) <= MOST_KINDS:
            name, by = "", (without(self._graph, taken), {})
        elif passes:
            name, by = next(iter(passes.items()))
        elif taken:
            raise Verdict(SPREAD, f"no single region: the time is spread over {len(taken)} kinds")
        else:
            raise Verdict(NOT_DECIDED, "not decided: without its operations it still compiles long")
        found, options = self._compilations.confirmed(text, FIRST, by, passes)
        closed, left = found.closed("cause"), float(np.mean(found.times("cause")))
        regions = []
        for ops in () if name else taken:
            share = self._saved([ops]) if len(taken) > 1 else 1.0
            rest = self._a - share * (self._a - self._b) if len(taken) > 1 else left
            regions.append(region(self.task.a, self._subsets, ops, share, rest))
        self.cause = replace(self.cause, closed=closed, left_ms=left / 1e6, regions=regions, options=options)
        return f"{format_share(closed)} of {in_seconds(self._a)}{f' with {name}' * bool(name)}"

    def _growth(self) -> dict[str, answer.Interval]:
        """Return the power of each size with which the time grows, if three sizes take long enough to tell it."""
        result, sizes, lower = {}, self.task.a.sizes, self.task.lower
        for name in sizes if lower else ():
            points = {sizes[name]: self._a - self._b}
            for extent in (sizes[name] // divisor for divisor in (2, 4, 8)):
                if self._is_late(SEARCH_SHARE) or not extent or not (program := lower({**sizes, name: extent})):
                    break
                with contextlib.suppress(Failed):
                    points[extent] = self._compilations.cpu(program.text) - self._b
            points = {extent: ns for extent, ns in points.items() if ns >= 1e9 * COMPILE_S}
            if len(points) >= 3:
                found = growth(points, points.values())
                ends = (found.log, found.log - found.half_width(), found.log + found.half_width())
                result[name] = answer.Interval(*(round(one / log(2), 3) for one in ends))
        # An interval that has 0 says nothing about the growth.
        return {name: one for name, one in result.items() if one.low > 0}

    def _reproduced(self, reader: Worker, ops: Sequence[Op]) -> str:
        """Set a reproducer of few operations, if a fresh process confirms it; return its size in words."""
        subsets, least = self._subsets, self._b + ENOUGH * (self._a - self._b)

        def is_long(subset: Subset) -> bool:
            if self._is_late(REDUCE_SHARE):
                raise TimeoutError("no time is left")
            # A spelled-out value needs an evaluation, and compiles in no less time.
            if subset.literals:
                return False
            part = subsets.text(subset)
            with contextlib.suppress(Failed):
                ns = self._compilations.cpu(part)
                if least / 2 <= ns < least:
                    # Other processes may have slowed the machine when the whole program was compiled.
                    whole = self._compilations.cpu(self.task.a.text, number=part)
                    return ns >= self._b + ENOUGH * (whole - self._b)
                return ns >= least
            return False

        reduction = Reduction(subsets, is_long)
        chosen = [op.number for op in ops if not subsets.is_constant(op)]
        reduction.smallest = subset = subsets.subset(
            chosen, subsets.leaving(subsets.whole(), [op.number for op in ops])
        )
        with contextlib.suppress(TimeoutError):
            if not is_long(subset):
                return ""
            subset = reduction.run() if len(ops) <= MOST_REDUCED else subset
        spec, text = self.task.compiler, reader.pretty(subsets.text(subset))
        count = sum(not op.name.endswith(".constant") for op in subsets.operations(subset))
        doc = f"{spec.name}: {self.task.a.label} compiles in {in_seconds(self._a)}; {count} operations are left"
        types = [self._graph.types[value] for value in subsets.arguments(subset)]
        case = reproducer.Case(
            *(doc, spec.module, spec.options if spec.is_xla else iree.flags(spec.options)),
            *(text if spec.is_xla else iree.rewritten(text), reproducer.array_types(types), None),
            timeout_s=self.settings.timeout_s,
            first=FIRST,
            seconds=least / 2e9,
        )
        with tempfile.TemporaryDirectory(prefix="stackwars-") as folder:
            place = self.kept.folder or Path(folder)
            status, printed = reproducer.show(case, place, spec.python)
            self.say(printed)
            if status == 1 and "FAULT: it compiles long" in printed:
                script = (place / reproducer.REPRODUCER).read_text()
                self.cause = replace(self.cause, reduced=case.program, script=script)
                return f"; {count} operations alone compile as long"
        return ""


def find(task: Task, say: Say, kept: Kept | None = None) -> answer.Cause:
    """Return why a program compiles longer than another, or long, as `cause.find` returns the cause of a gap."""
    return cause.find(task, say, kept, CompileFinder if task.b else LongFinder)
