"""Compare programs for the report: ``python -m stackwars.publish.report.programs``.

Each program is a list of lines, StableHLO or optimised HLO, with their classes, their sources, layers that repeat, and
which lines of two programs match.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from stackwars.core import hlo, program_text
from stackwars.core.hlo import FORWARDS, Instruction, Module, class_of
from stackwars.core.program_text import short_path, source_lines
from stackwars.measure import workloads
from stackwars.measure.stablehlo import optimised
from stackwars.setup.environments import Unavailable
from stackwars.study import printed
from stackwars.study.keys import Config
from stackwars.study.programs import BASE, Program
from stackwars.study.results.folder import ACCEPTED, Folder, command
from stackwars.study.results.programs import ask

MOST_CHARACTERS = 500_000
"""The length of a program's text: LLaMA's has 410,000; one with its constants written out may have ten million."""
Sources = dict[str, list[str | None] | None]
"""{framework: the source of each line of its program, None if it does not say them}."""
_OPERATION = re.compile(r"^\s*%[^=]*= \"?([\w.]+)\"?")
_TYPE = re.compile(r"tensor<[^>]*>(?=[^>]*$)")
_OPCODE = re.compile(r'= "?(?:\w+\.)?(\w+)"?')
_TARGET = re.compile(r'@([\w.]+)|call_target_name = "([^"]+)"')
_HLO_NAMES = {"dot_general": "dot", "broadcast_in_dim": "broadcast"}
"""StableHLO's names that are not HLO's with other dashes."""
_CHLO = "mhlo."
_CONTROL = {"while", "case", "if", "call", "composite"}
"""Operations whose time is the time of the operations in them."""
Keys = list[str | None]
"""The operation computed by each line of a program; None for a line without one."""
FRAME = "#"
"""The key of a line begins with it if the line is no operation and yet matches its like."""
Side = dict[str, Any]
"""The lines of one program: `texts`, `classes` and `sources` (None for a text that names none);
`operations`, 1 for a line that is an operation, else 0; `noise`, 1 for a constant or a broadcast; `kinds`, the
number of operations of each name; `layers`, the stretches that repeat; `keys`, which are for matching alone."""
NOISE = {"constant", "broadcast", "broadcast_in_dim", "iota", "bitcast", "parameter"}
"""Operations that a reader who looks for a difference passes over."""
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


def programs(config: Config, measured: Path) -> list[dict[str, Any]]:
    """Return the programs of each workload of which two frontends have one (see `_compared`)."""
    emitted = printed.emitted(config, measured, ACCEPTED).items()
    rows = (
        (workload, {name: first_program(files) for name, files in row.items()}) for workload, row in emitted
    )
    shown = [
        _compared(measured, workload, {name: one for name, one in row.items() if one}) for workload, row in rows
    ]
    return [one for one in shown if len(one["frameworks"]) > 1]


def _compared(measured: Path, workload: str, emitted: dict[str, tuple[Path, str]]) -> dict[str, Any]:
    """Return the frameworks of the programs, the accepted run of each that is not of this run, what is left out and
    why, and for each form which line stands for which of another."""
    texts = {name: text for name, (_, text) in emitted.items() if len(text) <= MOST_CHARACTERS}
    paths = {name: emitted[name][0] for name in texts}
    arguments = {name: measured / Program(name, workload, BASE).path / "arguments.json" for name in texts}
    sources = {name: located(arguments[name], text) for name, text in texts.items()}
    forms = {
        "as emitted": form({name: side(text, sources[name]) for name, text in texts.items()}),
        "normalised": form({name: side(text) for name, text in normalised(texts).items()}),
    }
    optimised_form, why = compiled(paths, texts, sources)
    return {
        "workload": workload,
        "title": workloads.load(workload).TITLE,
        "frameworks": list(texts),
        "runs": {name: run for name, path in paths.items() if (run := accepted_run(path))},
        "left_out": {
            name: f"its text has {len(text)} characters, more than {MOST_CHARACTERS}"
            for name, (_, text) in emitted.items()
            if name not in texts
        },
        "forms": forms | ({"optimised": optimised_form} if optimised_form else {}),
        "not_optimised": why,
    }


def first_program(paths: list[Path]) -> tuple[Path, str] | None:
    """Return (the first of these files that has a program, its text); None if none has."""
    for path in paths:
        text = program_text.read(path)
        if not program_text.missing_reason(text):
            return path, text
    return None


def accepted_run(path: Path) -> str:
    """Return the accepted run that a file belongs to; "" for another file."""
    return path.relative_to(ACCEPTED).parts[0] if path.is_relative_to(ACCEPTED) else ""


def located(path: Path, text: str) -> list[str | None] | None:
    """Return the source of each line of a program, from its arguments.json; None if that does not say it."""
    document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    digest = hashlib.sha256(text.encode()).hexdigest()
    if "sources" not in document or document["program_sha256"] != digest:
        return None
    return program_text.load_sources(document["sources"])


def compiled(
    paths: dict[str, Path], texts: dict[str, str], sources: Sources
) -> tuple[dict[str, Any] | None, dict[str, str]]:
    """Return (the optimised programs, as `form`, with the compiler's name; why a frontend has none).

    paths: the files of the emitted programs. No form if fewer than two have an optimised program.
    """
    sides, why, compilers = {}, {}, []
    for name, text in texts.items():
        try:
            compiler, hlo = optimised.read(paths[name].with_name(printed.OPTIMISED), text.encode())
            sides[name] = hlo_side(hlo, sources[name])
            compilers.append(compiler)
        except ValueError as error:
            why[name] = str(error)
    return ({"compiler": compilers[0], **form(sides)} if len(sides) > 1 else None), why


def normalised(texts: dict[str, str]) -> dict[str, str]:
    """Return programs in the one form for all their spellings; for one that has none, a line that says why."""
    try:
        return dict(zip(texts, ask("normalised", list(texts.values())), strict=True))
    except Unavailable as error:
        return dict.fromkeys(texts, f"// not normalised: {error}")


def operations(text: str) -> Keys:
    """Return the operation computed by each line, its name and the type of its result; None for other lines.

    >>> operations("%1 = stablehlo.add %0, %0 : tensor<2xf32>")
    ['stablehlo.add tensor<2xf32>']
    """
    keys: Keys = []
    for line in text.splitlines():
        name, result = _OPERATION.match(line), _TYPE.search(line)
        keys.append(f"{name[1]} {result[0] if result else ''}" if name else None)
    return keys


def side(text: str, sources: list[str | None] | None = None) -> Side:
    """Return what the page shows of a StableHLO text. sources: one for each line, if the text has none."""
    keys = operations(text)
    return {
        "texts": text.splitlines(),
        "classes": line_classes(text),
        "sources": sources or source_lines(text),
        **_of_keys(keys),
    }


def _of_keys(keys: Keys) -> Side:
    return {
        "operations": flags(keys),
        "noise": "".join("01"[key is not None and opcode_of(key) in NOISE] for key in keys),
        "kinds": dict(Counter(opcode_of(key) for key in keys if key and not key.startswith(FRAME))),
        "layers": repeats(keys),
        "keys": keys,
    }


def opcode_of(key: str) -> str:
    """Return the name of a key's operation, without its dialect and its type.

    >>> opcode_of("stablehlo.add tensor<2xf32>"), opcode_of("fusion of add tanh f32[4]")
    ('add', 'fusion')
    """
    return key.removeprefix(FRAME).partition(" ")[0].rpartition(".")[2]


def flags(keys: Keys) -> str:
    """Return 1 for each line that is an operation, else 0."""
    return "".join("01"[key is not None and not key.startswith(FRAME)] for key in keys)


def form(sides: Mapping[str, Side]) -> dict[str, Any]:
    """Return {"sides": each without its keys, "pairs": {"A B": of `matched`} for every two, in their order}.

    A name has no space.
    """
    return {
        "sides": {name: {k: v for k, v in one.items() if k != "keys"} for name, one in sides.items()},
        "pairs": {
            f"{left} {right}": matched(sides[left]["keys"], sides[right]["keys"])
            for left, right in itertools.combinations(sides, 2)
        },
    }


def matched(ours: Keys, theirs: Keys) -> dict[str, Any]:
    """Return {"blocks": [line of ours, line of theirs, how many lines from there match], in the order of both;
    "share": of both programs' operations those that have one opposite, None if neither has any}.

    Lines are counted from 0. They match if they compute the same to the same type, as a longest common
    series of them (difflib.SequenceMatcher). A line that is no operation matches none but, of frames, its like.
    """
    keys = [
        [key if key is not None else f"{place}{number}" for number, key in enumerate(lines)]
        for place, lines in (("left", ours), ("right", theirs))
    ]
    matches = SequenceMatcher(None, *keys, autojunk=False).get_matching_blocks()
    blocks = [list(block) for block in matches if block.size]
    our_flags, their_flags = flags(ours), flags(theirs)
    total = (our_flags + their_flags).count("1")
    both = 2 * sum(our_flags[a : a + size].count("1") for a, _, size in blocks)
    return {"blocks": blocks, "share": both / total if total else None}


def line_classes(text: str) -> list[str | None]:
    """Return the class of each line's operation; None for other lines, and for what computes nothing.

    >>> line_classes("%1 = stablehlo.tanh %0 : tensor<2xf32>\\nreturn %1")
    ['elementwise', None]
    """
    return [_class_of_line(line) for line in text.splitlines()]


def _class_of_line(line: str) -> str | None:
    match = _OPCODE.search(line)
    if match is None:
        return None
    name, target = match[1], _TARGET.search(line)
    attributes = ""
    if name == "custom_call" and target:
        called = target[1] or target[2]
        # An operation of CHLO that went through HLO and back.
        if called.startswith(_CHLO):
            name = called.removeprefix(_CHLO)
        else:
            attributes = f'custom_call_target="{called}"'
    opcode = _HLO_NAMES.get(name, name.replace("_", "-"))
    if name in _CONTROL or opcode in FORWARDS:
        return None
    return class_of(Module({}, ""), Instruction(name, opcode, (), (), attributes))


def hlo_side(text: str, emitted: Sequence[str | None] | None = None) -> Side:
    """Return what `side` returns and, as `runs`, the names of the operations that run for each line.

    emitted: the source of each line of the program that was compiled, if the frontend says it.

    :raises ValueError: if the text is no HLO module.
    """
    texts, keys, classes, sources, runs = map(list, zip(*_hlo_lines(text), strict=True))
    return {
        "texts": texts,
        "classes": classes,
        "sources": [_traced(source, emitted or ()) for source in sources],
        "runs": runs,
        **_of_keys(keys),
    }


def _hlo_lines(text: str) -> Iterator[Line]:
    """Yield the lines of an HLO dump, the entry first and each computation after the one that calls it."""
    module = hlo.read(text)
    lines = {name: block.splitlines() for block, name in _COMPUTATION.findall(text)}
    callers = dict(_called(module, module.entry, set()))
    for name in [module.entry, *callers]:
        instructions = module.computations[name].instructions
        for line in lines[name]:
            instruction, shown = instructions.get(name_of(line)), _METADATA.sub("", line)
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


def name_of(line: str) -> str:
    """Return the name of the result of a line of HLO, which a profile has too."""
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
    """Return a line of the compiled program with its source."""
    match = _EMITTED.fullmatch(source or "")
    place = int(match[1]) - 1 if match else len(emitted)
    origin = emitted[place] if place < len(emitted) else None
    return f"{origin} ({source})" if origin else source


def _running(module: Module, instruction: Instruction) -> Iterator[str]:
    """Yield the operation, and all that run in the computations that it only calls."""
    if instruction.opcode not in FORWARDS:
        yield instruction.name
    for called in instruction.called:
        if called in module.runs:
            for inner in module.computations[called].instructions.values():
                yield from _running(module, inner)


def repeats(keys: Sequence[Hashable]) -> list[list[int]]:
    """Return [first line, lines of one layer, number of layers] of the stretches that repeat, in their order.

    keys: what each line computes; lines with equal keys are equal. No two stretches overlap: the one that
    covers most lines is chosen first.

    >>> repeats(["a", *"bcdefg" * 3, "h"])
    [[1, 6, 3]]
    """
    number: dict[Hashable, int] = {}
    lines = [number.setdefault(key, len(number)) for key in keys]
    stretches = [stretch for period in _periods(lines) for stretch in _stretches(lines, period)]
    # If two cover as much, the shorter one is the layer.
    stretches.sort(key=lambda one: (-one[1] * one[2], one[1]))
    chosen: list[list[int]] = []
    taken = [False] * len(lines)
    for start, period, copies in stretches:
        end = start + period * copies
        if not any(taken[start:end]):
            taken[start:end] = [True] * (end - start)
            chosen.append([start, period, copies])
    return sorted(chosen)


def _periods(lines: Sequence[int]) -> list[int]:
    """Return the 60 most frequent distances between a line and the next that is equal to it, the most frequent first.

    A layer of fewer than six lines is not worth folding.
    """
    places = defaultdict(list)
    for place, line in enumerate(lines):
        places[line].append(place)
    gaps = Counter(b - a for lines_ in places.values() for a, b in itertools.pairwise(lines_) if b - a >= 6)
    return [gap for gap, _ in gaps.most_common(60)]


def _stretches(lines: Sequence[int], period: int) -> list[list[int]]:
    """Return the stretches of at least two layers of this length."""
    same = [one == other for one, other in zip(lines, lines[period:], strict=False)]
    result, place = [], 0
    for is_same, group in itertools.groupby(same):
        length = len(list(group))
        if is_same and length >= period:
            result.append([place, period, 1 + length // period])
        place += length
    return result


def write(config: Config, folder: Folder) -> None:
    document = {"programs": programs(config, folder.measured)}
    text = json.dumps(document, separators=(",", ":")) + "\n"
    folder["report_programs"].write_text(text, encoding="utf-8")


if __name__ == "__main__":
    command(write)
