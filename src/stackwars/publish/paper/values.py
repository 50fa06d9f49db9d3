"""The numbers of the reference as LaTeX, by key: what \\val{...} prints in the prose.

steady/bert_base/torch_xla          a ratio (`comparison_key`); .../interval
n/tables/steady/torch_xla/slower    how many comparisons of a study have a verdict; .../compared, .../max, .../runs
ms/tables/bert_base/jax/steady      a time, as the tables of that study show it; with a compiler, of a replay; with the
                                    name of an accelerator, on that
returned/stacks/bert_base/jax       the share of a call after which it has returned, likewise
unfenced/gemm                       the ratio of 16 calls with one fence, mean of the runs; fenced/gemm: of fenced calls
profile/matrix/mha/jax/COMPILER/CLASS  a profiled time
change/jaxlib/mha/jax/0.8.3         time in a release over that in the one before it, where it changed
claim/ID/for                        votes for a claim; .../against, .../open, .../total
setting/rounds                      a setting of the configuration
published/gemm/torch_xla/first      a time of the original
n/...                               anything else: `stackwars.publish.paper.aggregates`
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import pandas as pd

from stackwars.publish.paper import aggregates, latex
from stackwars.setup.device import CPU, ONE_THREAD
from stackwars.study.results import published, runs, schema
from stackwars.study.results.dataset import Dataset
from stackwars.study.results.schema import is_missing
from stackwars.study.results.verdicts import NO_DATA

SUBJECT, BASELINE = "torch_xla", "jax"
"""The comparison that the prose is about, whatever else a configuration compares first."""
_OPTIONAL = ("compiler", "device", "baseline_compiler", "variant", "baseline", "baseline_workload")
VOTES = ("for", "against", "open")


def values(data: Dataset) -> dict[str, str]:
    """Return every number that the prose may print. data: the tables of the reference."""
    return {key: str(text) for group in GROUPS for key, text in group(data) if text is not None}


def _ratios(data: Dataset) -> Iterator[tuple[str, str]]:
    table = data.table("comparisons")
    table = table[table["ratio"].notna()]
    for key, row in zip(keyed(table), table.itertuples(), strict=True):
        yield key, latex.number(row.ratio)
        if not is_missing(row.low):
            yield f"{key}/interval", f"[{latex.number(row.low)}, {latex.number(row.high)}]"


def _tallies(data: Dataset) -> Iterator[tuple[str, str]]:
    """Yield how many comparisons of a study have each verdict, and the largest, by the key without the workload."""
    for study in data.config["studies"]:
        table = data.comparisons(study)
        table = table[table["verdict"] != NO_DATA]
        group = keyed(table.assign(workload="*", baseline_workload="")).str.replace("/*", "")
        for name, rows in table.groupby(group):
            key = f"n/{study}/{name}"
            yield f"{key}/compared", str(len(rows))
            yield from ((f"{key}/{word}", str(count)) for word, count in rows["verdict"].value_counts().items())
            largest = rows["ratio"].max()
            yield f"{key}/max", None if is_missing(largest) else latex.number(largest)
            for name in ("runs", "machines"):
                yield f"{key}/{name}", None if is_missing(rows[name].max()) else f"{rows[name].max():.0f}"


def _times(data: Dataset) -> Iterator[tuple[str, str]]:
    for study in data.config["studies"]:
        for mode in (schema.NATIVE, schema.REPLAY):
            cells = data.rows("cells", study, mode)
            for row in cells[(cells["status"] == "ok") & (cells["device"] != ONE_THREAD)].to_dict("records"):
                device = "" if row["device"] == CPU else row["device"]
                where = filter(None, [study, row["workload"], row["framework"], row["compiler"], device])
                key = "/".join(where)
                for stage in schema.STAGES:
                    value = row[f"{stage}_ms"]
                    yield f"ms/{key}/{stage}", None if is_missing(value) else latex.duration(value)
                yield (
                    f"returned/{key}",
                    None if is_missing(row["returned_share"]) else latex.percent(row["returned_share"]),
                )


def _unfenced(data: Dataset) -> Iterator[tuple[str, str]]:
    cells = pd.concat([run.table("cells").assign(run=run.identity) for run in runs.read()])
    cells = cells[cells["throughput_ms"].notna() & (cells["mode"] == schema.NATIVE) & (cells["device"] == CPU)]
    for name, column in (("unfenced", "throughput_ms"), ("fenced", "steady_ms")):
        times = cells.pivot(index=["workload", "run"], columns="framework", values=column)
        ratios = (times[SUBJECT] / times[BASELINE]).dropna()
        for workload, of_runs in ratios.groupby("workload"):
            yield f"{name}/{workload}", latex.number(statistics.geometric_mean(of_runs))


def _profiles(data: Dataset) -> Iterator[tuple[str, str]]:
    for study in data.config["studies"]:
        for row in data.rows("profile", study).to_dict("records"):
            where = (row["workload"], row["framework"], row["compiler"], row["class"])
            yield "/".join(["profile", study, *where]), latex.duration(row["ms"])


def _releases(data: Dataset) -> Iterator[tuple[str, str]]:
    table = data.table("releases")
    for row in table[table["change_ratio"].notna()].itertuples():
        key = f"change/{row.project}/{row.workload}/{row.framework}/{row.version}"
        yield key, latex.number(row.change_ratio)


def _claims(data: Dataset) -> Iterator[tuple[str, str]]:
    for row in data.table("claims").to_dict("records"):
        votes = [row[f"votes_{name}"] for name in VOTES]
        if not any(map(is_missing, votes)):
            counts = {**dict(zip(VOTES, votes, strict=True)), "total": sum(votes)}
            yield from ((f"claim/{row['id']}/{name}", f"{count:.0f}") for name, count in counts.items())


def _settings(data: Dataset) -> Iterator[tuple[str, str]]:
    yield from ((f"setting/{name}", latex.escape(value)) for name, value in data.config.settings.document().items())


def _published(data: Dataset) -> Iterator[tuple[str, str]]:
    for row in published.read_published().to_dict("records"):
        for stage, column in published.COLUMNS.items():
            value = row[column]
            key = f"published/{row['workload']}/{row['framework']}/{stage}"
            yield key, None if pd.isna(value) else rf"\qty{{{value}}}{{\milli\second}}"


GROUPS = (
    _ratios,
    _tallies,
    _times,
    _unfenced,
    _profiles,
    _releases,
    _claims,
    _settings,
    _published,
    aggregates.named,
)


def comparison_key(row: dict) -> str:
    """Return `quantity/workload/subject` and whatever of the row is not the usual.

    The usual baseline is BASELINE and the usual device the CPU; a form is compared with the other form of the same
    framework.

    >>> comparison_key({"quantity": "form", "workload": "layernorm", "subject": "jax", "baseline": "jax"})
    'form/layernorm/jax'
    """
    usual = {"device": (CPU,), "baseline": (BASELINE, row["subject"])}
    parts = [row.get(name, "") for name in _OPTIONAL]
    shown = [
        part for name, part in zip(_OPTIONAL, parts, strict=True) if part and part not in usual.get(name, ())
    ]
    return "/".join([row["quantity"], row["workload"], row["subject"], *shown])


def keyed(table: pd.DataFrame) -> pd.Series:
    """Return the key of each of some rows of comparisons.csv."""
    return pd.Series(map(comparison_key, table.to_dict("records")), index=table.index, dtype=str)


def verdicts(data: Dataset) -> dict[str, str]:
    """Return the verdict of every claim by its id, and of every comparison by its key."""
    table, claims = data.table("comparisons"), data.table("claims")
    compared = dict(zip(keyed(table), table["verdict"], strict=True))
    return compared | dict(zip(claims["id"], claims["verdict"], strict=True))
