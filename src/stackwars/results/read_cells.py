"""The files that tables, figures and findings are made from, read and checked."""

from __future__ import annotations

from pathlib import Path

import pandas

from stackwars import frameworks
from stackwars.measure import documents
from stackwars.results import verdicts
from stackwars.setup.device import CPU, CPUS, ONE_THREAD

FRAME_KEYS = [
    "workload",
    "title",
    "table",
    "framework",
    "baseline",
    "device",
    "status",
    "origin",
    "rounds",
]
FRAME_KEYS += ["gated", "steady_class", "warmup_points", "precision"]
RATIO_KEYS = ["workload", "device", "framework", "baseline", "rounds", "steady_gated", "contended"]
RATIO_KEYS += [
    f"{stage}_{what}"
    for stage in ("first", "second", "steady")
    for what in ("ratio", "p_holm", "verdict", "detectable", "runs", "machines")
]
CALL_KEYS = ["workload", "framework", "device", "repetition", "call", "latency_ms"]
FRAME_TEXTS = ("status", "status_detail", "origin", "title", "table", "device", "steady_class")
FRAME_TEXTS += ("stop_reason", "baseline")
RATIO_VERDICTS = (
    *(verdicts.SLOWER, verdicts.FASTER, verdicts.NO_DIFFERENCE),
    *(verdicts.UNRESOLVED, verdicts.NOT_DECIDED, verdicts.NO_DATA),
)
PUBLISHED_KEYS = ["table", "workload", "framework", "title", "first_run_ms", "second_run_ms"]


def read_frame(path: Path) -> pandas.DataFrame:
    """frame.csv: one row per asked-for cell, in grid order; text columns are never NaN."""
    frame = read_table(path, FRAME_KEYS)
    for column in FRAME_TEXTS:
        if column in frame.columns:
            frame[column] = frame[column].astype(object).fillna("").astype(str)
    return frame


def read_calls(path: Path) -> pandas.DataFrame:
    """calls.csv: one row per timed call; may hold no row at all."""
    return read_table(path, CALL_KEYS)


def read_ratios(path: Path) -> pandas.DataFrame:
    """ratios.csv: framework over baseline, paired by round; may hold no row at all.

    :raises ValueError: for a verdict that no sentence knows: it would be left out unnoticed.
    """
    ratios = read_table(path, RATIO_KEYS)
    for column in ("first_verdict", "second_verdict", "steady_verdict"):
        unknown = sorted(set(ratios[column].astype(str)) - set(RATIO_VERDICTS))
        if unknown:
            expected = ", ".join(RATIO_VERDICTS)
            raise ValueError(f"{path}: {column}: expected one of {expected}; came {unknown[0]}")
    return ratios


def read_published(path: Path) -> pandas.DataFrame:
    """The original paper's Tables I-III (ms), one row per workload and framework."""
    return read_table(path, PUBLISHED_KEYS)


def of_study(table: pandas.DataFrame, context: dict, name: str = "") -> pandas.DataFrame:
    """The rows of a table that are of one study: of the first where no name is given.

    table: with the columns workload and framework (of an edited program framework+edit), and compiler where
    it is of replays. context: context.json, whose studies have their full extent.
    """
    study = context["studies"][name or context["study"]]
    own = table.framework.astype(str).str.split("+").str[0]
    kept = own.isin([*study["frameworks"], *study["programs"]])
    kept &= table.workload.isin(study["workloads"])
    if "replay_ms" in table.columns or "ir_ratio" in table.columns:
        kept &= table.compiler.isin(study["compilers"])
    return table[kept.astype(bool)].reset_index(drop=True)


def read_json(path: Path) -> dict:
    """A JSON object.

    :raises ValueError: if the file holds anything else.
    """
    value = documents.read(Path(path))
    if not isinstance(value, dict):
        raise ValueError(f"{path}: expected a JSON object, came {type(value).__name__}")
    return value


def read_table(path: Path, columns: list[str]) -> pandas.DataFrame:
    """A CSV file that has at least these columns.

    :raises ValueError: naming the columns that are missing.
    """
    table = pandas.read_csv(path)
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise ValueError(
            f"{path}: expected the columns {', '.join(columns)}; {', '.join(missing)} missing. "
            "Was the file written by this version of the harness?"
        )
    return table


def on_cpu(table: pandas.DataFrame) -> pandas.DataFrame:
    """The rows of a table that are of all cores of the CPU, which every machine has."""
    return table[table.device == CPU]


def baselines_title(frame: pandas.DataFrame) -> str:
    """The title of the one baseline of all cells; `the baseline` where there are several, or none."""
    found = [name for name in frame.baseline.drop_duplicates() if name]
    return frameworks.title(found[0]) if len(found) == 1 else "the baseline"


def shown_cells(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Every cell on all cores of the CPU, and those on accelerators that were run."""
    ran = ~frame.device.isin(CPUS) & (frame.status != "not run")
    return frame[(frame.device == CPU) | ran]


def audited_cells(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The cells of `shown_cells` and those on one core, in grid order."""
    return frame[frame.device.isin(CPUS) | (frame.status != "not run")]


def one_core_cells(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Every cell on one pinned core."""
    return frame[frame.device == ONE_THREAD]


def titles(frame: pandas.DataFrame) -> dict[str, str]:
    """Workload name -> title, in grid order."""
    return dict(zip(frame.workload, frame.title, strict=True))


def short_status(row: pandas.Series) -> str:
    """``oom, refused at build``: the status and the first words of its detail, never blank."""
    status = row.status or "no status"
    detail = row.status_detail.splitlines()[0] if row.status_detail else ""
    detail = detail.split(":")[0].strip()
    if len(detail) > 48:
        detail = detail[:46].rsplit(" ", 1)[0] + "..."
    return f"{status}, {detail}" if detail and detail != status else status
