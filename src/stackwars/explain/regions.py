"""The regions of a cause: what they are as text, and why they are slow: the cores that they use and their rates."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import dropwhile, zip_longest
from math import prod
from typing import Any

import numpy as np

from stackwars.core.client import Worker
from stackwars.core.layout import split
from stackwars.core.numbers import digits, percent
from stackwars.core.outcome import Failed
from stackwars.core.program import Graph, Op, Program
from stackwars.core.types import dtype, element, size
from stackwars.explain.answer import LAYOUT, OPERATIONS, Rate, Reason, Region
from stackwars.explain.bench import CallTime
from stackwars.explain.hybrids import A, B, CutProgram, Hybrids, Node, RegionKind
from stackwars.explain.search import MOST_SHARE, Choice, Findings, KindTime, Search
from stackwars.explain.task import Kept, digest

MOST_OPS = 12
"""Operations of a region that are shown."""
NOUNS = {
    "dot_general": "product", "convolution": "convolution", "while": "loop", "sort": "sort", "reduce": "reduction",
    "reduce_window": "window reduction", "gather": "gather", "scatter": "scatter", "custom_call": "call",
}  # fmt: skip
"""Names of regions by their operations: the first in this order that a region has names it."""
MOVES = ("transpose", "reshape", "broadcast_in_dim", "slice", "concatenate", "convert", "constant")
_NOISE = re.compile(
    r'(, )?(xla_shape = "[^"]*"|result_layout = dense<[^>]*> : tensor<\d+xindex>|mhlo\.\w+ = [^,}]*)'
)
_LONG = re.compile(r'dense<("0x[0-9A-F]{32})[0-9A-F]*">')
_INNER = re.compile(r'^\s*(?:%\S+ = )?("(?:stablehlo|chlo)\.(?!return")(\w+)".*)', re.MULTILINE)
_PROPERTIES = re.compile(r'"[\w.]+"\([^)]*\) <\{(.*?)\}>(?= : \(| \(\{| \{)', re.DOTALL)
_VALUES = (
    (re.compile(r"#stablehlo<\w+ (\w+)>"), r"\1"),
    (re.compile(r"array<\w+: ([^>]*)>"), r"[\1]"),
    (re.compile(r" : (tensor<\w+>|i\d+)$"), ""),
)
"""Values of attributes are shortened by these."""
_DEFAULT = re.compile(r"(strides|dilations?) \[1(, 1)*\]$|padding dense<0>|\w+ (false|\[\]|dense<false>)$")
_BODIES = {
    "sort": "comparator", "reduce": "reducer", "reduce_window": "reducer", "scatter": "combiner", "while": "loop",
}  # fmt: skip
"""Names of an operation's inner operations."""
_IN_WORDS = ("feature_group_count", "batch_group_count", "lhs_dilation", "rhs_dilation", "precision_config")
"""Attributes that `traits` puts into words."""
NUMBERS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
TOLERANCE = 1.25
"""A rate beyond the measured peak by this factor is a wrong count of the work and not shown."""
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
        bench = search.bench
        self._peak = Peak(search.kept, bench.identity, partial(peak_gflops, bench.worker))

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
        names = self._names(parts)
        a, b = (self._texts(choice.kind, what, side, parts[side], names) for side in (A, B))
        return Region(
            count=len(choice.classes),
            what=what,
            # More than the gap: what is timed alone is not what is fused in the program.
            share=share and round(share, 4) if (share or 0) <= MOST_SHARE else None,
            line_a=line_a,
            line_b=line_b,
            a=a,
            b=b,
            a_ms=row and row.a / 1e6,
            b_ms=row and row.b / 1e6,
            reason=self._reason(what, parts),
            differs=differs(self._hybrids, parts) if what == OPERATIONS else "",
        )

    def _line(self, side: int, part: CutProgram) -> str:
        places = [self._programs[side].place(op.place) for op in by_cost(part) if op.place]
        return places[0] if places else ""

    def _names(self, parts: Sequence[CutProgram]) -> dict[Node, str]:
        """Return names of the arguments of both sides: one name is one tensor."""
        numbers: dict[Node, int] = {}
        nodes = [node for part in parts for node in part.arguments]
        return {node: f"%{numbers.setdefault(tensor_of(self._hybrids, node), len(numbers))}" for node in nodes}

    def _texts(
        self, kind: RegionKind, what: str, side: int, part: CutProgram, names: Mapping[Node, str]
    ) -> list[str]:
        """Return a region's operations as text; of a layout, the argument's type first."""
        graph = self._hybrids.graphs[side]
        lines = texts(part, names)
        shown = lines[-MOST_OPS:]
        if part.ops and (heaviest := lines[[op for _, op in part.ops].index(by_cost(part)[0])]) not in shown:
            shown[0] = heaviest
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
        a, b = self._peak.applied(rates)
        return Reason(a, b, sentence(what, [op for part in parts for _, op in part.ops], a, b))


