"""The numbers of a pair of frameworks on a workload: ratios in each run and to other frameworks, every time, and the
operations that take most of it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from stackwars.core.documents import Row
from stackwars.core.numbers import shortened
from stackwars.core.ratio import FASTER, SLOWER, geometric_mean
from stackwars.publish.report.align import name_of
from stackwars.setup.device import CPU
from stackwars.study.results import schema

Pair = tuple[str, str]
"""The subject and the baseline of a ratio."""
TIMES = {
    schema.NATIVE: ("steady_ms", "the frameworks' own calls, in processes that alternate with their partner's"),
    schema.REPLAY: ("steady_ms", "the emitted programs in this compiler, without the frameworks"),
    "profile": ("profiled_ms", "one call of the replayed programs under a profiler, which takes time itself"),
}
"""The column of a time and what it is of, and so why it is not the same as another one of the same workload."""
MOST = 10
"""Operations of a list of the largest."""
_HLO = re.compile(r" = (\([^)]*\)|\S+) ([\w-]+)")
_LAYOUT = re.compile(r"\{[\d,]*\}")


def having(rows: Iterable[Row], **where: object) -> list[Row]:
    """Return the rows with these values; a column that a row lacks is empty."""
    return [row for row in rows if all(row.get(name, "") == value for name, value in where.items())]


def runs(document: Row, workload: str, pair: Pair, kinds: dict[str, str]) -> Row:
    """Return {"rows": the steady ratio of every run, "predicted": the interval where one more is expected, or None,
    "on": the kind of machine that it is expected on}.

    kinds: the kind of machine of each accepted run.
    """
    where = {"workload": workload, "device": CPU, "subject": pair[0], "baseline": pair[1]}
    rows = [row for row in having(document["comparisons"], quantity=schema.STEADY, **where) if row["each"]]
    result = []
    for row in rows:
        for run in dict.fromkeys(run for run, *_ in row["each"]):
            each = [one for one in row["each"] if one[0] == run]
            ratio = shortened(geometric_mean([ratio for *_, ratio in each]).value)
            named = {"run": run or "this run", "machine": kinds.get(run, "")}
            result.append(named | {"ratio": ratio, "each": each} | mark_of(row))
    predicted = next((row for row in rows if "predicted_low" in row), {})
    expected = [predicted[f"predicted_{end}"] for end in ("low", "high")] if predicted else None
    return {"rows": result, "predicted": expected, "on": predicted.get("machine", "")}


def of_frameworks(document: Row, workload: str, pair: Pair) -> list[Row]:
    """Return the steady ratio of every framework over the baseline, and over the subject."""
    subject, baseline = pair
    rows: dict[str, Row] = {}
    for row in document["comparisons"]:
        if row["workload"] != workload or row.get("device") != CPU or "ratio" not in row:
            continue
        sides = (row["subject"], row["baseline"])
        if row["quantity"] == schema.STEADY and row["baseline"] == baseline:
            _keep(rows, row["subject"], "over_baseline", row)
        elif row["quantity"] == schema.PAIRWISE and subject in sides:
            other = next(name for name in sides if name != subject)
            _keep(rows, other, "over_subject", row if row["baseline"] == subject else _turned(row))
    return [{"framework": name, **row} for name, row in rows.items()]


def times(document: Row, workload: str, pair: Pair, calls: list[Row]) -> list[Row]:
    """Return every steady time of the pair's programs: what it is of, and of which run.

    Two studies may share a cell: it is one time.
    """
    rows = []
    for mode, (column, what) in TIMES.items():
        cells = having(document["cells"], mode=mode, workload=workload, device=CPU)
        groups: dict[tuple[str, str], dict[str, Row]] = {}
        for row in calls if mode == "profile" else cells:
            group = groups.setdefault((row["study"], row.get("compiler", "")), {})
            if column in row:
                group[row["framework"]] = row
        for (study, compiler), group in groups.items():
            subject, baseline = (group.get(name, {}) for name in pair)
            if one := subject or baseline:
                ms = {"subject_ms": subject.get(column), "baseline_ms": baseline.get(column)}
                named = {"run": one.get("run", ""), "study": study, **mark_of(one)}
                rows.append({"what": what, "compiler": compiler, **ms, **named})
    return list({str({**row, "study": ""}): row for row in reversed(rows)}.values())[::-1]


def _keep(rows: dict[str, Row], name: str, key: str, row: Row) -> None:
    """Keep a ratio of a framework, unless this run has one and this is the reference's."""
    known = rows.setdefault(name, {})
    if key not in known or "reference" in known[key]:
        known[key] = picked(row, "ratio", "low", "high", "verdict")


def _turned(row: Row) -> Row:
    """Return a ratio with its sides exchanged."""
    ends = {"ratio": "ratio", "low": "high", "high": "low"}
    words = {SLOWER: FASTER, FASTER: SLOWER}
    turned = {name: shortened(1 / row[other], 6) for name, other in ends.items() if other in row}
    return {**row, **turned, "verdict": words.get(row["verdict"], row["verdict"])}


def mark_of(row: Row) -> Row:
    """Return {"reference": True} if a row is of the reference in the report of another run, else nothing."""
    return {"reference": True} if "reference" in row else {}


def picked(row: Row, *names: str) -> Row:
    """Return these columns of a row, those that it has, and whether it is of the reference."""
    return {name: row[name] for name in names if name in row} | mark_of(row)


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
