"""Which parts of one program take longer in one compiler than in another.

A program cannot be compiled half by one compiler and half by the other, so its parts are timed alone in both:
each product, convolution, reduction, loop or other operation that compilers do not fuse with its inputs is a
region, with the operations that follow it. Equal regions are one kind. The kinds that make up the gap are the
answer, with the option of either compiler that closes it, if there is one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.explain.ablation import YNN, ablate
from stackwars.explain.answer import shorten
from stackwars.explain.bench import WALL, interval, typical
from stackwars.explain.evaluated import Evaluated, Values, evaluate
from stackwars.explain.gap import CAUSE, NO_GAP, NOT_SEPARABLE, SPREAD, gap_detail, gap_verdict
from stackwars.explain.graph import Graph, Op, dtype, shape
from stackwars.explain.hybrids import Part
from stackwars.explain.question import Question
from stackwars.explain.reasons import reason, sentence
from stackwars.explain.workers import CompilerSpec, Crashed, Refused, TimedOut, Times, Worker
from stackwars.measure.log_ratio import Estimate, geometric_mean

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
ROUNDS = 5
"""Fresh processes of each compiler that time the program."""
PROGRAM = "program"
TURNS = 4
"""Turns in which the two compilers time a region."""
SHARE = 0.8
"""Of the gap that the cause makes up."""
KINDS = 6
"""Most kinds of regions that are one cause."""
LINES = 12
SHOWN_SHARE = 0.25
"""Of the gap that an option has to be worth."""
CRIPPLING = ("xla_disable_all_hlo_passes", "xla_backend_optimization_level", "iree-opt-level")
"""Options that say nothing about a cause."""
OPTIONS_S = 120
"""Seconds for trying options in each compiler."""


@dataclass
class Region:
    """Operations in order, the values that they read, and those that other regions or the caller read."""

    ops: list[Op]
    reads: list[int]
    results: list[int]

    def text(self, graph: Graph) -> str:
        return graph.part(self.ops, self.reads, self.results)


def regions(graph: Graph) -> list[Region]:
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
    readers: dict[int, set[int]] = {value: {-1} for value in graph.results}
    for number, ops in enumerate(members):
        for value in (value for op in ops for value in op.reads):
            readers.setdefault(value, set()).add(number)
    return [_region(graph, number, ops, home, readers) for number, ops in enumerate(members)]


def _region(
    graph: Graph, number: int, ops: list[Op], home: dict[int, int], readers: dict[int, set[int]]
) -> Region:
    inside = [value for op in ops for value in op.results]
    results = [value for value in inside if readers.get(value, set()) - {number}] or inside[-1:]
    needed = graph.needed(results, [value for value in home if home[value] != number])
    made = {value for op in needed for value in op.results}
    reads = dict.fromkeys(value for op in needed for value in op.reads if value not in made)
    return Region(needed, list(reads), results)


def kinds(graph: Graph) -> list[list[Region]]:
    """Return the regions by kind, in order of their first."""
    result: dict[str, list[Region]] = {}
    for region in regions(graph):
        result.setdefault(region.text(graph), []).append(region)
    return list(result.values())


@dataclass
class Timed:
    """A kind's times in ns in both compilers, in each turn, and what it does there; whether one refuses it."""

    kind: list[Region]
    times: np.ndarray
    reasons: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    refused: bool = False

    def difference(self) -> np.ndarray:
        """Return how much longer all regions of the kind take in the first compiler, in each turn."""
        return (self.times[0] - self.times[1]) * len(self.kind)


