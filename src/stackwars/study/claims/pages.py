"""Texts about the reference in the repository's pages: its claims, some results, what runs confirm, how they differ.

``python -m stackwars.study.claims.pages`` brings them up to date.
"""

from __future__ import annotations

import shutil
import tempfile
import textwrap
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from stackwars.core.launch import REPOSITORY
from stackwars.core.numbers import percent
from stackwars.setup.device import CPU, ONE_THREAD
from stackwars.study import config
from stackwars.study.audits import audit_entries
from stackwars.study.claims import compare, decide, definitions
from stackwars.study.claims.compare import Stability
from stackwars.study.claims.decide import Confirmations, label
from stackwars.study.claims.votes import NOT_TESTABLE, counts
from stackwars.study.results import pooling, runs, schema, tables, variance
from stackwars.study.results.folder import MEASURED, REFERENCE, Folder

TABLE = Path("docs", "claims.md")
README = Path("README.md")
PROTOCOL = Path("docs", "protocol.md")
WIDTH = 118
RESULTS = (
    *("one_ir_many_speeds", "weight_layout_is_cause", "penalty_needs_old_kernels", "program_is_reason"),
    "pending_two_runs",
)
"""The claims that the README shows, whatever their verdicts are."""
LEVELS = {"round": "between rounds", "run": "between runs of one kind of machine", "machine": "between kinds"}
"""Levels between which a ratio varies; one with a single member has no deviation."""


def table(rows: Iterable[dict], responds_to: dict[str, str]) -> str:
    """Return a Markdown table, a row a claim: target, origin, what it responds to, sentence, verdict and counts.

    responds_to: by the claim's id, see workflow/schemas/claims.schema.yaml; "" for nothing.
    """
    heads = ("target", "origin", "responds to", "claim", "verdict", "for it", "evidence")
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for row in rows:
        head = (f"`claim_{row['id']}`", row["origin"], responds_to[row["id"]])
        verdict = ", ".join(filter(None, (row["verdict"], label(row))))
        cells = (*head, row["sentence"], verdict, row["margin"], _short(row))
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines)


def results(rows: Iterable[dict], **others: str) -> str:
    """Return a Markdown list of RESULTS (sentence, verdict, deciding count, evidence), and of other texts by title."""
    result = {row["id"]: row for row in rows}
    lines = []
    for row in (result[identity] for identity in RESULTS):
        count = f": {row['margin']}" if row["margin"] else ""
        text = f"{row['sentence']} **{row['verdict'].capitalize()}**{count}; {_short(row)}."
        lines += textwrap.wrap(text, WIDTH, initial_indent="- ", subsequent_indent="  ")
    for title, text in others.items():
        lines += textwrap.wrap(f"{title}: {text}", WIDTH, initial_indent="- ", subsequent_indent="  ")
    return "\n".join(lines)


def between_runs(deviations: pd.DataFrame, held: pd.DataFrame) -> str:
    """Return a paragraph: how far the runs are apart, and whether each lies where the others predict it.

    deviations, held: as `variance.table` and `variance.held_out` give them.
    """
    ratios = deviations[deviations["quantity"] == variance.RATIO]
    levels = ratios.set_index(["device", "level"])["deviation"].dropna()
    wide, narrow = (
        ", ".join(
            f"{percent(levels[device, name])} {LEVELS[name]}" for name in LEVELS if (device, name) in levels
        )
        for device in (CPU, ONE_THREAD)
    )
    held = held[held["total"] > 0]
    text = (
        f"In the reference, the standard deviation of a steady ratio is {wide} on all cores, and {narrow} on one. With "
        f"each of {held['run'].nunique()} runs on {held['machine'].nunique()} kinds of machine left out in turn, "
        f"{held['inside'].sum():,} of {held['total'].sum():,} ratios that at least {pooling.FEWEST_RUNS} other runs of "
        "its kind have lie in the prediction interval of that kind."
    )
    return textwrap.fill(text, WIDTH, break_long_words=False)


def stability(result: Stability) -> str:
    varying, opposite = result.varying, result.opposite or "none"
    text = (
        f"Of the claims, {varying} rest on numbers that differ between two accepted runs; the others rest on "
        "counts that every run has alike, or on one run. Decided by each run alone, on the rows that both have, "
        f"{result.differ} of the {varying} get another verdict from some two runs ({result.pairs_differ:,} of "
        f"{result.pairs:,} pairs), and {opposite} {'is' if opposite == 1 else 'are'} supported by one and "
        "contradicted by the other."
    )
    return textwrap.fill(text, WIDTH, break_long_words=False)


def checked(values: pd.DataFrame) -> str:
    """Return a sentence: how many programs were compared with their expected values, and how many have each outcome.

    values: values.csv of the reference, of which the paper counts the same rows.
    """
    counts = sorted(values["status"].value_counts().items(), key=lambda one: (-one[1], one[0]))
    text = f"The reference has {len(values):,} checks, the newest of each program, size and compiler: "
    return textwrap.fill(text + ", ".join(f"{count:,} {status}" for status, count in counts) + ".", WIDTH)


def _short(row: dict) -> str:
    """Return the counts without their numbers; for a claim that was not tested the reason, without details."""
    if row["verdict"] == NOT_TESTABLE:
        return row["evidence"].partition(" (")[0]
    return counts(row["evidence"])


def replace_section(page: Path, name: str, text: str) -> None:
    """Replace the text between the markers `<!-- name -->` and `<!-- /name -->` of a page.

    :raises ValueError: unless the page has both markers once each, in this order.
    """
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, result, rest = page.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not result or not closed or begin in rest or end in after:
        raise ValueError(f"{page}: expected {begin} and {end} once each, in this order; fix: put them back")
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


def write(repository: Path, reference: Path) -> None:
    """Bring the pages up to date with the tables of the reference in a folder, and with the accepted runs."""
    rows = schema.read(Folder(reference)["claims"]).to_dict("records")
    claims, accepted = definitions.load().claims, runs.read()
    responds_to = {claim.id: claim.responds_to for claim in claims}
    text = between_runs(variance.table(accepted), variance.held_out(accepted))
    text += "\n\n" + stability(compare.between_runs(config.load(), claims, accepted))
    confirmed = Confirmations(accepted).summary(claims)
    text += "\n\n" + textwrap.fill(confirmed, WIDTH)
    replace_section(repository / TABLE, "claims", table(rows, responds_to))
    newest = tables.reference_context(config.load(), accepted)["run"]
    audits = audit_entries.read(REFERENCE / MEASURED["audits"]).state(newest, "the newest accepted run")
    replace_section(repository / README, "results", results(rows, Confirmed=confirmed, Audits=audits))
    replace_section(repository / PROTOCOL, "runs", text)
    replace_section(repository / PROTOCOL, "values", checked(schema.read(Folder(reference)["values"])))


def update(repository: Path) -> None:
    """Pool the accepted runs, decide the claims, and update the pages and the committed copies of both tables."""
    reference_config = config.load(source="reference")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Folder(temporary, REFERENCE)
        tables.write(reference_config, folder)
        decide.write(reference_config, folder)
        write(repository, folder.results)
        for name in ("comparisons", "claims"):
            shutil.copyfile(folder[name], repository / "results" / "reference" / folder[name].name)


if __name__ == "__main__":
    update(REPOSITORY)
