"""The README's table of claims, between its two markers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from stackwars.claim_evidence import tally
from stackwars.claim_verdicts import NOT_TESTABLE

BEGIN, END = "<!-- claims -->", "<!-- /claims -->"


def readme_table(rows: Iterable[dict]) -> str:
    """A Markdown table, a row a claim: target, sentence, verdict and the count that it rests on."""
    lines = ["| target | claim | verdict | evidence |", "| --- | --- | --- | --- |"]
    for row in rows:
        cells = (f"`claim_{row['id']}`", row["sentence"], row["verdict"], _short(row))
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines)


def _short(row: dict) -> str:
    """The counts without their numbers; of a claim that was not tested, why, without the particulars."""
    if row["verdict"] == NOT_TESTABLE:
        return row["evidence"].partition(" (")[0]
    return tally(row["evidence"])


def put_into(readme: Path, rows: Iterable[dict]) -> None:
    """Replace what stands between the markers of ``readme``.

    :raises ValueError: if the two markers are not there once each, in their order.
    """
    text = readme.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in after:
        raise ValueError(f"{readme}: expected {BEGIN} and {END} once each, in this order")
    readme.write_text(f"{before}{BEGIN}\n{readme_table(rows)}\n{END}{after}", encoding="utf-8")