def find(question: Question, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Return the document of cause.json for program a in two compilers; a is the slower one.

    Raises what a worker raises if a compiler does not take the program.
    """
    specs = (question.compiler, question.other)
    settings = question.settings
    with tempfile.TemporaryDirectory() as folder, Worker(question.evaluator, **question.limits) as evaluator:
        graph = evaluator.generic(question.a.text)
        values = question.values(question.a, graph)
        total = _time_program(question, specs, graph, values)
        say(f"the program: {np.mean(total[0]) / 1e6:.3f} ms and {np.mean(total[1]) / 1e6:.3f} ms")
        if np.mean(total[0]) < np.mean(total[1]):
            specs, total = specs[::-1], total[::-1]
        verdict = gap_verdict(_ratio(total), settings["bound"])
        found = kinds(graph) if not verdict else []
        say(f"{len(graph.ops)} operations, {sum(map(len, found))} regions of {len(found)} kinds")
        rows: list[Timed] = []
        if found:
            wanted = {value for kind in found for value in kind[0].reads}
            evaluated = evaluate(evaluator, graph, values, Path(folder), sets=1, save=wanted)
            evaluator.close()
            with ExitStack() as stack:
                workers = [stack.enter_context(Worker(spec, **question.limits)) for spec in specs]
                rows = [_time_kind(workers, graph, kind, evaluated, settings["seconds"]) for kind in found]
            say("timed every kind alone in both")
    options = _options(specs, graph, values, total, settings) if found else []
    return _document(question, specs, graph, rows, total, verdict, options)


def _time_program(
    question: Question, specs: Sequence[CompilerSpec], graph: Graph, values: Values
) -> np.ndarray:
    """Return the program's times in ns, of each compiler in fresh processes that take turns."""
    times = np.zeros((2, ROUNDS))
    text = graph.module()
    for number in range(ROUNDS):
        for side in (0, 1) if number % 2 else (1, 0):
            with Worker(specs[side], **question.limits) as worker:
                worker.compile(PROGRAM, text)
                worker.bind(PROGRAM, [worker.put(str(place), get(0)) for place, get in enumerate(values)])
                rounds = worker.time([PROGRAM], 4 * question.settings["seconds"])[PROGRAM]
                times[side, number] = typical(rounds, WALL)
    return times


def _time_kind(
    workers: Sequence[Worker], graph: Graph, kind: list[Region], evaluated: Evaluated, seconds: float
) -> Timed:
    region = kind[0]
    text = region.text(graph)
    times = np.zeros((2, TURNS))
    last: list[Times] = [None, None]
    part = _part(region, text)
    try:
        for worker in workers:
            worker.compile("region", text)
            worker.bind("region", [_put(worker, graph, evaluated, value) for value in region.reads])
        for turn in range(TURNS):
            for side in (0, 1) if turn % 2 else (1, 0):
                last[side] = workers[side].time(["region"], seconds / TURNS, least=3)["region"]
                times[side, turn] = typical(last[side], WALL)
        reasons = tuple(reason((graph,), part, one) for one in last)
    except (Refused, Crashed, TimedOut, MemoryError):
        return Timed(kind, np.zeros((2, TURNS)), refused=True)
    return Timed(kind, times, reasons)


def _part(region: Region, text: str) -> Part:
    arguments, results = (tuple((0, value) for value in one) for one in (region.reads, region.results))
    return Part(text, arguments, tuple((0, op) for op in region.ops), results)


def _options(
    specs: Sequence[CompilerSpec], graph: Graph, values: Values, total: np.ndarray, settings: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the options of either compiler that change at least a quarter of the gap, with the share they
    are of it.

    Of the faster compiler an option counts that makes it slower, of the slower one an option that makes it
    faster.
    """
    gap = float(np.mean(total[0] - total[1])) / 1e6
    arrays = [get(0) for get in values]
    result = []
    for spec, sign, base in zip(specs, (-1, 1), total.mean(axis=1) / 1e6, strict=True):
        found = ablate(
            *(spec, graph.module(), arrays),
            seconds=settings["seconds"],
            budget_s=OPTIONS_S,
            timeout_s=settings["timeout_s"],
            cap_gib=settings["memory_cap_gib"],
        )
        for row in found:
            if row["ratio"] is None or row["outcome"] != "ok" or row["variant"].startswith(CRIPPLING):
                continue
            share = sign * (row["ratio"] - 1) * base / gap
            if share >= SHOWN_SHARE:
                result.append(
                    {
                        "compiler": spec.name,
                        "flag": row["flag"],
                        "ratio": row["ratio"],
                        "share": round(share, 3),
                    }
                )
    if any(row["flag"] == f"{YNN}=" for row in result):
        # Without the library altogether: its parts say no more.
        result = [row for row in result if not row["flag"].startswith(f"{YNN}=LIBRARY")]
    # What makes the slower compiler faster says more than what makes the faster one slower.
    return sorted(result, key=lambda row: (row["compiler"] != specs[0].name, -row["share"]))


def _put(worker: Worker, graph: Graph, evaluated: Evaluated, value: int) -> str:
    # A mask's lowest number in float64 is an infinity in float32.
    with np.errstate(over="ignore"):
        array = np.array(evaluated.array(value), dtype(graph.types[value]), order="C")
    return worker.put(f"value {value}", array.reshape(shape(graph.types[value])))


def _ratio(total: np.ndarray) -> Estimate:
    """Return how many times as long the first compiler takes, from pairs of processes."""
    return geometric_mean(list(total[0] / total[1]))


def _document(
    question: Question,
    specs: Sequence[CompilerSpec],
    graph: Graph,
    rows: list[Timed],
    total: np.ndarray,
    verdict: str | None,
    options: list[dict[str, Any]],
) -> dict[str, Any]:
    """Return cause.json: the fewest kinds that make up SHARE of the gap."""
    ratio = _ratio(total)
    gap = float(np.mean(total[0] - total[1]))
    slower = sorted((row for row in rows if not row.refused), key=lambda row: -row.difference().mean())
    chosen: list[Timed] = []
    for row in slower:
        if sum(one.difference().mean() for one in chosen) >= SHARE * gap or row.difference().mean() <= 0:
            break
        chosen.append(row)
    alone = np.sum([one.difference() for one in chosen], axis=0)
    share = interval(alone, [gap] * TURNS) if chosen else (0.0, 0.0, 0.0)
    if not verdict:
        verdict = _account(chosen, share)
    shown = chosen if verdict == CAUSE else []
    return {
        "schema": 1,
        "name": question.name,
        "a": f"{question.a.label} in {specs[0].name}",
        "b": f"{question.a.label} in {specs[1].name}",
        "compiler": specs[0].name,
        "other": specs[1].name,
        "verdict": verdict,
        "detail": _detail(verdict, specs, ratio, chosen, share) + _refused(rows),
        "a_ms": float(np.mean(total[0])) / 1e6,
        "b_ms": float(np.mean(total[1])) / 1e6,
        "ratio": ratio._asdict(),
        **({"closed": dict(zip(("share", "low", "high"), share, strict=True))} if shown else {}),
        "left_ms": gap * (1 - share[0]) / 1e6,
        "regions": [_row(question, row, gap, graph) for row in shown],
        "options": options,
    }


def _account(chosen: list[Timed], share: tuple[float, float, float]) -> str:
    """Return whether regions alone make up the gap: a cause does by its estimate, and by its interval not by chance."""
    if chosen and share[1] <= 0:
        return NOT_SEPARABLE
    return CAUSE if share[0] >= SHARE and len(chosen) <= KINDS else SPREAD


def _refused(rows: list[Timed]) -> str:
    count = sum(row.refused for row in rows)
    return f"; {count} of {len(rows)} kinds could not be timed alone" if count else ""


def _detail(
    verdict: str,
    specs: Sequence[CompilerSpec],
    ratio: Estimate,
    chosen: list[Timed],
    share: tuple[float, float, float],
) -> str:
    first, second = (spec.name for spec in specs)
    measured = f"{first} takes {ratio[0]:.3g} times as long as {second} ({ratio[1]:.3g} to {ratio[2]:.3g})"
    if verdict == NO_GAP or (not chosen and verdict == NOT_SEPARABLE):
        return gap_detail(verdict, ratio)
    count = f"{len(chosen)} kind{'s' * (len(chosen) != 1)} of regions, timed alone,"
    said = f"{measured}; {count} make up {share[0]:.0%} of the gap ({share[1]:.0%} to {share[2]:.0%})"
    if verdict == NOT_SEPARABLE:
        return f"not separable from noise on this machine: {said}"
    if verdict == SPREAD:
        return f"no {KINDS} kinds of regions make up {SHARE:.0%} of the gap: {said}"
    return said


def _row(question: Question, row: Timed, gap: float, graph: Graph) -> dict[str, Any]:
    region = row.kind[0]
    anchor = next((op for op in region.ops if op.name in ANCHORS), region.ops[0])
    lines = [shorten(op, graph.types) for op in sorted(region.ops, key=lambda op: op is not anchor)][:LINES]
    place = question.a.place(anchor.place)
    a_ms, b_ms = (float(row.times[side].mean()) / 1e6 for side in (0, 1))
    said = sentence("operations", [anchor], *row.reasons, "in the other compiler")
    return {
        "count": len(row.kind),
        "what": "operations",
        "share": float(row.difference().mean() / gap),
        "line_a": place,
        "line_b": place,
        "a": lines,
        "b": lines,
        "a_ms": a_ms,
        "b_ms": b_ms,
        "reason": {"a": row.reasons[0], "b": row.reasons[1], "sentence": said},
    }
