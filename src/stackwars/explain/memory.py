"""The memory that XLA assigns to programs, and why one needs more than another: deterministic, nothing is timed.

A hybrid is compiled and its bytes are read, so each share of a difference is exact. Hybrids have no donated arguments:
a difference by donation, or by arguments that only one program has, is read from the assignments alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stackwars.core import buffers, hlo
from stackwars.core.buffers import Buffers
from stackwars.core.client import Worker
from stackwars.core.numbers import percent, size
from stackwars.core.outcome import Failed
from stackwars.core.program import Graph, Program
from stackwars.core.program_text import not_donated, short_path
from stackwars.explain import answer, cause
from stackwars.explain.answer import CAUSE, NO_GAP, NOT_DECIDED, SPREAD, Buffer, Memory, Region, Share
from stackwars.explain.bench import Arrays, Bench, ClosedShare, arguments_of
from stackwars.explain.cause import Finder, Say, Verdict, check_results
from stackwars.explain.console import MOST_NAMES, operations
from stackwars.explain.hybrids import A, B, CutProgram, Hybrids, RegionKind
from stackwars.explain.kept import Kept, digest
from stackwars.explain.matching import resized
from stackwars.explain.regions import CauseRegions
from stackwars.explain.search import ENOUGH, MOST_KINDS, MOST_SHARE, Choice, Findings, KindTime, Retimed, Search
from stackwars.explain.task import Task

_LINE = re.compile(r'source_file="([^"]*)" source_line=(\d+)')
_FRAME = re.compile(r"stack_frame_id=(\d+)")


def use(worker: Worker, program: Program) -> Memory:
    """Return the memory that XLA assigns to a program.

    :raises Failed: if XLA does not compile it.
    """
    found = worker.buffers(program.text)
    return of_texts(found["assignment"], found["optimised"], program)


def assigned(worker: Worker, text: str | bytes) -> Buffers:
    """Return the bytes that XLA assigns to a program, as `use` does, without the buffers at the peak."""
    return buffers.read(worker.buffers(text)["assignment"]).buffers


def of_texts(assignment: str, optimised: str, program: Program) -> Memory:
    """Return the memory of a program by the texts of its buffer assignment and of its optimised form."""
    found, module, frames = buffers.read(assignment), hlo.read(optimised), Frames(optimised)
    found.ranges = found.ranges or scheduled(module)
    instructions = {
        name: one for part in module.computations.values() for name, one in part.instructions.items()
    }
    peak = []
    for kind, value in found.alive():
        made = instructions.get(value.instruction)
        shape = value.shape.partition("{")[0]
        if made is None or kind == buffers.ARGUMENT:
            peak.append(Buffer(kind, value.bytes, "", shape))
            continue
        line = next(filter(None, map(frames.place, [made, *module.inside(made)[::-1]])), "")
        peak.append(Buffer(kind, value.bytes, _operation(module, made), shape, program.place(line)))
    used = found.buffers
    return Memory(
        used.argument,
        used.output,
        found.of_kind(buffers.CONSTANT),
        found.of_kind(buffers.TEMPORARY),
        used.alias,
        sorted(peak, key=lambda buffer: -buffer.bytes),
    )


def scheduled(module: hlo.Module) -> dict[str, tuple[int, int]]:
    """Return the first and last place in the entry's schedule that need the result of each instruction.

    Results in the body of a loop, a branch or a call live as long as the whole operation.
    """
    entry = module.computations[module.entry].instructions
    result = {name: (place, place) for place, name in enumerate(entry)}
    for place, (name, made) in reversed([*enumerate(entry.items())]):
        last = result[name][1] if made.opcode in hlo.FORWARDS else place
        for operand in made.operands:
            if operand in result:
                result[operand] = result[operand][0], max(result[operand][1], last)
        open_ = list(made.called) if made.opcode in ("while", *hlo.CALLS) else []
        while open_:
            for inner in module.computations[open_.pop()].instructions.values():
                result.setdefault(inner.name, (place, place))
                open_ += inner.called if inner.opcode in ("while", *hlo.CALLS) else []
    return result


def _operation(module: hlo.Module, made: hlo.Instruction) -> str:
    """Return the operation that makes a value, or the operations of a fusion."""
    if made.opcode not in ("fusion", "call"):
        return made.opcode
    names = dict.fromkeys(
        one.opcode for one in module.inside(made) if one.opcode not in (*hlo.FORWARDS, "fusion")
    )
    return operations([*names]) if names else made.opcode


class Frames:
    """Source lines of instructions. Newer releases write them once, in tables before the first computation."""

    def __init__(self, text: str) -> None:
        head = text[: text.find("\n%") if "\n%" in text else text.find("\nENTRY")]

        def rows(name: str) -> dict[str, str]:
            part = re.search(rf"^{name}\n((?:\d+ .*\n)+)", head + "\n", re.MULTILINE)
            return dict(row.split(" ", 1) for row in part[1].splitlines()) if part else {}

        self._files, self._locations = rows("FileNames"), rows("FileLocations")
        self._frames = rows("StackFrames")

    def place(self, made: hlo.Instruction) -> str:
        """Return "file:line" of an instruction; "" if it has none."""
        if found := _LINE.search(made.attributes):
            return f"{short_path(found[1])}:{found[2]}"
        if not (found := _FRAME.search(made.attributes)):
            return ""
        frame = re.search(r"file_location_id=(\d+)", self._frames.get(found[1], ""))
        location = self._locations.get(frame[1], "") if frame else ""
        file, line = (re.search(rf"\b{key}=(\d+)", location) for key in ("file_name_id", "line"))
        name = self._files.get(file[1], "").strip('"') if file else ""
        return f"{short_path(name)}:{line[1]}" if name and line else ""


@dataclass
class MemorySearch(Search):
    """A search in which a program's cost is the bytes that XLA assigns to it. sizes: bytes of A and of B."""

    sizes: tuple[int, int] = (0, 0)

    def rank(self) -> list[KindTime]:
        """Return the kinds whose regions differ, by the bytes of one alone, the largest difference first."""
        rows = [row for kind in self.hybrids.kinds if not kind.is_same and (row := self._rank(kind))]
        return sorted(rows, key=lambda row: -row.difference)

    def _rank(self, kind: RegionKind) -> KindTime | None:
        parts = [self.hybrids.region(kind.classes[0], side) for side in (A, B)]
        try:
            a, b = (self.bytes(part) if part.ops else 0 for part in parts)
        except Failed as error:
            self._note("a region alone", error)
            return None
        return KindTime(kind, a, b, a - b) if a or b else None

    def alone(self, parts: Sequence[CutProgram], seconds: float) -> None:
        """Return no times."""

    def share(self, hybrid: CutProgram, seconds: float = 0) -> ClosedShare:
        a, b = self.sizes
        return ClosedShare((a - self.bytes(hybrid)) / (a - b), 0.0)

    def bytes(self, program: CutProgram) -> int:
        """Return the bytes of a program.

        :raises Failed: if XLA does not compile it.
        """
        worker = self.bench.worker
        key = digest("bytes", worker.spec, program.text)
        return self.kept.once(key, lambda: assigned(worker, program.text).hbm)


