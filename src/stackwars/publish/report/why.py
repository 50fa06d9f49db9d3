"""The page of the report about a workload: steps in ms and commands, in addition to the rows of other views."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from stackwars.core.documents import Row
from stackwars.core.numbers import shortened
from stackwars.core.ratio import geometric_mean
from stackwars.setup.device import CPU
from stackwars.study.printed import OPTIMISED
from stackwars.study.programs import BASE
from stackwars.study.results import schema
from stackwars.study.results.dataset import Sources

MARK = "\N{DAGGER}"
"""Mark of a number that comes from the reference, not from the reported run."""


def pages(sources: Sources, document: Row) -> dict[str, Row]:
    """Return {workload: its steps and commands} of the workloads for which the pair of frameworks has a number.

    document: comparisons, compiled, native, pair and studies, as `gather` has them.
    """
    subject, baseline = document["pair"].values()
    compiled = having(document["compiled"], variant=BASE)
    known = {row["workload"] for row in compiled if row["framework"] in (subject, baseline)}
    for row in document["comparisons"]:
        sides = row["subject"], row["baseline"]
        is_of_pair = {
            schema.STEADY: sides[1] == baseline,
            schema.PAIRWISE: subject in sides,
            schema.REPLAY: sides == (subject, baseline),
        }
        if row.get("device") == CPU and "ratio" in row and is_of_pair.get(row["quantity"]):
            known.add(row["workload"])
    return {
        workload: {
            "waterfall": waterfall(sources, document, workload),
            "commands": commands(sources, document, workload),
        }
        for workload in sources.run.config.workloads
        if workload in known
    }


def waterfall(sources: Sources, document: Row, workload: str) -> Row | None:
    """Return the steps from the baseline's call to the subject's, in ms: the program, then everything else.

    Times and ratios are of the newest run with both: one run's ms times ratios pooled over runs would be a time that
    nobody measured.
    """
    where = {"workload": workload, "device": CPU, "compiler": document["native"], **document["pair"]}
    known = having(document["comparisons"], **where)
    for is_other in (False, True):  # both of one source: this run if it has them
        rows = {row["quantity"]: row for row in known if ("reference" in row) == is_other and "ratio" in row}
        if not {schema.NATIVE_CALLS, schema.REPLAY} <= rows.keys():
            continue
        calls = _rounds(sources, rows[schema.NATIVE_CALLS]).dropna(subset=["baseline_ms"])
        replays = _rounds(sources, rows[schema.REPLAY])
        if both := set(calls["run"]) & set(replays["run"]):
            run = max(both)
            steps = _steps(calls[calls["run"] == run], replays[replays["run"] == run])
            mark = {"reference": True} if is_other else {}
            return {"compiler": document["native"], "run": run, "steps": steps, **mark}
    return None


def _rounds(sources: Sources, row: Row) -> pd.DataFrame:
    """Return the rounds of a comparison that have a ratio."""
    table = sources.dataset_for(row["studies"][0]).table("rounds")
    for name in ("quantity", "workload", "device", "compiler", "subject", "baseline"):
        table = table[table[name] == row.get(name, "")]
    return table.dropna(subset=["ratio"])


def _steps(calls: pd.DataFrame, replays: pd.DataFrame) -> list[Row]:
    """Return the steps of a waterfall from the rounds of native calls and of replays, all of one run."""
    start, native, program = (
        geometric_mean(list(values)).value
        for values in (calls["baseline_ms"], calls["ratio"], replays["ratio"])
    )
    middle, end = start * program, start * native
    steps = [
        ("baseline", 0.0, start),
        ("program", start, middle),
        (schema.EVERYTHING_ELSE, middle, end),
        ("subject", 0.0, end),
    ]
    return [{"name": name, "from": shortened(before), "to": shortened(after)} for name, before, after in steps]


def commands(sources: Sources, document: Row, workload: str) -> list[list[str]]:
    """Return [what it does, the command] for every command that measures or searches the pair's numbers here."""
    (subject, baseline), native = document["pair"].values(), document["native"]
    studies_of_run = [sources.run.study(name) for name in sources.run.config.studies]
    known = [study for study in studies_of_run if workload in study.workloads]
    names = [baseline, subject]
    measured = [study.name for study in known if study.has_cell(subject, workload, CPU)]
    replayed = [study.name for study in known if native in study.compilers]
    cells, optimised = (
        [f"{CPU}/{name}/{workload}/{file}" for name in names] for file in ("cell.json", OPTIMISED)
    )
    result = []
    for text, studies, files in (
        ("Measure both", measured, cells),
        ("Replay both programs", replayed, [f"replay/{CPU}/{native}/{workload}/replay.json"]),
        ("Have what the compiler makes of both in the next report", measured, optimised),
    ):
        if studies:
            study = document["studies"][studies[0]]
            targets = " ".join(f"{study['folder']}/{path}" for path in files)
            result.append([text, f".venv/bin/snakemake --cores 1 {study['option']}{targets}"])
    sides = f"COMPILERS={native} FRONTENDS={','.join(names)}"
    result.append(["Search the cause", f"make explain PROGRAM={workload} {sides}"])
    result.append(["Find the release that changed it", f"make releases PROGRAM={workload}"])
    return [*result, ["Check the values", f"make study STUDIES=values WORKLOADS={workload}"]]


def having(rows: Iterable[Row], **where: object) -> list[Row]:
    """Return the rows with these values; a missing column is empty."""
    return [row for row in rows if all(row.get(name, "") == value for name, value in where.items())]
