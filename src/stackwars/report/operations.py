"""What differs between the programs of two frontends: their operations by name, and those that take most time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from stackwars.report.align import name_of

Row = dict[str, Any]
MOST = 10
"""Operations of a list of the largest."""
_HLO = re.compile(r" = (\([^)]*\)|\S+) ([\w-]+)")
_LAYOUT = re.compile(r"\{[\d,]*\}")


def kinds(program: Row, subject: str, baseline: str) -> Row | None:
    """Return {"form": its name, "rows": [operation, number in the baseline's program, in the subject's]}: the
    operations by name, those first whose numbers differ most. None if a program is missing.

    program: of report_programs.json. The normalised form is taken if there is one: it counts programs, not spelling.
    """
    for form in ("normalised", "as emitted"):
        sides = program["forms"].get(form, {}).get("sides", {})
        if {subject, baseline} <= sides.keys():
            one, other = (sides[name]["kinds"] for name in (baseline, subject))
            rows = [[name, one.get(name, 0), other.get(name, 0)] for name in {**one, **other}]
            return {"form": form, "rows": sorted(rows, key=lambda row: (-abs(row[2] - row[1]), row[0]))}
    return None


def largest(program: Row | None, calls: list[Row], subject: str, baseline: str) -> Row | None:
    """Return the operations that take most of a profiled call, in one compiler; None if none is known.

    {"compiler", "matched": whether both programs' lines are known, "rows": [{class, and of each side, "baseline" and
    "subject": operation, ms, source; None if nothing stands opposite}]}. calls: those of one workload, with their
    profiles.
    """
    form = program["forms"].get("optimised") if program else None
    # The compiler whose programs are known comes first.
    known = [form["compiler"]] if form else []
    for compiler in dict.fromkeys([*known, *(call["compiler"] for call in calls)]):
        sides = {call["framework"]: call for call in calls if call["compiler"] == compiler and call["profile"]}
        if not {subject, baseline} <= sides.keys():
            continue
        profiles = [sides[name]["profile"]["operations"] for name in (baseline, subject)]
        is_matched = bool(form and form["compiler"] == compiler and {subject, baseline} <= form["sides"].keys())
        rows = list(_matched(form, profiles, (baseline, subject))) if is_matched else list(_alone(profiles))
        rows.sort(key=lambda row: -max(one["ms"] for one in (row["baseline"], row["subject"]) if one))
        return {"compiler": compiler, "matched": is_matched, "rows": rows[:MOST]}
    return None


def _matched(form: Row, profiles: list[list], names: tuple[str, str]) -> Iterator[Row]:
    """Yield the operations that run, with that of the other program that computes the same opposite."""
    sides = [form["sides"][name] for name in names]
    timed = [{name: (kind, ms) for name, kind, ms in profile} for profile in profiles]
    is_turned = " ".join(names) not in form["pairs"]
    blocks = form["pairs"][" ".join(names[::-1] if is_turned else names)]["blocks"]
    opposite = {}
    for left, right, size in blocks:
        for line in range(size):
            pair = (right + line, left + line) if is_turned else (left + line, right + line)
            opposite[pair[0]] = pair[1]
    lines = [dict(_lines(side, known)) for side, known in zip(sides, timed, strict=True)]
    seen = set()
    for line, (kind, one) in lines[0].items():
        other = lines[1].get(opposite.get(line, -1))
        seen |= {opposite[line]} if other else set()
        yield {"class": kind, "baseline": one, "subject": other[1] if other else None}
    for line, (kind, one) in lines[1].items():
        if line not in seen:
            yield {"class": kind, "baseline": None, "subject": one}


def _lines(side: Row, timed: dict[str, tuple]) -> Iterator[tuple[int, tuple[str, Row]]]:
    """Yield (line, (class, operation)) of the operations that run by themselves."""
    for line, text in enumerate(side["texts"]):
        name = name_of(text)
        if name in timed and name in side["runs"][line]:
            kind, ms = timed[name]
            yield line, (kind, {"operation": _short(text), "ms": ms, "source": side["sources"][line]})


def _short(text: str) -> str:
    """Return the name, the operation and the type of a line of HLO.

    >>> _short("  ROOT %dot.3 = f32[2,3]{1,0} dot(%a, %b), lhs_contracting_dims={1}")
    'dot.3: dot f32[2,3]'
    """
    found = _HLO.search(text)
    return f"{name_of(text)}: {found[2]} {_LAYOUT.sub('', found[1])}" if found else name_of(text)


def _alone(profiles: list[list]) -> Iterator[Row]:
    """Yield the operations of both profiles, none of which is known to stand for another."""
    for side, profile in zip(("baseline", "subject"), profiles, strict=True):
        for name, kind, ms in profile:
            known = {"operation": name, "ms": ms, "source": None}
            yield {"class": kind, "baseline": None, "subject": None, side: known}
