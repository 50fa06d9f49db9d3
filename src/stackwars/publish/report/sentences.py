"""The sentences that say why one frontend's workload is slower than another's, from the rows that decide it."""

from __future__ import annotations

from collections.abc import Iterator

from stackwars.core.documents import Row
from stackwars.core.numbers import percent, significant
from stackwars.core.ratio import FASTER, SLOWER
from stackwars.measure import frameworks
from stackwars.study.results.verdicts import DUE_TO_PROGRAM, DUE_TO_REST, LESS, MORE, SAME

MARK = "\N{DAGGER}"
"""Mark of a number that comes from the reference, not from the reported run."""
_SHARES = {
    DUE_TO_PROGRAM: "The emitted program does more of that than everything else",
    DUE_TO_REST: "Everything else does more of that than the emitted program",
}
_AMOUNTS = {MORE: "more", LESS: "less", SAME: "as much, within 1 %"}


def verdict(row: Row | None, subject: str, baseline: str) -> str:
    """Return who is slower, by the steady ratio of two frameworks.

    row: None if they were not compared.
    """
    one, other = (frameworks.title(name) if name else "the other" for name in (subject, baseline))
    if row is None:
        return f"No steady state of {one} was compared with that of {other}."
    ratio = f"{significant(row['ratio'])}{_interval(row)}"
    if row["verdict"] in (SLOWER, FASTER):
        return marked(
            row, f"{one} is {row['verdict']} than {other}: its steady state takes {ratio} times as long."
        )
    return marked(row, f"{one} takes {ratio} times as long as {other} in the steady state: {row['verdict']}.")


def share(margin: Row | None) -> Iterator[str]:
    """Yield what does more of a native ratio, the program or everything else."""
    if margin is None:
        return
    other = "Whether the emitted program does more of that than everything else is not separated from noise"
    part = f": {percent(margin['share'])} of its logarithm" if "share" in margin else ""
    yield marked(margin, f"{_SHARES.get(margin['verdict'], other)}{part}.")


def cause(answer: Row | None) -> Iterator[str]:
    """Yield what a search of the gap between the two programs found."""
    if answer is not None:
        yield marked(
            answer, f"A search of its cause found: {answer['sentence'].partition('. ')[0].rstrip('.')}."
        )


def moves(effects: list[Row]) -> Iterator[str]:
    """Yield by what factors frontend and compiler move the time of a workload."""
    if not effects:
        return
    rows = sorted(effects, key=lambda row: -row["factor"])
    factors = ", ".join(f"{row['effect']} {significant(row['factor'])}" for row in rows)
    largest = rows[0].get("largest", "")
    is_named = largest in {row["effect"] for row in rows}
    named = f"the {largest} most" if is_named else "which of them most is not separated"
    yield marked(rows[0], f"Over all frontends and compilers, these factors move a time: {factors}; {named}.")


def fits(needs: list[Row], more: dict[tuple[str, str], str], subject: str, baseline: str) -> list[str]:
    """Return a sentence for each target: which program fits, what each needs, and who needs more.

    needs: compilations of both programs; more: {(target, compiler): verdict on the ratio of their bytes}.
    """
    result = []
    for key in dict.fromkeys((row["target"], row["compiler"]) for row in needs):
        own = {row["framework"]: row for row in needs if (row["target"], row["compiler"]) == key}
        sides = [own[name] for name in (baseline, subject) if name in own]
        end = f"; {frameworks.title(subject)} needs {_AMOUNTS[more[key]]}" if more.get(key) in _AMOUNTS else ""
        result.append(marked(sides[0], f"On {key[0]} ({key[1]}): {', '.join(map(_fit, sides))}{end}."))
    return result


def marked(row: Row, text: str) -> str:
    """Return a sentence, with the sign of a number of the reference in the report of another run."""
    return f"{text} {MARK}" if "reference" in row else text


def _fit(row: Row) -> str:
    needs = f" and needs {significant(row['hbm_bytes'] / 2**20)} MiB" if "hbm_bytes" in row else ""
    return f"{frameworks.title(row['framework'])}: {row.get('verdict') or row['status']}{needs}"


def _interval(row: Row) -> str:
    return f" [{significant(row['low'])}, {significant(row['high'])}]" if "low" in row else ""