class Peak:
    """The rate of a large product on this machine, in GFLOP/s: the most of some measurements.

    measure: returns it by a compiler; 0 if it does not compile the product.
    """

    def __init__(self, kept: Kept, identity: Any, measure: Callable[[], float]) -> None:
        self._kept, self._identity, self._measure = kept, identity, measure
        self._value, self._count = 0.0, 0

    def applied(self, rates: Sequence[Rate | None]) -> list[Rate | None]:
        """Return rates with their share of the peak."""
        most = max((found.gflops for found in rates if found and found.gflops), default=0.0)
        # On a busy machine one measurement may be far too low.
        while most > TOLERANCE * self._value and self._count < 4:
            found = self._kept.once(digest("peak", self._identity, self._count), self._measure)
            self._value, self._count = max(self._value, found), self._count + 1
        return [found and with_peak(found, self._value) for found in rates]


def rate(graphs: Sequence[Graph], part: CutProgram, time: CallTime) -> Rate:
    work = sum(flops(op) for _, op in part.ops)
    return Rate(
        ms=round(time.wall / 1e6, 6),
        cores=cores_used(time),
        gflops=float(f"{work / time.wall:.3g}") if work else None,
        gbytes_s=float(f"{bytes_moved(graphs, part) / time.wall:.3g}"),
    )


def with_peak(found: Rate, peak: float) -> Rate:
    """Return a rate with its share of the peak; without the rate if the peak makes it impossible."""
    if not found.gflops or not peak:
        return found
    if found.gflops > TOLERANCE * peak:
        return replace(found, gflops=None)
    return replace(found, of_peak=min(1.0, round(found.gflops / peak, 3)))


def flops(op: Op) -> int:
    """Return the floating-point operations of a product or a convolution, without zeros of a dilation; 0 of others."""
    return 2 * op.work if op.name in ("stablehlo.dot_general", "stablehlo.convolution") else 0


def bytes_moved(graphs: Sequence[Graph], part: CutProgram) -> int:
    kinds = [graphs[side].types[value] for side, value in (*part.arguments, *part.results)]
    return sum(size(kind) * dtype(kind).itemsize for kind in kinds)


def cores_used(time: CallTime) -> float | None:
    """Return the cores that a call uses; None for a call so short that the processor's time does not resolve it."""
    if time.wall < 50_000:
        return None
    # The mean of the processor's time, which is booked late, and the clock's time without other processes.
    return round(min(len(os.sched_getaffinity(0)), time.mean_cpu / time.wall), 2)


def peak_gflops(worker: Worker) -> float:
    """Return the compiler's rate of a large product on this machine; 0 if it does not compile it."""
    try:
        worker.load("peak", _PEAK.format(n=_PEAK_SIDE))
        array = np.random.default_rng(0).random((_PEAK_SIDE, _PEAK_SIDE), dtype=np.float32)
        worker.bind("peak", [worker.put("peak", array)])
        best = min(worker.time(["peak"], 0.3, least=3)["peak"].wall_ns)
        worker.drop("peak")
    except Failed:
        return 0.0
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
    return f"this {noun(ops)}{layout} {ran(a)}; {other} it {ran(b)}"


