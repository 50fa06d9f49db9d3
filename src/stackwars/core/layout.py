"""Lay a program's lines out for print: attributes cut with a mark, lines broken to a width.

Plain text work, so it needs no MLIR bindings. Nothing is dropped without `...` in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# Attributes that say where a value lies or that only a front end reads.
_NOISE = re.compile(r"(mhlo|jax|sdy|tf)\.|(result_layout|operand_layouts|xla_shape|backend_config)$")
_OPENING, _CLOSING = "([{<", ")]}>"

LEFT_OUT = "further lines of the program left out"
"""End of a listing that is too long for its place."""


def listing(lines: Iterable[tuple[int, str]], columns: int, limit: int) -> list[str]:
    """Return at most `limit` lines of at most `columns` characters, from (depth, line).

    A comment names what was cut: attributes at the top, lines beyond the limit at the end.
    """
    elided = [(depth, *elide(line)) for depth, line in lines]
    cut = sorted(set().union(*(names for _, _, names in elided)))
    legend = f"// {{...}} stands for attributes left out: {', '.join(cut)}" if cut else ""
    parts = [wrap(legend, columns, 0), *(wrap(text, columns, depth) for depth, text, _ in elided)]
    dropped = 0
    while parts and sum(map(len, parts)) + (dropped > 0) > limit:
        parts.pop()
        dropped += 1
    if dropped:
        parts.append([f"// ... {dropped} {LEFT_OUT}"])
    return [line for part in parts for line in part]


def elide(line: str) -> tuple[str, set[str]]:
    """Return the line with bookkeeping attributes replaced by `...`, and the names of these attributes."""
    names: set[str] = set()
    result, at = "", 0
    for start, end in _braces(line):
        items = [(item.strip(), item.split("=")[0].strip()) for item in split(line[start + 1 : end])]
        cut = {key for _, key in items if _NOISE.match(key)}
        shown = [item for item, key in items if key not in cut]
        names |= cut
        result += line[at:start] + "{" + ", ".join(shown + ["..."] * bool(cut)) + "}"
        at = end + 1
    return result + line[at:], names


def split(text: str) -> list[str]:
    """Return the parts between commas that are in no bracket and no string; none for an empty text."""
    parts = [""]
    for character, depth in zip(text, _depths(text), strict=True):
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts if text.strip() else []


def wrap(line: str, columns: int, indent: int) -> list[str]:
    """Break a line into parts of at most `columns`, after a comma or colon or before an arrow.

    Lists in [] and <> stay in one piece if they fit. A word longer than a line is cut at the edge:
    nothing ever runs over.
    """
    # ASCII alone, as the listings package needs; any other character as its escape.
    text = line.strip().replace("\t", " ").encode("ascii", "backslashreplace").decode()
    comment = "// " if text.startswith("//") else ""
    parts: list[str] = []
    while text:
        # A continued comment is a comment again, at the indent of its first part.
        hang = indent if comment or not parts else indent + 4
        prefix = " " * hang + (comment if parts else "")
        room = columns - len(prefix)
        end = len(text) if len(text) <= room else _break(text, room, bool(comment))
        parts.append(prefix + text[:end].rstrip())
        text = text[end:].lstrip()
    return parts


def _break(text: str, room: int, comment: bool) -> int:
    """Return where to end a line that has `room` characters."""
    if not comment:
        depths = _depths(text, count="[{<")
        for at in range(room, room // 3, -1):
            before, after = text[:at], text[at:]
            if depths[at] == 0 and (before.endswith((", ", ",", " : ", " :")) or after.startswith("-> ")):
                return at
    within = text.rfind(", ", room // 3, room) + 1  # in a list that is longer than a line
    space = text.rfind(" ", 1, room + 1)
    return next((at for at in (within, space) if at > 0), room)


def _depths(text: str, count: str = _OPENING) -> list[int]:
    """Return for each character how many brackets are open before it; a large number inside a string."""
    closing = {_CLOSING[_OPENING.index(c)] for c in count}
    result, depth, quoted = [], 0, False
    for at, character in enumerate(text):
        if character in closing and not quoted and not text.startswith("->", at - 1):
            depth = max(0, depth - 1)
        result.append(depth + 1000 * quoted)
        if character == '"' and (at == 0 or text[at - 1] != "\\"):
            quoted = not quoted
        elif character in count and not quoted:
            depth += 1
    return result


def _braces(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each outermost {...} begins and ends, but not one in a string or one that opens a body."""
    depth = start = 0
    for at, (character, is_quoted) in enumerate(zip(text, _depths(text, count=""), strict=True)):
        if is_quoted or character not in "{}":
            continue
        if character == "{":
            start, depth = (start if depth else at), depth + 1
        elif depth:
            depth -= 1
            if depth == 0:
                yield start, at
