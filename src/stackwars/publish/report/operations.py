"""The operations that take most of a profiled call of two programs, in rows of those that compute the same."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from stackwars.core.documents import Row
from stackwars.publish.report.align import name_of

Pair = tuple[str, str]
"""The subject and the baseline of a ratio."""
MOST = 10
"""Operations of a list of the largest."""
_HLO = re.compile(r" = (\([^)]*\)|\S+) ([\w-]+)")
_LAYOUT = re.compile(r"\{[\d,]*\}")


def largest_operations(program: Row | None, calls: list[Row], pair: Pair) -> Row | None:
    """Return the operations that take most of a profiled call, in one compiler; None if none is known.

    {"compiler", "matched": whether those of a row compute the same, or have only the same rank, "rows": [of each side,
    "baseline" and "subject": operation, class, ms, source; None if nothing stands opposite]}. calls: those of one
    workload, with their profiles.
    """
    names = pair[::-1]
    form = program["forms"].get("optimised") if program else None
    # The compiler whose programs are known comes first.
    known = [form["compiler"]] if form else []
    for compiler in dict.fromkeys([*known, *(call["compiler"] for call in calls)]):
        sides = {call["framework"]: call for call in calls if call["compiler"] == compiler and call["profile"]}
        if not set(pair) <= sides.keys():
            continue
        profiles = [sides[name]["profile"]["operations"] for name in names]
        is_matched = bool(form and form["compiler"] == compiler and set(pair) <= form["sides"].keys())
        found = _matched(form, profiles, names) if is_matched else _ranked(profiles, _sources(program, names))
        rows = sorted(found, key=lambda row: -max(one["ms"] for one in row.values() if one))
        return {"compiler": compiler, "matched": is_matched, "rows": rows[:MOST]}
    return None


def _matched(form: Row, profiles: list[list], names: tuple[str, str]) -> Iterator[Row]:
    """Yield the operations that run, with that of the other program that computes the same opposite."""
    is_turned = " ".join(names) not in form["pairs"]
    blocks = form["pairs"][" ".join(names[::-1] if is_turned else names)]["blocks"]
    pairs = [(left + line, right + line) for left, right, size in blocks for line in range(size)]
    opposite = dict(pair[::-1] for pair in pairs) if is_turned else dict(pairs)
    ours, theirs = (
        dict(_lines(form["sides"][name], profile)) for name, profile in zip(names, profiles, strict=True)
    )
    for line, one in ours.items():
        yield {"baseline": one, "subject": theirs.pop(opposite.get(line, -1), None)}
    for one in theirs.values():
        yield {"baseline": None, "subject": one}


def _lines(side: Row, profile: list) -> Iterator[tuple[int, Row]]:
    """Yield (line, operation) of the operations that run by themselves."""
    timed = {name: (kind, ms) for name, kind, ms, *_ in profile}
    for line, text in enumerate(side["texts"]):
        name = name_of(text)
        if name in timed and name in side["runs"][line]:
            kind, ms = timed[name]
            yield line, {"operation": _short(text), "class": kind, "ms": ms, "source": side["sources"][line]}


def _sources(program: Row | None, names: tuple[str, str]) -> list[list[str | None]]:
    """Return the source of each line of both emitted programs, as far as it is known."""
    sides = program["forms"].get("as emitted", {}).get("sides", {}) if program else {}
    return [sides.get(name, {}).get("sources") or [] for name in names]


def _ranked(profiles: list[list], sources: list[list[str | None]]) -> Iterator[Row]:
    """Yield the operations of both profiles by their rank; none is known to stand for another."""
    ordered = [
        [_described(*row, sources=own) for row in sorted(profile, key=lambda one: -one[2])]
        for profile, own in zip(profiles, sources, strict=True)
    ]
    for one, other in itertools.zip_longest(*ordered):
        yield {"baseline": one, "subject": other}


def _described(
    name: str, kind: str, ms: float, text: str = "", line: int | None = None, *, sources: list[str | None]
) -> Row:
    source = sources[line - 1] if line and line <= len(sources) else None
    return {"operation": f"{name}: {text}" if text else name, "class": kind, "ms": ms, "source": source}


def _short(text: str) -> str:
    """Return the name, the operation and the type of a line of HLO.

    >>> _short("  ROOT %dot.3 = f32[2,3]{1,0} dot(%a, %b), lhs_contracting_dims={1}")
    'dot.3: dot f32[2,3]'
    """
    found = _HLO.search(text)
    return f"{name_of(text)}: {found[2]} {_LAYOUT.sub('', found[1])}" if found else name_of(text)