class MemoryRegions(CauseRegions):
    """The regions of a cause of a difference in memory. The share of one is what it closes alone."""

    def _of_choice(self, choice: Choice, *_: object) -> Region:
        found = self._search.closed([choice])
        what = answer.LAYOUT if choice.kind.is_layout else answer.OPERATIONS
        return self._region(choice, what, None, found and found.value)


class MemoryFinder(Finder):
    """One search between two programs, of which the first needs more memory."""

    def _gap(self, worker: Worker, graphs: tuple[Graph, Graph]) -> tuple[Bench, Retimed | None]:
        a, b = (assigned(worker, program.text) for program in self.programs)
        gap, ratio = a.hbm - b.hbm, answer.Interval(a.hbm / max(1, b.hbm))
        self.cause = replace(self.cause, a_bytes=a.hbm, b_bytes=b.hbm, ratio=ratio)
        self.say(f"A {a.hbm} bytes, B {b.hbm} bytes")
        first, second = self.programs
        if gap <= 0:
            detail = f"{first.label} needs {a.hbm:,} bytes, {second.label} {b.hbm:,}"
            raise Verdict(NO_GAP, f"no gap to explain: {detail}")
        if found := donated(a, b, gap, self.programs) or other_arguments(a, b, gap, graphs, self.programs):
            share, detail = found
            self.cause = replace(self.cause, closed=Share(share))
            raise Verdict(CAUSE, detail)
        bench = self._bench(worker, graphs)
        check_results(bench, graphs, self.task.is_plain)
        # Hybrids have no donated arguments, so both ends of the difference have none.
        texts = [program.text for program in self.programs]
        plain = [not_donated(text) if isinstance(text, str) else text for text in texts]
        self._sizes = tuple(assigned(worker, text).hbm for text in plain)
        if (rest := self._sizes[A] - self._sizes[B]) < ENOUGH * gap:
            detail = f"without donation {first.label} needs {rest:,} bytes more, not {gap:,}"
            raise Verdict(NOT_DECIDED, f"not decided: {detail}")
        return bench, None

    def _pair(self, reader: Worker, graphs: tuple[Graph, Graph], bench: Bench, folder: Path) -> Hybrids:
        if not (smaller := self.task.smaller):
            return super()._pair(reader, graphs, bench, folder)
        small = tuple(reader.graph(program.text) for program in smaller)
        arrays = Arrays((small[A].types, small[B].types), tuple(map(arguments_of, smaller, small)))
        found = cause.pair(reader, small, arrays, folder)
        try:
            return Hybrids(graphs, resized(found.classes, small, graphs))
        except ValueError as error:
            raise Verdict(NOT_DECIDED, f"not decided: {error}") from None

    def _search_among(self, bench: Bench, hybrids: Hybrids) -> Search:
        end = self.start + 0.8 * self.settings.budget_s
        return MemorySearch(bench, hybrids, 0.0, end, self.say, self.kept, self._sizes)

    inconsistent = (
        NOT_DECIDED,
        "not decided: values matched only on these inputs: a program of both sides needs less than either",
    )

    def _decide(self, search: Search, findings: Findings, retimed: Retimed | None) -> tuple[str, str]:
        if not findings.choices:
            what, most = f"all regions from {self.programs[B].label} close", findings.most
            if findings.most >= ENOUGH:
                what = "the regions that were tried close at most"
                most = max(findings.curve.values(), default=0.0)
            return NOT_DECIDED, f"not decided: {what} {percent(most)}"
        families = {search.hybrids.family(choice.kind) for choice in findings.choices}
        if len(families) > MOST_KINDS:
            return SPREAD, f"no single region: the difference is spread over {findings.kinds} kinds"
        self._check_hybrid(search.bench, search.hybrids.hybrid(findings.classes))
        closed = search.closed(findings.choices)
        if closed.value > MOST_SHARE:
            return self.inconsistent
        regions = MemoryRegions(search, self.programs).regions(findings, 0)
        self.cause = replace(self.cause, closed=Share(closed.value), regions=regions)
        return CAUSE, f"{percent(closed.value)} of the difference of {size(self._sizes[A] - self._sizes[B])}"


