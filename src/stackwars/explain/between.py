"""Which parts of one program take longer in one compiler than in another.

A program cannot be compiled half by one compiler and half by the other, so its parts are timed alone in both: each
product, convolution, reduction, loop or other operation that compilers do not fuse with its inputs is a region, with the
operations that follow it. Equal regions are one kind. The kinds that make up the gap are the answer, with the option of
either compiler that closes it, if there is one.
"""

from __future__ import annotations

import math
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from stackwars.explain.evaluated import Evaluated, Values, evaluate
from stackwars.explain.graph import Graph, Op, dtype
from stackwars.explain.question import Question
from stackwars.explain.workers import CompilerSpec, Crashed, Refused, TimedOut, Times, Worker

ANCHORS = {
    f"stablehlo.{name}"
    for name in (
        *(
            "dot_general",
            "dot",
            "convolution",
            "reduce",
            "reduce_window",
            "select_and_scatter",
            "sort",
            "while",
            "if",
        ),
        *(
            "case",
            "gather",
            "scatter",
            "dynamic_update_slice",
            "custom_call",
            "fft",
            "cholesky",
            "triangular_solve",
        ),
        *("batch_norm_training", "batch_norm_grad", "batch_norm_inference", "rng_bit_generator", "composite"),
    )
}
"""Operations that begin a region."""
ROUNDS = 5
"""Fresh processes of each compiler that time the whole program."""
TURNS = 4
"""Turns in which the two compilers time a region."""
SHARE = 0.8
"""Of the gap that the cause makes up."""
KINDS = 6
"""Most kinds of regions that are one cause."""


@dataclass
class Region:
    """Operations in order, the values that they read, and those that other regions or the caller read."""

    ops: list[Op]
    reads: list[int]
    results: list[int]

    def text(self, graph: Graph) -> str:
        """Return the region as a module."""
        return graph.part(self.ops, self.reads, self.results)


def regions(graph: Graph) -> list[Region]:
    """Divide a program into regions; what depends on arguments alone is part of every region that reads it."""
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
    """A kind's times in ns in both compilers, in each turn, and cores used; the reason if one refuses it."""

    kind: list[Region]
    times: np.ndarray
    cores: tuple[float, float] = (0.0, 0.0)
    refused: str = ""

    def difference(self) -> np.ndarray:
        """Return how much longer all regions of the kind take in the first compiler, in each turn."""
        return (self.times[0] - self.times[1]) * len(self.kind)


def find(question: Question, say: Callable[..., None] = print) -> dict[str, Any]:
    """Return the document of cause.json for program a in two compilers, `compiler` and `other`."""
    start = time.monotonic()
    specs = (question.compiler, question.other)
    settings = question.settings
    with tempfile.TemporaryDirectory() as folder, Worker(question.evaluator, **_limits(settings)) as evaluator:
        graph = evaluator.generic(question.a.text)
        found = kinds(graph)
        wanted = {value for kind in found for value in kind[0].reads}
        values = question.values(question.a, graph)
        evaluated = evaluate(evaluator, graph, values, Path(folder), sets=1, save=wanted)
        evaluator.close()
        say(f"{len(graph.ops)} operations, {sum(map(len, found))} regions of {len(found)} kinds")
        whole = _whole(question, specs, graph, values)
        say(f"whole program: {np.median(whole[0]) / 1e6:.3f} ms and {np.median(whole[1]) / 1e6:.3f} ms")
        with ExitStack() as stack:
            workers = [stack.enter_context(Worker(spec, **_limits(settings))) for spec in specs]
            rows = [_time_kind(workers, graph, kind, evaluated, settings) for kind in found]
    document = _document(question, graph, rows, whole)
    return document | {"seconds": round(time.monotonic() - start, 1)}


def _limits(settings: dict[str, Any]) -> dict[str, Any]:
    names = {"memory_cap_gib": "cap_gib", "timeout_s": "timeout_s"}
    return {name: settings[key] for key, name in names.items() if key in settings}


def _whole(question: Question, specs: Sequence[CompilerSpec], graph: Graph, values: Values) -> np.ndarray:
    """Return the times of the whole program in ns, of each compiler in fresh processes that take turns."""
    times = np.zeros((2, ROUNDS))
    text = graph.module()
    for number in range(ROUNDS):
        for side in (0, 1) if number % 2 else (1, 0):
            with Worker(specs[side], **_limits(question.settings)) as worker:
                worker.compile("whole", text)
                worker.bind("whole", [worker.put(str(place), get(0)) for place, get in enumerate(values)])
                times[side, number] = _typical(worker.time(["whole"], 4 * _seconds(question.settings))["whole"])
    return times


def _time_kind(
    workers: Sequence[Worker], graph: Graph, kind: list[Region], evaluated: Evaluated, settings: dict[str, Any]
) -> Timed:
    region, seconds = kind[0], _seconds(settings) / TURNS
    text = region.text(graph)
    times, cores = np.zeros((2, TURNS)), [[], []]
    try:
        for worker in workers:
            worker.compile("region", text)
            worker.bind("region", [_put(worker, graph, evaluated, value) for value in region.reads])
        for turn in range(TURNS):
            for side in (0, 1) if turn % 2 else (1, 0):
                found = workers[side].time(["region"], seconds, least=3)["region"]
                times[side, turn] = _typical(found)
                cores[side].append(found.cpu_ns.sum() / max(1, found.wall_ns.sum()))
    except (Refused, Crashed, TimedOut, MemoryError) as error:
        return Timed(kind, np.zeros((2, TURNS)), refused=str(error))
    return Timed(kind, times, (float(np.mean(cores[0])), float(np.mean(cores[1]))))


