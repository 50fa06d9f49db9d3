"""The memory that XLA assigns to programs, and why one needs more than another: deterministic, nothing is timed.

A hybrid is compiled and its bytes are read, so each share of a difference is exact. Hybrids have no donated arguments:
a difference by donation, or by arguments that only one program has, is read from the assignments alone.
"""

from __future__ import annotations

import re
import tempfile
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
from stackwars.explain import cause
from stackwars.explain.answer import (
    CAUSE,
    LAYOUT,
    NOT_DECIDED,
    OPERATIONS,
    SPREAD,
    Buffer,
    Cause,
    Interval,
    Memory,
    Reason,
    Region,
    Share,
    Tried,
)
from stackwars.explain.bench import Bench, ClosedShare
from stackwars.explain.cause import Finder, Say, check_results, pair
from stackwars.explain.console import MOST_NAMES, operations
from stackwars.explain.hybrids import A, B, CutProgram, CyclicChoiceError, Hybrids, RegionKind
from stackwars.explain.kept import Kept, digest
from stackwars.explain.matching import without_coincidences
from stackwars.explain.regions import CauseRegions
from stackwars.explain.search import ENOUGH, MOST_KINDS, MOST_SHARE, Choice, Findings, KindTime, Search
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
        rows = [row for kind in self.hybrids.kinds if not kind.is_same and (row := self._ranked(kind))]
        return sorted(rows, key=lambda row: -row.difference)

    def _ranked(self, kind: RegionKind) -> KindTime | None:
        parts = [self.hybrids.region(kind.classes[0], side) for side in (A, B)]
        try:
            a, b = (self.bytes(part) if part.ops else 0 for part in parts)
        except Failed as error:
            self._note("a region alone", error)
            return None
        return KindTime(kind, a, b, a - b) if a or b else None

    def closed(self, choices: Sequence[Choice], seconds: float = 0) -> ClosedShare | None:
        """Return the share of the difference that A with these from B closes; None if there is no such program."""
        try:
            found = self.bytes(self.hybrids.hybrid(c for choice in choices for c in choice.classes))
        except (CyclicChoiceError, Failed) as error:
            self._note(f"hybrid of {len(choices)} kinds", error)
            return None
        a, b = self.sizes
        return ClosedShare((a - found) / (a - b), 0.0)

    def bytes(self, program: CutProgram) -> int:
        """Return the bytes of a program.

        :raises Failed: if XLA does not compile it.
        """
        worker = self.bench.worker
        key = digest("bytes", worker.spec, program.text)
        return self.kept.once(key, lambda: assigned(worker, program.text).hbm)


class MemoryRegions(CauseRegions):
    """The regions of a cause of a difference in memory, which have no times."""

    def __init__(self, search: MemorySearch, programs: tuple[Program, Program]) -> None:
        self._search, self._hybrids, self._programs = search, search.hybrids, programs

    def by_share(self, findings: Findings) -> list[Region]:
        """Return one region of each kind of the cause, with the share that it closes alone; the largest comes first."""
        rows = []
        for choice in findings.choices:
            found = self._search.closed([choice])
            what = LAYOUT if choice.kind.is_layout else OPERATIONS
            rows.append(self._region(choice, what, None, found and found.value))
        return sorted(rows, key=lambda row: -(row.share or 0))

    def _reason(self, what: str, parts: Sequence[CutProgram]) -> Reason:
        return Reason()


class MemoryFinder(Finder):
    """One search between two programs, of which the first needs more memory."""

    def _search(self, worker: Worker) -> tuple[str, str]:
        with (
            Worker(self.task.evaluator, **self.settings.evaluator_limits) as reader,
            tempfile.TemporaryDirectory(prefix="stackwars-") as folder,
        ):
            graphs = self._graphs(reader)
            a, b = (assigned(worker, program.text) for program in self.programs)
            gap = a.hbm - b.hbm
            self.cause = replace(
                self.cause, a_bytes=a.hbm, b_bytes=b.hbm, ratio=Interval(a.hbm / max(1, b.hbm))
            )
            self.say(f"A {a.hbm} bytes, B {b.hbm} bytes")
            if found := donated(a, b, gap, self.programs) or other_arguments(a, b, gap, graphs, self.programs):
                share, detail = found
                self.cause = replace(self.cause, closed=Share(share))
                return CAUSE, detail
            bench = self._bench(worker, graphs)
            check_results(bench, graphs, self.task.is_plain)
            hybrids = pair(reader, graphs, bench.arrays, Path(folder))
            reader.stop()
            tried = Tried([len(graph.ops) for graph in graphs], len(hybrids.classes), len(hybrids.kinds))
            self.cause = replace(self.cause, tried=tried)
            # Hybrids have no donated arguments, so both ends of the difference have none.
            texts = [program.text for program in self.programs]
            plain = [not_donated(text) if isinstance(text, str) else text for text in texts]
            sizes = tuple(assigned(worker, text).hbm for text in plain)
            if sizes[A] - sizes[B] < ENOUGH * gap:
                return (
                    NOT_DECIDED,
                    f"not decided: without donation {self.programs[A].label} needs {sizes[A] - sizes[B]:,} bytes more, "
                    f"not {gap:,}",
                )
            found = self._decided(bench, hybrids, sizes)
            closed = self.cause.closed
            if (
                closed
                and closed.share > MOST_SHARE
                and (classes := without_coincidences(hybrids.classes, graphs))
            ):
                self.say("again without values that are equal on these inputs alone")
                self.cause = replace(self.cause, closed=None, regions=[])
                found = self._decided(bench, Hybrids(graphs, classes), sizes)
            return found

    def _decided(self, bench: Bench, hybrids: Hybrids, sizes: tuple[int, int]) -> tuple[str, str]:
        end = self.start + 0.8 * self.settings.budget_s
        search = MemorySearch(bench, hybrids, 0.0, end, self.say, self.kept, sizes)
        findings = search.run()
        curve = {str(count): round(share, 4) for count, share in findings.curve.items()}
        self.cause = replace(self.cause, tried=replace(self.cause.tried, curve=curve))
        if not findings.choices:
            if findings.most < ENOUGH:
                what, most = f"all regions from {self.programs[B].label} close", findings.most
            else:
                what, most = (
                    "the regions that were tried close at most",
                    max(findings.curve.values(), default=0.0),
                )
            return NOT_DECIDED, f"not decided: {what} {percent(most)}"
        families = {hybrids.family(choice.kind) for choice in findings.choices}
        if len(families) > MOST_KINDS:
            return SPREAD, f"no single region: the difference is spread over {findings.kinds} kinds"
        self._check_hybrid(bench, hybrids.hybrid(findings.classes))
        closed = search.closed(findings.choices)
        regions = MemoryRegions(search, self.programs).by_share(findings)
        self.cause = replace(self.cause, closed=Share(closed.value), regions=regions)
        return CAUSE, f"{percent(closed.value)} of the difference of {size(sizes[A] - sizes[B])}"


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


def find(task: Task, say: Say, kept: Kept | None = None) -> Cause:
    """Return the cause of a difference in memory, as `cause.find` returns that of one in time."""
    return cause.find(task, say, kept, MemoryFinder)