def ran(side: Rate | None) -> str:
    """Return how fast a side of a region ran."""
    if not side:
        return "does nothing"
    speed = f"{digits(side.gbytes_s)} GB/s"
    if side.gflops:
        speed = f"{digits(side.gflops)} GFLOP/s"
        speed += f" ({percent(side.of_peak)} of the peak)" if side.of_peak else ""
    used = f" on {side.cores:.1f} of {len(os.sched_getaffinity(0))} cores" if side.cores else ""
    return f"takes {digits(side.ms)} ms{used} at {speed}"


def by_cost(part: CutProgram) -> list[Op]:
    """Return a region's operations, products and other heavy ones before those that move elements, most work first."""
    heavy = (*NOUNS, "dot", "fft", "cholesky", "triangular_solve", "select_and_scatter")
    ops = [op for _, op in part.ops]
    return sorted(ops, key=lambda op: (op.name.rpartition(".")[2] not in heavy, -op.work))


def texts(part: CutProgram, arguments: Mapping[Node, str]) -> list[str]:
    """Return a region's operations as text with these names of its arguments, which are numbers: %0, %1, ..."""
    names = {value: arguments[side, value] for side, value in part.arguments}
    first = 1 + max((int(name[1:]) for name in arguments.values()), default=-1)
    lines = []
    for number, (_, op) in enumerate(part.ops, first):
        lines.append(f"%{number} = {shorten(op, names)}")
        several = len(op.results) > 1
        names |= {value: f"%{number}{f'#{place}' * several}" for place, value in enumerate(op.results)}
    return lines


def shorten(op: Op, names: Mapping[int, str] | None = None) -> str:
    """Return an operation's text on one line, without what does not tell it from another.

    names: of the values that it reads. Of the body of a region, the names of its operations are left.
    """
    text = _LONG.sub(r'dense<\1..."', _NOISE.sub("", op.text(names) if names else op.form()))
    head, opened, rest = text.partition("({")
    if opened:
        body, closed, tail = rest.rpartition("})")
        inner = re.findall(r'"(?:stablehlo|chlo)\.(?!return")(\w+)"', body)
        shown = ", ".join(inner) if len(inner) <= MOST_OPS else f"{len(inner)} operations"
        text = f"{head}{opened}{shown}{closed}{tail}"
    text = re.sub(r"\s+", " ", text)
    return text.replace("<{}>", "").replace("({})", "({...})").replace(" {}", "").replace("  ", " ").strip()


# What differs inside an operation


def tensor_of(hybrids: Hybrids, node: Node) -> Node:
    """Return a key that is equal for values of both programs that are one tensor."""
    side, value = node
    found = hybrids.of[side].get(value)
    return node if found is None else (-1, found)


def differs(hybrids: Hybrids, parts: Sequence[CutProgram]) -> str:
    """Return what differs inside the heaviest operations of both sides of a region; "" if nothing is known to."""
    if not all(part.ops for part in parts):
        return ""
    a, b = (by_cost(part)[0] for part in parts)
    if a.name != b.name:
        return ""
    words = []
    read = [
        [tensor_of(hybrids, (side, _origin(part, value))) for value in op.operands]
        for side, (part, op) in enumerate(zip(parts, (a, b), strict=True))
    ]
    is_product = a.name.endswith((".dot_general", ".convolution"))
    if is_product and read[0] != read[1] and read[0] == read[1][::-1]:
        words.append("operands exchanged")
    traits_a, traits_b = traits(a), traits(b)
    for name in dict.fromkeys([*traits_a, *traits_b]):
        ends = [found.get(name, f"no {name}") for found in (traits_a, traits_b)]
        if ends[0] != ends[1]:
            pairs = zip_longest(*(end.split() for end in ends), fillvalue="")
            other = [word for _, word in dropwhile(lambda pair: pair[0] == pair[1], pairs)]
            words.append(f"{ends[0]} against {' '.join(other).strip()}")
    kinds = [
        Counter(element(hybrids.graphs[side].types[value]) for value in op.operands)
        for side, op in enumerate((a, b))
    ]
    only = [" and ".join(sorted(kinds[side] - kinds[1 - side])) for side in (A, B)]
    if any(only):
        words.append(f"operands of {only[A] or 'no other type'} against {only[B] or 'no other type'}")
    # Dimensions and padding follow from the order of the operands, the groups and the dilation.
    if not any(word.startswith(("operands exchanged", "grouped", "dilated", "no ")) for word in words):
        words += _attributes(a, b)
    return "; ".join(words)


