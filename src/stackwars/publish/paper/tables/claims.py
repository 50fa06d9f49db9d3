"""Verdicts on the claims and on the harness, which its audits try to break; and what the artifact needs."""

from __future__ import annotations

from textwrap import shorten

import pandas as pd
import yaml

from stackwars.core.launch import REPOSITORY
from stackwars.publish.paper.latex import Latex, escape
from stackwars.publish.paper.tables.table import RAGGED, Column, Table, frame
from stackwars.study.audits import audit_entries
from stackwars.study.audits.audit_entries import Audits
from stackwars.study.claims.definitions import OURS, PUBLISHED, TRANSFERRED
from stackwars.study.claims.votes import NOT_TESTABLE, counts
from stackwars.study.results import runs
from stackwars.study.results.dataset import Sources
from stackwars.study.results.folder import MEASURED
from stackwars.study.results.schema import is_missing

EVALUATION = REPOSITORY / "config" / "evaluation.yaml"
ORIGIN_HEADS = {PUBLISHED: "As the original states them", TRANSFERRED: "On this CPU, or at our sizes"}


def original_rows(sources: Sources) -> pd.DataFrame:
    """Return the original's claims: as stated, then transferred to the CPU."""
    table = _rows(sources)
    parts = [table[table["origin"] == origin].assign(of=head) for origin, head in ORIGIN_HEADS.items()]
    return pd.concat(parts, ignore_index=True)


def our_rows(sources: Sources) -> pd.DataFrame:
    """Return all of our claims, the undecided ones too."""
    table = _rows(sources)
    return table[table["origin"] == OURS].reset_index(drop=True)


def _rows(sources: Sources) -> pd.DataFrame:
    """Return every claim; a claim that cannot be tested rests on the reason."""
    table = sources.run.table("claims")
    is_testable = table["verdict"] != NOT_TESTABLE
    rests_on = table["evidence"].map(counts).where(is_testable, table["evidence"])
    # Two lines of the table.
    table = table.assign(rests_on=[shorten(text, 100, placeholder=" ...") for text in rests_on])
    marked = [Latex(escape(row["verdict"]) + confirmed(row)) for row in table.to_dict("records")]
    return table.assign(verdict=marked)


def confirmed(row: dict) -> Latex:
    """Return ``$^{+2-1}$``: so many runs give the verdict of a claim again, and so many its opposite; or nothing."""
    signs = {"+": row.get("confirmed"), "-": row.get("refuted")}
    text = "".join(f"{sign}{count:.0f}" for sign, count in signs.items() if count and not is_missing(count))
    return Latex(rf"$^{{{text}}}$" if text else "")


def audits(sources: Sources) -> Audits:
    """Return the audits of this run, or else those of the reference."""
    paths = [data.measured / MEASURED["audits"] for data in (sources.run, sources.reference)]
    return audit_entries.read(next((path for path in paths if path.exists()), paths[0]))


def audit_state(sources: Sources) -> str:
    """Return one sentence on the audits of the run that this build shows: of the reference its newest run."""
    context = sources.run.context
    if sources.run.is_reference:
        return audits(sources).state(context["run"], "the newest accepted run")
    return audits(sources).state(runs.identity(context))


def audit_rows(sources: Sources) -> pd.DataFrame:
    result = audits(sources)
    origin = "No audit was run."
    if result.run:
        with_ = f", with revision {' and '.join(result.revisions)}" if result.revisions else ""
        on = f", on {result.machine}" if result.machine else ""
        origin = f"Of the run {result.run}{with_}{on}."
    return frame(result.entries, escape(origin))


def need_rows(_: Sources) -> pd.DataFrame:
    needs = yaml.safe_load(EVALUATION.read_text(encoding="utf-8"))["needs"]
    return frame([one | {"what": one["what"].capitalize()} for one in needs])


_COLUMNS = (
    Column("Claim", "sentence", align=rf"{RAGGED}p{{0.4\textwidth}}"),
    Column("Verdict", "verdict"),
    Column("Votes", "margin", align=rf"{RAGGED}p{{0.19\textwidth}}"),
    Column("Rests on", "rests_on", align=rf"{RAGGED}p{{0.25\textwidth}}"),
)
TABLES = (
    Table(
        name="claims_original",
        caption="Claims of the Original",
        rows=original_rows,
        columns=(Column("", "of", align=rf"{RAGGED}p{{0.06\textwidth}}"), *_COLUMNS),
        group_by="of",
        note=r"""Needed: a majority and one more, or all of fewer than four; of a claim about every row, all. Slower,
        more and the like are said of torch\_xla unless the claim names another.""",
        max_rows=32,
    ),
    Table(
        name="claims_ours",
        caption="Claims of This Paper",
        rows=our_rows,
        columns=_COLUMNS,
        max_rows=32,
    ),
    Table(
        name="audits",
        caption="Attempts to Break the Harness",
        rows=audit_rows,
        columns=(
            Column("Audit", "title"),
            Column("What it should show", "aim", align=rf"{RAGGED}p{{0.2\linewidth}}"),
            Column("Verdict", "verdict"),
            Column("Figures", "detail", align=rf"{RAGGED}p{{0.58\linewidth}}"),
        ),
        note=r"""A verdict is pass if the figures stay within the limits given in the text. Ratios are our
        harness's times over the third party's.""",
        loose=True,
    ),
    Table(
        name="needs",
        caption="What the Artifact Needs",
        rows=need_rows,
        columns=(
            Column("What", "what"),
            Column("At least", "minimum", align=rf"{RAGGED}p{{0.68\linewidth}}"),
        ),
        loose=True,
        wide=False,
    ),
)
