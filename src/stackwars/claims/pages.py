"""What the repository's own pages say of the reference: its claims, three results, and how its runs differ.

``python -m stackwars.claims.pages`` brings them up to date.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path

import pandas

from stackwars.claims import definitions
from stackwars.claims.evidence import tally
from stackwars.claims.output import read_claims
from stackwars.claims.verdicts import NOT_TESTABLE
from stackwars.measure import documents
from stackwars.results.folder import REFERENCE, STABILITY, Folder
from stackwars.setup.device import CPU, ONE_THREAD
from stackwars.setup.environments import REPOSITORY

TABLE = Path("docs", "claims.md")
README = Path("README.md")
PROTOCOL = Path("docs", "protocol.md")
WIDTH = 118
RESULTS = ("compiler_more_than_frontend", "program_is_reason", "pending_two_runs")
"""The claims that the README shows, whatever became of them."""


def table(rows: Iterable[dict], answers: dict[str, str]) -> str:
    """A Markdown table, a row a claim: target, origin, what it answers, sentence, verdict and the count that it
    rests on.

    answers: by the claim's id, see workflow/schemas/claims.schema.yaml; "" for nothing.
    """
    heads = ("target", "origin", "answers", "claim", "verdict", "evidence")
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for row in rows:
        head = (f"`claim_{row['id']}`", row["origin"], answers[row["id"]])
        cells = (*head, row["sentence"], row["verdict"], _short(row))
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines)


def results(rows: Iterable[dict]) -> str:
    """A Markdown list of RESULTS: sentence, verdict, and the count that it rests on."""
    found = {row["id"]: row for row in rows}
    lines = []
    for row in (found[identity] for identity in RESULTS):
        text = f"{row['sentence']} **{row['verdict'].capitalize()}**: {_short(row)}."
        lines += textwrap.wrap(text, WIDTH, initial_indent="- ", subsequent_indent="  ")
    return "\n".join(lines)


def between_runs(reference: Path) -> str:
    """How far the reference's runs are apart, and whether each lies where the others predict it: a paragraph.

    From variance.csv, held_out.csv and stability.json of this folder.
    """
    files = Folder(reference)
    variance = pandas.read_csv(files["variance"])
    levels = variance[variance["quantity"] == "ratio"].set_index(["device", "level"])["deviation"]
    wide, narrow = (
        [f"{levels[device, level]:.0%}".replace("%", " %") for level in ("round", "run", "machine")]
        for device in (CPU, ONE_THREAD)
    )
    held = pandas.read_csv(files["held_out"])
    held = held[held["total"] > 0]
    turned = documents.read(reference / STABILITY)["rate"]
    runs, machines = held["run"].nunique(), held["machine"].nunique()
    known, unknown = _inside(held[held["known"]]), _inside(held[~held["known"]])
    kinds = (
        f"{known} where its kind of machine is among the others', and {unknown} where it is not"
        if not held["known"].all()
        else "the kind of machine of each is among the others'"
    )
    text = (
        f"In the reference ({runs} runs with ratios that others have too, on {machines} kinds of machine), "
        f"the standard deviation of a steady ratio on all cores is {wide[0]} between rounds, {wide[1]} "
        f"between runs of one kind of machine, and {wide[2]} between kinds; on one core {narrow[0]}, "
        f"{narrow[1]} and {narrow[2]}. With each run left out in turn, {_inside(held)} ratios lie in the "
        f"prediction intervals of the others (`held_out.csv`): {kinds}. Between pairs of runs "
        f"drawn from the reference (`stability.json`), {100 * turned:.2f} % of the verdicts turn "
        "from supported to contradicted or back."
    )
    return textwrap.fill(text, WIDTH, break_long_words=False)


def _inside(held: pandas.DataFrame) -> str:
    return f"{held['inside'].sum():,} of {held['total'].sum():,}"


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


def write(repository: Path, reference: Path) -> None:
    """Bring the pages up to date with the tables of the reference."""
    rows = read_claims(Folder(reference)["claims"])
    answers = {claim.id: claim.answers for claim in definitions.load().claims}
    put_into(repository / TABLE, "claims", table(rows, answers))
    put_into(repository / README, "results", results(rows))
    put_into(repository / PROTOCOL, "runs", between_runs(reference))


if __name__ == "__main__":
    write(REPOSITORY, REFERENCE)
