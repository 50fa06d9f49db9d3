"""Table of the artifact's needs and first minutes, from config/evaluation.yaml."""

from __future__ import annotations

import pandas as pd
import yaml

from stackwars.paper.tables.audits import RAGGED
from stackwars.paper.tables.spec import Column, Table, frame
from stackwars.results.dataset import Sources
from stackwars.setup.environments import REPOSITORY

SOURCE = REPOSITORY / "config" / "evaluation.yaml"


def need_rows(sources: Sources) -> pd.DataFrame:
    """Return what the artifact needs, then the commands of a quick start with their times."""
    document = yaml.safe_load(SOURCE.read_text(encoding="utf-8"))
    needs = [
        {"part": "Needs", "what": one["what"].capitalize(), "text": one["minimum"], "time": ""}
        for one in document["needs"]
    ]
    commands = [
        {
            "part": "Quick start",
            "what": one["command"],
            "text": one["shows"],
            "time": minutes(one["minutes"]),
        }
        for one in document["quick_start"]
    ]
    return frame([*needs, *commands])


def minutes(value: float) -> str:
    """Return ``18 s`` or ``1.7 min``."""
    return f"{round(60 * value)} s" if value < 1 else f"{value:g} min"


TABLES = (
    Table(
        name="needs",
        caption="What the Artifact Needs, and Its First Minutes",
        rows=need_rows,
        columns=(
            Column("", "part"),
            Column("What, or command", "what", align=rf"{RAGGED}p{{0.34\textwidth}}"),
            Column("At least, or what it shows", "text", align=rf"{RAGGED}p{{0.44\textwidth}}"),
            Column("Time", "time"),
        ),
        group_by="part",
        loose=True,
        note="Times are of a virtual machine of the reference (2 cores, 24 GiB).",
    ),
)
