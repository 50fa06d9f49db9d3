"""What the repository's own pages say of the reference run: a table of claims, and the README's results.

``python -m stackwars.claims.pages`` brings them up to date.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path

from stackwars.claims.evidence import tally
from stackwars.claims.output import read_claims
from stackwars.claims.verdicts import NOT_TESTABLE
from stackwars.results.folder import REFERENCE, Folder
from stackwars.setup.environments import REPOSITORY

TABLE = Path("docs", "claims.md")
README = Path("README.md")
RESULTS = ("compiler_more_than_frontend", "program_is_reason", "pending_two_runs")
"""The claims that the README shows, whatever became of them."""


def table(rows: Iterable[dict]) -> str:
    """A Markdown table, a row a claim: target, origin, sentence, verdict and the count that it rests on."""
    lines = ["| target | origin | claim | verdict | evidence |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        head = (f"`claim_{row['id']}`", row["origin"])
        cells = (*head, row["sentence"], row["verdict"], _short(row))
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines)


def results(rows: Iterable[dict]) -> str:
    """A Markdown list of RESULTS: sentence, verdict, and the count that it rests on."""
    found = {row["id"]: row for row in rows}
    lines = []
    for row in (found[identity] for identity in RESULTS):
        text = f"{row['sentence']} **{row['verdict'].capitalize()}**: {_short(row)}."
        lines += textwrap.wrap(text, 118, initial_indent="- ", subsequent_indent="  ")
    return "\n".join(lines)


def _short(row: dict) -> str:
    """The counts without their numbers; of a claim that was not tested, why, without the particulars."""
    if row["verdict"] == NOT_TESTABLE:
        return row["evidence"].partition(" (")[0]
    return tally(row["evidence"])


def put_into(page: Path, name: str, text: str) -> None:
    """Replace what stands between the markers `<!-- name -->` and `<!-- /name -->` of a page.

    :raises ValueError: if the two markers are not there once each, in their order.
    """
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    whole = page.read_text(encoding="utf-8")
    before, found, rest = whole.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed or begin in rest or end in after:
        raise ValueError(f"{page}: expected {begin} and {end} once each, in this order")
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


def write(repository: Path, rows: list[dict]) -> None:
    """Bring both pages up to date with the rows of a claims.csv."""
    put_into(repository / TABLE, "claims", table(rows))
    put_into(repository / README, "results", results(rows))


if __name__ == "__main__":
    write(REPOSITORY, read_claims(Folder(REFERENCE)["claims"]))