def _put(worker: Worker, graph: Graph, evaluated: Evaluated, value: int) -> str:
    array = evaluated.array(value)
    return worker.put(
        f"value {value}", np.ascontiguousarray(array).astype(dtype(graph.types[value]), copy=False)
    )


def _seconds(settings: dict[str, Any]) -> float:
    return settings.get("seconds", 0.3)


def _typical(times: Times) -> float:
    return float(np.quantile(times.wall_ns, 0.25))


def _document(question: Question, graph: Graph, rows: list[Timed], whole: np.ndarray) -> dict[str, Any]:
    """Return cause.json: the fewest kinds that make up SHARE of the gap."""
    ratio = _interval(np.log(whole[0] / whole[1]))
    gap = float(np.mean(whole[0] - whole[1]))
    bound = question.settings.get("bound", 0.1)
    slower = sorted((row for row in rows if not row.refused), key=lambda row: -row.difference().mean())
    chosen: list[Timed] = []
    if ratio[1] > 0 and np.exp(ratio[0]) > 1 + bound:
        for row in slower:
            chosen.append(row)
            if sum(one.difference().mean() for one in chosen) >= SHARE * gap:
                break
    closed = sum(one.difference().mean() for one in chosen) / gap if gap > 0 else 0.0
    verdict, detail = _verdict(question, chosen, closed, ratio, bound)
    if verdict != "cause":
        chosen = chosen if verdict == "spread" else []
    shares = np.sum([one.difference() for one in chosen], axis=0) / gap if chosen else np.zeros(TURNS)
    share = _interval(shares)
    better = [row for row in reversed(slower) if row.difference().mean() < -0.05 * abs(gap)][:3]
    return {
        "schema": 1,
        "name": question.name,
        "a": f"{question.a.label} in {question.compiler.name}",
        "b": f"{question.a.label} in {question.other.name}",
        "compiler": question.compiler.name,
        "other": question.other.name,
        "verdict": verdict,
        "detail": detail,
        "a_ms": float(np.mean(whole[0])) / 1e6,
        "b_ms": float(np.mean(whole[1])) / 1e6,
        "ratio": dict(zip(("value", "low", "high"), map(float, np.exp(ratio)), strict=True)),
        "closed": dict(zip(("share", "low", "high"), map(float, share), strict=True)),
        "left_ms": gap * (1 - float(share[0])) / 1e6,
        "regions": [_row(question, number, row, gap) for number, row in enumerate(chosen)],
        "a_better": [_row(question, number, row, gap) for number, row in enumerate(better)],
        "tried": {
            "operations": [len(graph.ops), len(graph.ops)],
            "kinds": len(rows),
            "regions": sum(len(row.kind) for row in rows),
            "refused": [row.refused for row in rows if row.refused],
            "alone_ms": [
                sum(float(row.times[side].mean()) * len(row.kind) for row in rows) / 1e6 for side in (0, 1)
            ],
        },
    }


def _verdict(
    question: Question, chosen: list[Timed], closed: float, ratio: np.ndarray, bound: float
) -> tuple[str, str]:
    first, second = question.compiler.name, question.other.name
    if ratio[1] <= 0 <= ratio[2]:
        return "not separable", f"the interval of the ratio of {first} to {second} holds 1"
    if np.exp(ratio[0]) <= 1 + bound:
        return "no gap", f"{first} takes at most {bound:.0%} longer than {second}"
    if closed < SHARE or len(chosen) > KINDS:
        return (
            "spread",
            f"no {KINDS} kinds of regions make up {SHARE:.0%} of the gap: {len(chosen)} make up {closed:.0%}",
        )
    return "cause", f"{len(chosen)} kinds of regions, timed alone, make up {closed:.0%} of the gap"


def _row(question: Question, number: int, row: Timed, gap: float) -> dict[str, Any]:
    region = row.kind[0]
    lines = [op.form() for op in region.ops]
    anchor = next((op for op in region.ops if op.name in ANCHORS), region.ops[0])
    place = question.a.place(anchor.place)
    return {
        "kind": number,
        "count": len(row.kind),
        "what": "operations",
        "share": float(row.difference().mean() / gap),
        "line_a": place,
        "line_b": place,
        "a": lines,
        "b": lines,
        "a_ms": float(row.times[0].mean()) / 1e6,
        "b_ms": float(row.times[1].mean()) / 1e6,
        "reason": {"a": {"cores": row.cores[0]}, "b": {"cores": row.cores[1]}},
    }


def _interval(values: np.ndarray) -> np.ndarray:
    """Return mean, low and high of the 95 % interval of Student's t."""
    half = float(stdtrit(len(values) - 1, 0.975)) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return np.array([values.mean(), values.mean() - half, values.mean() + half])
