"""The memory that XLA assigns to programs, and why one needs more than another: deterministic, nothing is timed.

A hybrid is compiled and its bytes are read, so each share of a difference is exact. Hybrids have no donated arguments:
a difference by donation, or by arguments that only one program has, is read from the assignments alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stackwars.core import buffers, hlo, types
from stackwars.core.buffers import Buffers
from stackwars.core.client import Worker
from stackwars.core.numbers import percent, size
from stackwars.core.program import Graph, Program
from stackwars.core.program_text import not_donated, short_path
from stackwars.explain import answer, cause
from stackwars.explain.answer import CAUSE, NO_GAP, NOT_DECIDED, Buffer, Memory, Share
from stackwars.explain.bench import Arrays, Bench, arguments_of
from stackwars.explain.cause import CostFinder, Say, Verdict, check_results
from stackwars.explain.console import MOST_NAMES, operations
from stackwars.explain.hybrids import A, B, CutProgram, Hybrids, RegionKind
from stackwars.explain.matching import resized
from stackwars.explain.search import ENOUGH, CostSearch, Retimed
from stackwars.explain.task import Assign, Kept, Task, digest

_LINE = re.compile(r'source_file="([^"]*)" source_line=(\d+)')
_FRAME = re.compile(r"stack_frame_id=(\d+)")


def use(assign: Assign, program: Program) -> Memory:
    """Return the memory that XLA assigns to a program. assign: see `task.Assign`.

    :raises Failed: if XLA does not compile it.
    """
    found = assign(program.text)
    return of_texts(found["assignment"], found["optimised"], program)


def assigned(assign: Assign, text: str | bytes) -> Buffers:
    """Return the bytes that XLA assigns to a program, as `use` does, without the buffers at the peak."""
    return buffers.read(assign(text)["assignment"]).buffers


def of_texts(assignment: str, optimised: str, program: Program) -> Memory:
    """Return the memory of a program by the texts of its buffer assignment and of its optimised form."""
    found, module, frames = buffers.read(assignment), hlo.read(optimised), stack_frames(optimised)
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
        line = next(filter(None, (_place(one, frames) for one in (made, *module.inside(made)[::-1]))), "")
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


def stack_frames(text: str) -> dict[str, str]:
    """Return "file:line" by the number of a stack frame, which newer releases name in place of lines."""
    head = text[: text.find("\n%") if "\n%" in text else text.find("\nENTRY")]

    def rows(table: str, pattern: str) -> list[tuple[str, ...]]:
        part = re.search(rf"^{table}\n((?:\d+ .*\n)+)", head + "\n", re.MULTILINE)
        return re.findall(rf"^(\d+) {pattern}", part[1], re.MULTILINE) if part else []

    files = dict(rows("FileNames", '"(.*)"'))
    places = {
        number: f"{short_path(files[file])}:{line}"
        for number, file, line in rows("FileLocations", r"\{.*?\bfile_name_id=(\d+).*?\bline=(\d+)")
        if files.get(file)
    }
    return {number: places.get(at, "") for number, at in rows("StackFrames", r"\{.*?\bfile_location_id=(\d+)")}


def _place(made: hlo.Instruction, frames: Mapping[str, str]) -> str:
    """Return an instruction's "file:line"; "" if it has none."""
    if found := _LINE.search(made.attributes):
        return f"{short_path(found[1])}:{found[2]}"
    found = _FRAME.search(made.attributes)
    return frames.get(found[1], "") if found else ""


@dataclass
class MemorySearch(CostSearch):
    """A search in which a program's cost is the bytes that XLA assigns to it. assign: see `Task`."""

    assign: Assign | None = None

    def cost(self, program: CutProgram) -> int:
        worker = self.bench.worker
        key = digest("bytes", worker.spec, program.text)
        return self.kept.once(key, lambda: assigned(self.assign or worker.buffers, program.text).hbm)

    def difference(self, kind: RegionKind, parts: Sequence[CutProgram]) -> tuple[float, float, float]:
        if not self.assign:
            return super().difference(kind, parts)
        # A compilation for another device takes seconds, so no region is compiled alone: large tensors come first.
        tensor = self.hybrids.graphs[A].types[self.hybrids.classes[kind.classes[0]].first[A]]
        bytes_ = types.size(tensor) * types.dtype(tensor).itemsize
        return bytes_, 0, bytes_


class MemoryFinder(CostFinder):
    """One search between two programs, of which the first needs more memory."""

    searches = MemorySearch

    def _gap(self, worker: Worker, graphs: tuple[Graph, Graph]) -> tuple[Bench, Retimed | None]:
        assign = self.task.assign or worker.buffers
        a, b = (assigned(assign, program.text) for program in self.programs)
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
        self._ends = tuple(assigned(assign, text).hbm for text in plain)
        if (rest := self._ends[A] - self._ends[B]) < ENOUGH * gap:
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

    def _search_among(self, bench: Bench, hybrids: Hybrids) -> MemorySearch:
        search = super()._search_among(bench, hybrids)
        search.assign = self.task.assign
        return search

    def _difference(self) -> str:
        return size(self._ends[A] - self._ends[B])


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
    kinds = [Counter(graph.types[value] for value in graph.arguments) for graph in graphs]
    more = ", ".join(
        f"{f'{count} x ' * (count > 1)}{kind}" for kind, count in [*(kinds[A] - kinds[B]).items()][:MOST_NAMES]
    )
    return share, f"arguments make up {percent(share)} of the difference: only {programs[A].label} has {more}"


def find(task: Task, say: Say, kept: Kept | None = None) -> answer.Cause:
    """Return the cause of a difference in memory, as `cause.find` returns that of one in time."""
    return cause.find(task, say, kept, MemoryFinder)