def _origin(part: CutProgram, value: int) -> int:
    """Return the value that a part moves to this one."""
    makers = {result: op for _, op in part.ops for result in op.results}
    while value in makers and makers[value].name.endswith((".transpose", ".reshape", ".convert")):
        value = makers[value].operands[0]
    return value


def _attributes(a: Op, b: Op) -> list[str]:
    """Return attributes that differ, of two operations and of their inner ones."""
    texts = a.form(), b.form()
    inner = list(map(_inner, texts))
    pairs = [("", *texts)]
    if [name for _, name in inner[0]] == [name for _, name in inner[1]]:
        pairs += [(f"inner {name}: ", x, y) for (x, name), (y, _) in zip(*inner, strict=True)]
    result = []
    for head, *ends in pairs:
        x, y = map(attributes, ends)
        result += [
            f"{head}{name} {x.get(name, 'default')} against {y.get(name, 'default')}"
            for name in dict.fromkeys([*x, *y])
            if x.get(name) != y.get(name) and name not in _IN_WORDS
        ]
    return list(dict.fromkeys(result))


def _inner(text: str) -> list[tuple[str, str]]:
    return _INNER.findall(text.partition("({")[2])


def attributes(text: str) -> dict[str, str]:
    """Return the attributes of an operation by name, without defaults; those of a structure by their own names."""
    found = _PROPERTIES.match(text)
    result = {}
    for part in split(found[1]) if found else []:
        name, _, value = part.strip().partition(" = ")
        structure = re.fullmatch(r"#stablehlo\.(\w+)<(.*)>", value, re.DOTALL)
        if structure and structure[1] != "conv":
            result |= dict(field.strip().split(" = ", 1) for field in split(structure[2]))
            continue
        for pattern, short in _VALUES:
            value = pattern.sub(short, value)
        if not _DEFAULT.search(f"{name} {value}"):
            result[name] = structure[2] if structure else value
    return result


def traits(op: Op) -> dict[str, str]:
    """Return what makes an operation special, in words by name."""
    result = {}
    text, kind = op.form(), op.name.rpartition(".")[2]
    for name in ("feature_group_count", "batch_group_count"):
        found = re.search(rf"{name} = (\d+)", text)
        if found and int(found[1]) > 1:
            batch = " of the batch" * name.startswith("batch")
            result[f"groups{batch}"] = f"grouped convolution ({found[1]} groups{batch})"
    if found := re.search(r"lhs_dilation = array<i64: ([\d, ]+)>", text):
        spread = prod(map(int, found[1].split(",")))
        if spread > 1:
            zeros = f"{spread - 1} of {spread} products are with zeros"
            result["dilation"] = f"dilated convolution ({zeros})"
    found = re.search(r"rhs_dilation = array<i64: ([\d, ]+)>", text)
    if found and prod(map(int, found[1].split(","))) > 1:
        result["dilation of the kernel"] = f"convolution with a kernel dilated by {found[1]}"
    if body := _BODIES.get(kind):
        inner = [name for _, name in _inner(text)]
        count = NUMBERS[len(inner)] if len(inner) < len(NUMBERS) else str(len(inner))
        names = f" ({', '.join(inner)})" if 0 < len(inner) <= 3 else ""
        result[body] = f"{body} of {count} operation{'s' * (len(inner) != 1)}{names}"
    if found := set(re.findall(r"#stablehlo<precision (\w+)>", text)):
        result["precision"] = f"precision {' and '.join(sorted(found))}"
    elif kind in ("dot_general", "convolution"):
        result["precision"] = "precision DEFAULT"
    return result


def special(op: Op) -> str:
    """Return what is special about an operation that two compilers run; "" if nothing is."""
    plain = ("precision ", "loop ", *(f"{body} of one operation" for body in _BODIES.values()))
    return "; ".join(words for words in traits(op).values() if not words.startswith(plain))
