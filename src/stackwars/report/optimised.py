"""Show optimised programs: the HLO that one compiler generates from what a frontend emits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from stackwars.compilers import hlo
from stackwars.compilers.hlo import Instruction, Module
from stackwars.compilers.hlo_facts import FORWARDS
from stackwars.compilers.op_classes import class_of
from stackwars.ir.program_text import short_path
from stackwars.report.align import FRAME, Side, flags

_COMPUTATION = re.compile(r"(?ms)^((?:ENTRY )?%([\w.\-]+) .*?^\})")
_METADATA = re.compile(r", metadata=\{[^{}]*\}")
_SOURCE = re.compile(r'source_file="([^"]*)" source_line=(\d+)')
LINE = "line {} as emitted"
_EMITTED = re.compile(LINE.format(r"(\d+)"))
_LOOPS = ("while", "conditional")
_HOLDS = ("fusion", "call")
"""Operations that are known by what they hold."""


Line = tuple[str, str, str | None, str | None, list[str]]
"""One line of a module: its text; its operation and type, or its kind if it is no operation; the class of the
operation that runs, this one or the one around it (None if none takes time); its source line in the program; the
operations that run for it, by their names in a profile."""


def side(text: str, emitted: Sequence[str | None] | None = None) -> Side:
    """Return what `align.side` returns and, as `runs`, the names of the operations that run for each line.

    emitted: the source of each line of the program that was compiled, if the frontend says it.

    :raises ValueError: if the text is no HLO module.
    """
    texts, keys, classes, sources, runs = map(list, zip(*_lines(text), strict=True))
    return {
        "texts": texts,
        "classes": classes,
        "sources": [_traced(source, emitted or ()) for source in sources],
        "runs": runs,
        "operations": flags(keys),
        "keys": keys,
    }


def _lines(text: str) -> Iterator[Line]:
    """Yield the lines of an HLO dump, the entry first and each computation after that which calls it."""
    module = hlo.read(text)
    lines = {name: block.splitlines() for block, name in _COMPUTATION.findall(text)}
    callers = dict(_called(module, module.entry, set()))
    for name in [module.entry, *callers]:
        instructions = module.computations[name].instructions
        for line in lines[name]:
            instruction, shown = instructions.get(_name(line)), _METADATA.sub("", line)
            if instruction is None:
                yield shown, FRAME + ("head" if line.endswith("{") else shown), None, None, []
                continue
            key, source = _key(module, instruction), _source(line)
            if instruction.opcode in FORWARDS:
                yield shown, (FRAME if instruction.opcode == "parameter" else "") + key, None, source, []
                continue
            running = _around(module, callers, name, instruction)
            kind = None if running.opcode in _LOOPS else class_of(module, running)
            yield shown, key, kind, source, list(_running(module, running))
        yield "", FRAME, None, None, []


def _around(module: Module, callers: dict, name: str, instruction: Instruction) -> Instruction:
    """Return the operation that runs by itself and holds this one, of the computation `name`; or this one."""
    while name not in module.runs:
        name, caller = callers[name]
        instruction = module.computations[name].instructions[caller]
    return instruction


def _called(module: Module, name: str, seen: set[str]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield (computation, (computation and name of the instruction that calls it first)) after its caller."""
    for instruction in module.computations[name].instructions.values():
        for called in instruction.called:
            if called not in seen:
                seen.add(called)
                yield called, (name, instruction.name)
                yield from _called(module, called, seen)


def _name(line: str) -> str:
    return line.strip().removeprefix("ROOT ").partition(" = ")[0].lstrip("%")


def _key(module: Module, instruction: Instruction) -> str:
    """Return the operation, or what the fusion or call holds, and the type of its result without a layout."""
    types = ", ".join(f"{a.dtype}[{','.join(map(str, a.extents))}]" for a in instruction.arrays)
    if instruction.opcode not in _HOLDS:
        return f"{instruction.opcode} {types}"
    held = {i.opcode for i in module.inside(instruction)} - {*FORWARDS, *_HOLDS}
    return f"{instruction.opcode} of {' '.join(sorted(held))} {types}"


def _source(line: str) -> str | None:
    """Return where an operation comes from: a file and line, or the line of the program that was compiled."""
    match = _SOURCE.search(line)
    if match is None:
        return None
    file, number = match.groups()
    return LINE.format(number) if file == "-" else f"{short_path(file)}:{number}"


def _traced(source: str | None, emitted: Sequence[str | None]) -> str | None:
    """Return a line of the compiled program with its own source."""
    match = _EMITTED.fullmatch(source or "")
    place = int(match[1]) - 1 if match else len(emitted)
    own = emitted[place] if place < len(emitted) else None
    return f"{own} ({source})" if own else source


def _running(module: Module, instruction: Instruction) -> Iterator[str]:
    """Yield the operation, and all that run in the computations that it only calls."""
    if instruction.opcode not in FORWARDS:
        yield instruction.name
    for called in instruction.called:
        if called in module.runs:
            for inner in module.computations[called].instructions.values():
                yield from _running(module, inner)
