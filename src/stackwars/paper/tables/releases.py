"""Which release of a compiler made a program faster, slower or wrong, from releases.csv."""

from __future__ import annotations

from textwrap import shorten

import pandas as pd

from stackwars.frameworks import title
from stackwars.paper.tables.spec import RAGGED, Column, Ratio, Table, frame
from stackwars.results.dataset import Sources
from stackwars.results.names import compiler_title
from stackwars.results.schema import is_missing

NAME, STUDY = "releases", "releases"
DETAIL = 100
"""Characters of a reason that are shown."""
LARGE = 1.5
"""Factor of a change in time that is shown; releases.csv has the others."""
_PROGRAM = ["workload", "framework", "project"]


def change_rows(sources: Sources) -> pd.DataFrame:
    """Return a row for each release that changed the time of a program much, or its outcome, newest first."""
    table = sources.of(STUDY).table("releases")
    rows, others = [], []
    for _, releases in table.groupby(_PROGRAM, sort=False):
        ran = releases[~releases["status"].isin(("unsupported", "not run"))]
        changes = [row for row in releases.to_dict("records") if row["change"] != "" and is_large(row)]
        span = f"{len(ran)}: {ran['version'].iloc[-1]} to {ran['version'].iloc[0]}" if len(ran) else "none"
        rows += [_row(row, span) for row in changes]
        others.append(_row(releases.iloc[0].to_dict() | {"change": ""}, span))
    return frame(rows or others)


def is_large(row: dict) -> bool:
    """Return whether a change is of the outcome, or of the time by a factor of LARGE."""
    ratio = row["change_ratio"]
    return is_missing(ratio) or max(ratio, 1 / ratio) >= LARGE


def _row(row: dict, span: str) -> dict:
    is_changed = row["change"] != ""
    timed = is_changed and not is_missing(row["change_ratio"])
    return {
        "program": f"{row['title']}, {title(row['framework'])}",
        "compiler": compiler_title(row["project"]).strip(),
        "span": span,
        "release": row["version"] if is_changed else None,
        "previous": row["previous"] if is_changed else None,
        "change": row["change"] if is_changed else "none",
        "ratio": Ratio(row["change_ratio"], row["change_low"], row["change_high"], row["change"])
        if timed
        else None,
        "detail": shorten(row["status_detail"], DETAIL, placeholder=" ...") if is_changed else "",
    }


TABLES = (
    Table(
        name=NAME,
        caption="Releases That Made a Program Faster, Slower or Wrong",
        rows=change_rows,
        columns=(
            *(Column("Program", "program"), Column("Compiler", "compiler"), Column("Releases", "span")),
            *(Column("Release", "release"), Column("Before it", "previous"), Column("Change", "change")),
            Column("Time ratio", "ratio", "ratio"),
            Column("What", "detail", align=rf"{RAGGED}p{{0.26\textwidth}}"),
        ),
        study=STUDY,
        group_by="program",
        note=r"""One program, written once as a portable artifact of StableHLO, in releases of each project. Releases:
        how many compiled it. Time ratio: of the release over the one before it, from processes of the same rounds; a
        change is one of a factor of 1.5 or more whose interval excludes 1, or another outcome; releases.csv has those
        beyond 10\,\%.""",
        max_rows=40,
    ),
)
