"""The audits of the harness: what each should show and whether it did, in brief and with figures."""

from __future__ import annotations

import pandas as pd

from stackwars.audits import audit_entries
from stackwars.paper.latex import escape
from stackwars.paper.tables.spec import Column, Table, frame
from stackwars.results.dataset import Sources
from stackwars.results.folder import MEASURED

RAGGED = r">{\raggedright\arraybackslash}"


def audit_rows(sources: Sources) -> pd.DataFrame:
    """Return a row an audit: of this run, or else of the reference."""
    paths = [data.measured / MEASURED["audits"] for data in (sources.run, sources.reference)]
    path = next((path for path in paths if path.exists()), paths[0])
    run = audit_entries.run_of(path)
    origin = f"Of the accepted run {run}." if run else "Of this run."
    return frame(audit_entries.read(path), escape(origin))


TABLES = (
    Table(
        name="audits",
        caption="Attempts to Break the Harness",
        rows=audit_rows,
        columns=(
            Column("Audit", "title"),
            Column("What it should show", "aim", align=rf"{RAGGED}p{{0.6\linewidth}}"),
            Column("Verdict", "verdict"),
        ),
        note=r"Figures: Table~\ref{tab:audits_full}.",
        wide=False,
    ),
    Table(
        name="audits_full",
        caption="Audits of the Harness, with Their Figures",
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