def donated(a: Buffers, b: Buffers, gap: int, programs: Sequence[Program]) -> tuple[float, str] | None:
    """Return the share of a difference that donation makes up and a sentence, if that is enough."""
    share = (b.alias - a.alias) / gap
    if share < ENOUGH:
        return None
    first = size(a.alias) if a.alias else "none"
    return share, (
        f"donated arguments make up {percent(share)} of the difference: results of {programs[B].label} are in "
        f"{size(b.alias)} of its arguments' memory, those of {programs[A].label} in {first}"
    )


def other_arguments(
    a: Buffers, b: Buffers, gap: int, graphs: tuple[Graph, Graph], programs: Sequence[Program]
) -> tuple[float, str] | None:
    """Return the share of a difference that arguments make up and a sentence, if that is enough."""
    share = (a.argument - b.argument) / gap
    if share < ENOUGH:
        return None
    types = [Counter(graph.types[value] for value in graph.arguments) for graph in graphs]
    more = ", ".join(
        f"{f'{count} x ' * (count > 1)}{kind}" for kind, count in [*(types[A] - types[B]).items()][:MOST_NAMES]
    )
    return share, f"arguments make up {percent(share)} of the difference: only {programs[A].label} has {more}"


def find(task: Task, say: Say, kept: Kept | None = None) -> answer.Cause:
    """Return the cause of a difference in memory, as `cause.find` returns that of one in time."""
    return cause.find(task, say, kept, MemoryFinder)
