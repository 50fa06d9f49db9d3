"""The answer of a search: rows of cause.json."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from stackwars.explain.bench import Bench
from stackwars.explain.graph import Op
from stackwars.explain.hybrids import A, B, Hybrids, Kind, Part
from stackwars.explain.question import Side
from stackwars.explain.reasons import peak_gflops, reason, sentence
from stackwars.explain.search import Atom, Outcome, Row
from stackwars.explain.workers import Crashed, Refused, TimedOut

LAYOUT, OPERATIONS = "argument layout", "operations"
MOST_OPS = 12
_NOISE = re.compile(
    r'(, )?(xla_shape = "[^"]*"|result_layout = dense<[^>]*> : tensor<\d+xindex>|mhlo\.\w+ = [^,}]*)'
)
_LONG = re.compile(r'dense<("0x[0-9A-F]{32})[0-9A-F]*">')


class Answer:
    """Rows of kinds, with the reason of each."""

    def __init__(self, bench: Bench, hybrids: Hybrids, sides: tuple[Side, Side], seconds: float) -> None:
        self._bench, self._hybrids, self._sides, self._seconds = bench, hybrids, sides, seconds
        self._peak = 0.0

    def causes(self, outcome: Outcome, gap: float) -> list[dict[str, Any]]:
        """Return a row of each kind of the cause, the largest difference first."""
        alone = {row.kind.number: row for row in outcome.rows}
        rows = [self._cause(atom, alone, gap) for atom in outcome.atoms]
        return sorted(rows, key=lambda row: -(row["share"] or 0))

    def _cause(self, atom: Atom, alone: dict[int, Row], gap: float) -> dict[str, Any]:
        if not atom.kind.is_layout:
            row = alone.get(atom.kind.number)
            return self._row(atom.kind, len(atom.classes), OPERATIONS, row, row and row.difference / gap)
        readers = {kind for c in atom.classes for kind in self._hybrids.readers(c)}
        read = [row for number, row in alone.items() if number in readers]
        largest = max(read, key=lambda row: row.difference, default=None)
        share = sum(row.difference for row in read) / gap if read else None
        return self._row(atom.kind, len(atom.classes), LAYOUT, largest, share)

    def _row(self, kind: Kind, count: int, what: str, row: Row | None, share: float | None) -> dict[str, Any]:
        """Return a row; `row` is the kind whose regions show the reason: of a layout, its reader's."""
        shown = row.kind if row else kind
        parts = [self._hybrids.region(shown.classes[0], side) for side in (A, B)]
        return {
            "count": count,
            "what": what,
            "share": share and round(share, 4),
            "line_a": self._line(A, parts[A]),
            "line_b": self._line(B, parts[B]),
            "a": self._texts(kind, what, A, parts[A]),
            "b": self._texts(kind, what, B, parts[B]),
            "a_ms": row and row.a / 1e6,
            "b_ms": row and row.b / 1e6,
            "reason": self._reason(what, parts),
        }

    def _line(self, side: int, part: Part) -> str:
        places = [self._sides[side].place(op.place) for op in _heavy_first(part) if op.place]
        return places[0] if places else ""

    def _texts(self, kind: Kind, what: str, side: int, part: Part) -> list[str]:
        """Return a region's operations as text; of a layout, the argument's type first."""
        graph = self._hybrids.graphs[side]
        shown = [shorten(op, graph.types) for _, op in part.ops[-MOST_OPS:]]
        if what == LAYOUT:
            first = self._hybrids.classes[kind.classes[0]].first[side]
            shown.insert(0, f"argument : {graph.types[first]}")
        return shown

    def _reason(self, what: str, parts: Sequence[Part]) -> dict[str, Any]:
        names = {side: f"reason {side}" for side, part in enumerate(parts) if part.ops}
        try:
            for side, name in names.items():
                self._bench.load_part(name, parts[side])
        except (Refused, Crashed, TimedOut):
            return {}
        times = self._bench.time(list(names.values()), self._seconds) if names else {}
        self._bench.worker.drop(*names.values())
        found: list[dict[str, Any]] = [{}, {}]
        for side, name in names.items():
            found[side] = reason(self._hybrids.graphs, parts[side], times[name])
        self._add_peak(found)
        ops = [op for part in parts for _, op in part.ops]
        return {"a": found[A], "b": found[B], "sentence": sentence(what, ops, found[A], found[B])}

    def _add_peak(self, found: list[dict[str, Any]]) -> None:
        """Add the share of the peak to sides with a rate. The peak is the best product seen, those of regions too."""
        rates = [side["gflops"] for side in found if side.get("gflops")]
        if rates and not self._peak:
            self._peak = peak_gflops(self._bench) or 0.0
        self._peak = max([self._peak, *rates])
        for side in found:
            if side.get("gflops"):
                side["of_peak"] = round(side["gflops"] / self._peak, 3)


def _heavy_first(part: Part) -> list[Op]:
    """Return a region's operations, products and other heavy ones before those that move elements."""
    heavy = ("dot_general", "convolution", "while", "sort", "scatter", "gather", "reduce", "custom_call")
    ops = [op for _, op in part.ops]
    return sorted(ops, key=lambda op: not any(op.name.endswith(name) for name in heavy))


def shorten(op: Op, types: dict[int, str]) -> str:
    """Return an operation's text on one line, without what does not tell it from another."""
    text = op.text({value: f"%{number}" for number, value in enumerate(op.reads)})
    text = re.sub(r"\s+", " ", _LONG.sub(r'dense<\1..."', _NOISE.sub("", text)))
    text = re.sub(r"\(\{.*\}\)", "({...})", text)
    return text.replace("<{}>", "").replace("{}", "").replace("  ", " ").strip()
