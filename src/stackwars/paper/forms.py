"""Cut what compilers make of a program down to its steps.

Each function takes the whole text of a form and returns the lines to print, as (indent, line); a comment says
how many are left out, and where. Plain text work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Lines = list[tuple[int, str]]

_LAYOUT = re.compile(r"(?<=\])\{[\d,]+\}")
_METADATA = re.compile(r", metadata=\{[^}]*\}|, backend_config=\{.*$")
_GIVEN = re.compile(r"(?:ROOT )?%\S+ = \S+ (?:parameter|constant|broadcast|bitcast)\(")
_FUSED = re.compile(r" fusion\(.*calls=%([\w.-]+)")
_HEAD = re.compile(r"\(.*\)(?= -> )")
_FREED = re.compile(r";(\s+\w+ =)+ None$")
_KERNEL = re.compile(r"(?ms)^(cpp_fused_\w+) = async_compile\.cpp_pybinding\(.*?'''\n(.*?)^'''\)")
_CALL = re.compile(r"(?m)^ +(cpp_fused_\w+\(.*\))$")
_STEP = re.compile(r"#pragma omp|for\(int64_t x|auto tmp|tmp\w+ = |tmp\w+\.store|out_ptr\d+\[")
_NO_STEP = re.compile(r"[{}]*$|if\(C10_LIKELY|int tid = |#include|extern |(const )?float\* ")
"""Brackets, the check of a loop's bounds, and the signature."""
_CAST = re.compile(r"static_cast<int64_t>\(([^()]*)\)|at::vec::")
"""The type of an index, and a namespace."""


def jaxpr(text: str) -> Lines:
    """Return every line."""
    return [(1 if line.startswith(" ") else 0, line) for line in text.strip().splitlines()]


def fx_graph(text: str) -> Lines:
    """Return every node, without where it comes from in the source and what is freed after it."""
    return [
        ((len(line) - len(line.lstrip())) // 4, _FREED.sub("", line.rstrip()))
        for line in text.splitlines()
        if line.strip() and not line.lstrip().startswith("# File:")
    ]


def optimised_hlo(text: str) -> Lines:
    """Return the entry, then every fused computation, without layouts, metadata and what computes nothing."""
    # A computation is what stands between a line with its name and one with its closing bracket.
    blocks = re.findall(r"(?ms)^((?:ENTRY )?%([\w.-]+) .*?)^}", text)
    fused = set(_FUSED.findall(text))
    entry = [block for block, _ in blocks if block.startswith("ENTRY")]
    others = [block for block, name in blocks if name in fused]
    return [line for block in [*entry, *others] for line in _computation(block)]


def generated_code(text: str) -> Lines:
    """Return the calls of kernels, then every kernel: its loops, and what they compute and store."""
    lines: Lines = [(0, f"{call};") for call in _CALL.findall(text)]
    for name, body in _KERNEL.findall(text):
        lines += [(0, f"// {name}"), *_steps(body)]
    return lines


def _computation(block: str) -> Iterator[tuple[int, str]]:
    head, *lines = block.splitlines()
    yield 0, _LAYOUT.sub("", _HEAD.sub("(...)", head))
    for line in map(str.strip, lines):
        if not _GIVEN.match(line):
            yield 1, _LAYOUT.sub("", _METADATA.sub("", line))
    yield 0, "}"


def _steps(body: str) -> Iterator[tuple[int, str]]:
    skipped = 0
    for line in map(str.strip, body.splitlines()):
        if _STEP.match(line):
            yield from _left_out(skipped)
            yield 1, _CAST.sub(r"\1", line)
            skipped = 0
        else:
            skipped += not _NO_STEP.match(line)
    yield from _left_out(skipped)


def _left_out(count: int) -> Lines:
    """Return the comment that stands for lines that are not shown; none if there are none."""
    return [(1, f"// ... {count} line{'' if count == 1 else 's'} left out")] if count else []
