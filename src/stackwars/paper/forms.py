"""Cut what compilers make of a program down to its steps: found by structure, as `stackwars.ir.excerpt` does.

Each function takes the whole text of a form and returns the lines to print, as (indent, line); a comment says
how much is left out, and where. Plain text work.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

Lines = list[tuple[int, str]]

_LAYOUT = re.compile(r"(?<=\])\{[\d,]+\}")
_METADATA = re.compile(r", metadata=\{[^}]*\}|, backend_config=\{.*$")
_HLO = re.compile(r"(?:ROOT )?%\S+ = \S+ ([\w-]+)\(")
_ORIGIN = re.compile(r'op_name="(?:[^"]*/)?([\w-]+)"')
_FUSED = re.compile(r" fusion\(.*calls=%([\w.-]+)")
_HEAD = re.compile(r"\(.*\)(?= -> )")
_GIVEN = {"parameter", "constant", "broadcast", "bitcast"}
_FREED = re.compile(r";(\s+\w+ =)+ None$")
_KERNEL = re.compile(r"(?ms)^(cpp_fused_\w+) = async_compile\.cpp_pybinding\(.*?'''\n(.*?)^'''\)")
_CALL = re.compile(r"(?m)^ +((?:extern_kernels\.\w+|cpp_fused_\w+)\(.*\))$")
_STEP = re.compile(r"#pragma omp|for\(int64_t x|auto tmp|tmp\w+ = |tmp\w+\.store|out_ptr\d+\[")
_NO_STEP = re.compile(r"[{}]*$|if\(C10_LIKELY|int tid = |#include|extern |(const )?float\* ")
"""Brackets, the check of a loop's bounds, and the signature."""
_CAST = re.compile(r"static_cast<int64_t>\(([^()]*)\)|at::vec::")
"""The type of an index, and a namespace."""


def jaxpr(text: str) -> Lines:
    """Every equation of the outermost jaxpr; of parameters over several lines the first."""
    lines = iter(text.strip().splitlines())
    return [(1 if line.startswith(" ") else 0, _folded(line, lines)) for line in lines]


def fx_graph(text: str) -> Lines:
    """Every node; where it comes from in the source, and what is freed after it, is left out."""
    lines = [line.rstrip() for line in text.splitlines()]
    return [
        ((len(line) - len(line.lstrip())) // 4, _FREED.sub("", line))
        for line in lines
        if line and not line.lstrip().startswith("# File:")
    ]


def optimised_hlo(text: str) -> Lines:
    """The entry, then every fused computation, of each primitive at most two instructions in a row.

    Left out without a comment: layouts, metadata, and what computes nothing (parameters, constants,
    broadcasts, bitcasts).
    """
    # A computation is what stands between a line with its name and one with its closing bracket.
    blocks = re.findall(r"(?ms)^((?:ENTRY )?%([\w.-]+) .*?)^}", text)
    fused = set(_FUSED.findall(text))
    entry = [block for block, _ in blocks if block.startswith("ENTRY")]
    others = [block for block, name in blocks if name in fused]
    return [line for block in [*entry, *others] for line in _computation(block)]


def generated_code(text: str) -> Lines:
    """What the program calls, then every kernel: its loops, and what they compute and store.

    Left out without a comment: what `_NO_STEP` and `_CAST` match.
    """
    found: Lines = [(0, f"{call};") for call in _CALL.findall(text)]
    for name, body in _KERNEL.findall(text):
        found.append((0, f"// {name}"))
        found += _steps(body)
    return found


def _folded(line: str, rest: Iterator[str]) -> str:
    """The line; where it opens a bracket that it does not close, all up to there in one."""
    if not line.endswith("["):
        return line
    depth, inner = 1, []
    while depth:
        inner.append(next(rest))
        depth += inner[-1].count("[") - inner[-1].count("]")
    more = ", ..." if len(inner) > 2 else ""
    return f"{line}{inner[0].strip()}{more}]{inner[-1].partition(']')[2]}"


def _computation(block: str) -> Iterable[tuple[int, str]]:
    head, *lines = block.splitlines()
    yield 0, _LAYOUT.sub("", _HEAD.sub("(...)", head))
    skipped, row, before = 0, 0, ""
    for line in lines:
        opcode = match.group(1) if (match := _HLO.search(line)) else ""
        if opcode in _GIVEN:
            continue
        origin = match.group(1) if (match := _ORIGIN.search(line)) else ""
        row = row + 1 if origin and origin == before else 1
        before = origin
        if row > 2 and "ROOT" not in line:
            skipped += 1
            continue
        yield from _left_out(skipped, "instruction")
        skipped = 0
        yield 1, _LAYOUT.sub("", _METADATA.sub("", line.strip()))
    yield 0, "}"


def _steps(body: str) -> Lines:
    found: Lines = []
    skipped = 0
    for line in map(str.strip, body.splitlines()):
        if _STEP.match(line):
            found += [*_left_out(skipped, "line"), (1, _CAST.sub(r"\1", line))]
            skipped = 0
        else:
            skipped += not _NO_STEP.match(line)
    return [*found, *_left_out(skipped, "line")]


def _left_out(count: int, what: str) -> Lines:
    """The comment that stands for what is not shown; none where that is nothing."""
    return [(1, f"// ... {count} {what}{'' if count == 1 else 's'} left out")] if count else []
