"""The regions of a cause: what they are as text, and why they are slow: the cores that they use and their rates."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from stackwars.core.numbers import digits, percent
from stackwars.core.outcome import Failed
from stackwars.core.program import Graph, Op, Program
from stackwars.core.types import dtype, size
from stackwars.explain.answer import LAYOUT, OPERATIONS, Rate, Reason, Region
from stackwars.explain.bench import Bench, CallTime
from stackwars.explain.hybrids import A, B, CutProgram, RegionKind
from stackwars.explain.kept import digest
from stackwars.explain.search import Choice, Findings, KindTime, Search

MOST_OPS = 12
"""Operations of a region that are shown."""
NOUNS = {
    "dot_general": "product", "convolution": "convolution", "while": "loop", "sort": "sort", "reduce": "reduction",
    "reduce_window": "window reduction", "gather": "gather", "scatter": "scatter", "custom_call": "call",
}  # fmt: skip
"""What a region is called by: its first operation in this order."""
MOVES = ("transpose", "reshape", "broadcast_in_dim", "slice", "concatenate", "convert", "constant")
_NOISE = re.compile(
    r'(, )?(xla_shape = "[^"]*"|result_layout = dense<[^>]*> : tensor<\d+xindex>|mhlo\.\w+ = [^,}]*)'
)
_LONG = re.compile(r'dense<("0x[0-9A-F]{32})[0-9A-F]*">')
_PEAK_SIDE = 1536
_PEAK = """func.func @main(%a: tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32> {{
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : \
(tensor<{n}x{n}xf32>, tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32>
  return %0 : tensor<{n}x{n}xf32>
}}"""


class CauseRegions:
    """Builds the regions of a cause with the reason of each."""

    def __init__(self, search: Search, programs: tuple[Program, Program]) -> None:
        self._search, self._hybrids, self._programs = search, search.hybrids, programs
        self._peak = 0.0

    def regions(self, findings: Findings, gap: float) -> list[Region]:
        """Return a region of each kind of the cause, the largest difference first. gap: in ns."""
        alone = {row.kind.number: row for row in findings.alone}
        rows = [self._of_choice(choice, alone, gap) for choice in findings.choices]
        return sorted(rows, key=lambda row: -(row.share or 0))

    def _of_choice(self, choice: Choice, alone: dict[int, KindTime], gap: float) -> Region:
        if not choice.kind.is_layout:
            row = alone.get(choice.kind.number)
            return self._region(choice, OPERATIONS, row, row and row.difference / gap)
        # A layout costs nothing itself: the kinds that read it are slower for it.
        readers = {kind for c in choice.classes for kind in self._hybrids.readers(c)}
        read = [row for number, row in alone.items() if number in readers]
        largest = max(read, key=lambda row: row.difference, default=None)
        return self._region(
            choice, LAYOUT, largest, sum(row.difference for row in read) / gap if read else None
        )

    def _region(self, choice: Choice, what: str, row: KindTime | None, share: float | None) -> Region:
        """Return a region; `row` is the kind whose regions show the reason: of a layout, its reader's."""
        shown = row.kind if row else choice.kind
        parts = [self._hybrids.region(shown.classes[0], side) for side in (A, B)]
        line_a, line_b = (self._line(side, parts[side]) for side in (A, B))
        a, b = (self._texts(choice.kind, what, side, parts[side]) for side in (A, B))
        return Region(
            count=len(choice.classes),
            what=what,
            share=share and round(share, 4),
            line_a=line_a,
            line_b=line_b,
            a=a,
            b=b,
            a_ms=row and row.a / 1e6,
            b_ms=row and row.b / 1e6,
            reason=self._reason(what, parts),
        )

    def _line(self, side: int, part: CutProgram) -> str:
        places = [self._programs[side].place(op.place) for op in by_cost(part) if op.place]
        return places[0] if places else ""

    def _texts(self, kind: RegionKind, what: str, side: int, part: CutProgram) -> list[str]:
        """Return a region's operations as text; of a layout, the argument's type first."""
        graph = self._hybrids.graphs[side]
        shown = [shorten(op) for _, op in part.ops[-MOST_OPS:]]
        if what == LAYOUT:
            first = self._hybrids.classes[kind.classes[0]].first[side]
            shown.insert(0, f"argument : {graph.types[first]}")
        return shown

    def _reason(self, what: str, parts: Sequence[CutProgram]) -> Reason:
        times = self._search.alone(parts, self._search.seconds)
        if times is None:
            return Reason()
        rates = [
            found and rate(self._hybrids.graphs, part, found) for part, found in zip(parts, times, strict=True)
        ]
        a, b = self._with_peak(rates)
        return Reason(a, b, sentence(what, [op for part in parts for _, op in part.ops], a, b))

    def _with_peak(self, rates: Sequence[Rate | None]) -> list[Rate | None]:
        """Add the share of the peak to sides with products. The peak is the best product seen, those of regions too."""
        products = [found.gflops for found in rates if found and found.gflops]
        if products and not self._peak:
            bench = self._search.bench
            self._peak = (
                self._search.kept.once(digest("peak", bench.identity), lambda: peak_gflops(bench)) or 0.0
            )
        self._peak = max([self._peak, *products])
        return [
            replace(found, of_peak=round(found.gflops / self._peak, 3)) if found and found.gflops else found
            for found in rates
        ]


def rate(graphs: Sequence[Graph], part: CutProgram, time: CallTime) -> Rate:
    """Return what a region alone does."""
    work = sum(flops(graphs[side], op) for side, op in part.ops)
    return Rate(
        ms=round(time.wall / 1e6, 6),
        cores=cores_used(time),
        gflops=float(f"{work / time.wall:.3g}") if work else None,
        gbytes_s=float(f"{bytes_moved(graphs, part) / time.wall:.3g}"),
    )


def flops(graph: Graph, op: Op) -> int:
    """Return the floating-point operations of a product or a convolution; 0 of any other operation."""
    if op.name not in ("stablehlo.dot_general", "stablehlo.convolution"):
        return 0
    return 2 * size(graph.types[op.results[0]]) * op.terms


def bytes_moved(graphs: Sequence[Graph], part: CutProgram) -> int:
    """Return the bytes of a part's arguments and results."""
    kinds = [graphs[side].types[value] for side, value in (*part.arguments, *part.results)]
    return sum(size(kind) * dtype(kind).itemsize for kind in kinds)


def cores_used(time: CallTime) -> float | None:
    """Return the cores that a call uses; None for a call so short that the processor's time does not resolve it."""
    if time.wall < 50_000:
        return None
    # The mean of the processor's time, which is booked late, and the clock's time without other processes.
    return round(min(len(os.sched_getaffinity(0)), time.mean_cpu / time.wall), 2)


def peak_gflops(bench: Bench) -> float | None:
    """Return the compiler's rate of a large product on this machine; None if it does not compile it."""
    try:
        bench.worker.load("peak", _PEAK.format(n=_PEAK_SIDE))
        array = np.random.default_rng(0).random((_PEAK_SIDE, _PEAK_SIDE), dtype=np.float32)
        bench.worker.bind("peak", [bench.worker.put("peak", array)])
        best = min(bench.time(["peak"], 0.3)["peak"].wall_ns)
        bench.worker.drop("peak")
    except Failed:
        return None
    return 2 * _PEAK_SIDE**3 / float(best)


# Regions in words


def noun(ops: Iterable[Op]) -> str:
    """Return what a region is: the heaviest kind of its operations."""
    names = [op.name.rpartition(".")[2] for op in ops]
    found = next((word for name, word in NOUNS.items() if name in names), None)
    if found:
        return found
    return "change of layout" if names and all(name in MOVES for name in names) else "elementwise region"


def sentence(what: str, ops: Iterable[Op], a: Rate | None, b: Rate | None, other: str = "") -> str:
    """Return one sentence that compares the two sides of a region. other: where b ran, if not in the other program."""
    layout = " with its argument in this layout" if what == LAYOUT else ""
    other = other or ("with the argument in the other layout" if layout else "in the other program")
    return f"this {noun(ops)}{layout} {_ran(a)}; {other} it {_ran(b)}"


def _ran(side: Rate | None) -> str:
    if not side:
        return "does nothing"
    speed = f"{digits(side.gbytes_s)} GB/s"
    if side.gflops:
        speed = f"{digits(side.gflops)} GFLOP/s"
        speed += f" ({percent(side.of_peak)} of the peak)" if side.of_peak else ""
    used = f" on {side.cores:.1f} of {len(os.sched_getaffinity(0))} cores" if side.cores else ""
    return f"takes {digits(side.ms)} ms{used} at {speed}"


def by_cost(part: CutProgram) -> list[Op]:
    """Return a region's operations, products and other heavy ones before those that move elements."""
    heavy = ("dot_general", "convolution", "while", "sort", "scatter", "gather", "reduce", "custom_call")
    ops = [op for _, op in part.ops]
    return sorted(ops, key=lambda op: not op.name.endswith(heavy))


def shorten(op: Op) -> str:
    """Return an operation's text on one line, without what does not tell it from another."""
    text = re.sub(r"\s+", " ", _LONG.sub(r'dense<\1..."', _NOISE.sub("", op.form())))
    text = re.sub(r"\(\{.*\}\)", "({...})", text)
    return text.replace("<{}>", "").replace("{}", "").replace("  ", " ").strip()
