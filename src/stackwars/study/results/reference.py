"""The tables of the reference, from all accepted runs: ``python -m stackwars.study.results.reference``.

cells, programs, rounds and profile have the rows of all runs, one after the other, each with its run;
comparisons are pooled over the runs; effects, values, causes and releases have the newest rows.
"""

from __future__ import annotations

import json

import pandas as pd

from stackwars.core.outcome import Status
from stackwars.study.keys import Config
from stackwars.study.results import comparisons, effects, exact, pooling, runs, schema
from stackwars.study.results.folder import Folder, command
from stackwars.study.results.pooling import RunTable
from stackwars.study.results.programs import TARGET
from stackwars.study.results.runs import Run
from stackwars.study.studies import of_tables


def tables(config: Config, accepted: list[Run]) -> dict[str, pd.DataFrame]:
    """Return the tables of the reference but claims.csv, without rows of frameworks that the study no longer has."""
    decomposed = [
        RunTable(run.identity, run.machine, effects.build(config, run.table("cells"), run.table("rounds")))
        for run in accepted
    ]
    result = {name: _concatenated(accepted, name) for name in ("cells", "programs", "rounds", "profile")}
    result |= {
        "comparisons": pooled(config, accepted),
        "effects": effects.over_runs(decomposed),
        **{name: _newest(accepted, name) for name in ("values", "causes", "releases")},
    }
    known = ["", *config.frameworks, *(config.sharding.frontends if config.sharding else [])]
    for name, table in result.items():
        for column in table.columns.intersection(["framework", "subject", "baseline"]):
            table = table[table[column].isin(known)]
        result[name] = table.reset_index(drop=True)
    return result


def pooled(config: Config, accepted: list[Run]) -> pd.DataFrame:
    """Return the comparisons of some runs, pooled and decided.

    Counts of programs that two runs emitted are compared too, unless one run has both.
    """
    run_tables = [_across_runs(config, accepted)]
    for run in accepted:
        parts = (run.table(name) for name in ("rounds", "cells", "programs"))
        table = schema.table("comparisons", comparisons.rows(config, *parts))
        run_tables.append(RunTable(run.identity, run.machine, table))
    return comparisons.add_verdicts(pooling.pool(run_tables))


def _across_runs(config: Config, accepted: list[Run]) -> RunTable:
    programs = _concatenated(accepted, "programs")
    emitted = programs[programs["status"] != Status.NOT_RUN]
    newest = emitted.drop_duplicates(schema.PROGRAM_KEYS, keep="last")
    rows = list(exact.rows(config, schema.empty("cells"), newest))
    return RunTable("", "", schema.table("comparisons", rows))


def _concatenated(accepted: list[Run], name: str) -> pd.DataFrame:
    parts = [run.table(name).assign(run=run.identity) for run in accepted]
    parts = [part for part in parts if len(part)]
    return pd.concat(parts, ignore_index=True) if parts else schema.empty(name)


def _newest(accepted: list[Run], name: str) -> pd.DataFrame:
    """Return the rows of a table of all runs, each of the newest run that has it."""
    rows = _concatenated(accepted, name).drop_duplicates(schema.KEYS[name], keep="last")
    return rows.reset_index(drop=True)


def context(config: Config, accepted: list[Run]) -> dict:
    """Return the context of the newest run that measured the first study, with a list of all runs.

    devices: the requested ones that the run had.
    """
    first = [run for run in accepted if of_tables(config).name in run.context["studies"]]
    newest = max(first or accepted, key=lambda run: run.identity)
    described = [
        {
            "run": run.identity,
            "machine": run.machine,
            "studies": _studies(run),
            "devices": [name for name, one in run.context["devices"].items() if one["present"]],
        }
        for run in accepted
    ]
    return {**newest.context, "origin": "reference", "run": newest.identity, "runs": described}


def _studies(run: Run) -> list[str]:
    """Return the studies of a run. Until 28 November 2026, `tables` included the compilations of `targets`."""
    names, programs = run.context["studies"], run.table("programs")
    compiled = (programs["target"] == TARGET) & (programs["framework"] == "jax") & programs["devices"].isna()
    return [*names, "targets"] if "tables" in names and "targets" not in names and compiled.any() else names


def write(config: Config, folder: Folder) -> None:
    accepted = runs.read()
    for name, table in tables(config, accepted).items():
        schema.write(table, folder[name])
    folder["context"].write_text(
        json.dumps(context(config, accepted), indent=1, sort_keys=True), encoding="utf-8"
    )


if __name__ == "__main__":
    command(write, runs.DamagedRunError)
