"""The audits of the harness: their verdicts, their figures, and whose they are."""

from __future__ import annotations

import pandas as pd

from stackwars.publish.paper.latex import escape
from stackwars.publish.paper.tables.spec import RAGGED, Column, Table, frame
from stackwars.study.audits import audit_entries
from stackwars.study.audits.audit_entries import Audits
from stackwars.study.results import runs
from stackwars.study.results.dataset import Sources
from stackwars.study.results.folder import MEASURED


def shown(sources: Sources) -> Audits:
    """Return the audits of this run, or else those of the reference."""
    paths = [data.measured / MEASURED["audits"] for data in (sources.run, sources.reference)]
    return audit_entries.read(next((path for path in paths if path.exists()), paths[0]))


def state(sources: Sources) -> str:
    """Return one sentence on the audits of the run that this build shows: of the reference its newest run."""
    context = sources.run.context
    if sources.run.is_reference:
        return shown(sources).state(context["run"], "the newest accepted run")
    return shown(sources).state(runs.identity(context))


def audit_rows(sources: Sources) -> pd.DataFrame:
    """Return a row an audit."""
    audits = shown(sources)
    origin = "No audit was run."
    if audits.run:
        with_ = f", with revision {' and '.join(audits.revisions)}" if audits.revisions else ""
        on = f", on {audits.machine}" if audits.machine else ""
        origin = f"Of the run {audits.run}{with_}{on}."
    return frame(audits.entries, escape(origin))


TABLES = (
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
)
