"""comparisons.csv: every ratio with its interval and verdict, from rounds.csv, cells.csv and programs.csv.

`build` gives the table of one run; `stackwars.results.pooling.pool` puts those of several together. Verdicts
follow from the ratios of the whole table (`stackwars.results.deciding`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd
from scipy import stats

from stackwars import workloads
from stackwars.measure.log_ratio import LEVEL, LogRatio
from stackwars.results import deciding, exact, schema
from stackwars.results.deciding import Row, key_of, log_ratio
from stackwars.results.rounds import ALL, APART, FAILED, INTERLEAVED, NO_MEMORY
from stackwars.results.schema import is_missing
from stackwars.results.verdicts import NO_DATA
from stackwars.setup.device import CPU, CPUS
from stackwars.study.comparisons import PROGRAMS, comparisons
from stackwars.study.programs import native_compiler

CONTENDED = 0.20
"""Difference of the shares of uncontended blocks from which on a comparison is marked."""
LEFT_OUT = {
    APART: "not measured together",
    NO_MEMORY: "no memory for the native process beside the replay",
    FAILED: "the native process failed",
}
"""Why a round has no ratio, by the basis of its row."""

Measured = dict[tuple[str, ...], Row]
"""Ratios by schema.ROUND_KEYS: their columns, and `basis`."""


def build(config: dict, rounds: pd.DataFrame, cells: pd.DataFrame, programs: pd.DataFrame) -> pd.DataFrame:
    """Return comparisons.csv of one run.

    config: says what is compared with what; the tables are of that run alone.
    """
    measured = _measured(rounds)
    native = cells[cells["mode"] == schema.NATIVE]
    rows = [
        *_times(native, measured),
        *_replays(config, cells[cells["mode"] == schema.REPLAY], native, measured),
        *_compilers(measured),
        *_forms(native),
        *_scaling(cells[cells["mode"] == schema.GROWTH]),
    ]
    result = {key_of(row): row for row in rows}
    rows += _pairwise(config, native, result)
    rows += exact.rows(config, cells, programs)
    return deciding.decide(schema.table("comparisons", rows))


def ratio_of(rounds: pd.DataFrame) -> LogRatio:
    """Return the mean logarithm of the ratios of some rounds of one comparison, with its standard error.

    A row without a round's number summarises all rounds of a run that kept none, and says their standard error.
    """
    summary = rounds[rounds["round"].isna()]
    if summary.empty:
        return LogRatio.of_rounds(list(rounds["ratio"]))
    row = summary.iloc[0]
    log = math.log(row["ratio"])
    if is_missing(row["error"]):
        return LogRatio(log, None, None)
    return LogRatio(log, row["error"], row["rounds"] - 1.0)


def _measured(rounds: pd.DataFrame) -> Measured:
    result = {}
    for key, rows in rounds[rounds["quantity"] != schema.PROCESS].groupby(schema.ROUND_KEYS, sort=False):
        known = rows[rows["ratio"].notna()]
        ratio = _columns(ratio_of(known), known["rounds"].sum()) if len(known) else _columns(None)
        result[key] = ratio | {"basis": known["basis"].iloc[0] if len(known) else ""}
        result[key] |= {side: known[side].median() for side in ("subject_ms", "baseline_ms")}
        left_out = rows["basis"].map(LEFT_OUT).dropna()
        if len(left_out):
            why = "; ".join(dict.fromkeys(left_out))
            result[key]["detail"] = f"{len(left_out)} of {len(rows)} rounds left out: {why}"
    return result


def _columns(ratio: LogRatio | None, rounds: float | None = None) -> Row:
    """Return the columns of a ratio that one run has measured; no data if it has not."""
    if ratio is None:
        return {"verdict": NO_DATA}
    value, low, high = ratio.estimate()
    return {
        "rounds": rounds,
        **{"ratio": value, "low": low, "high": high},
        **{"error": ratio.error, "dof": ratio.freedom},
        **{"runs": 1, "machines": 1},
    }


def _row(quantity: str, columns: Row, **names: str) -> Row:
    """Return a row; the identifying columns that `names` lacks are empty."""
    numbers = {name: value for name, value in columns.items() if name != "basis"}
    return {**dict.fromkeys(schema.COMPARISON_KEYS, ""), "quantity": quantity, **names, **numbers}


def _times(native: pd.DataFrame, measured: Measured) -> Iterator[Row]:
    """Yield first, second and steady time of every cell over its baseline's."""
    shares = native.set_index(["workload", "framework", "device"])["kept_share"].to_dict()
    is_expected = native["device"].isin(CPUS) | (native["status"] != "not run")
    for cell in native[(native["baseline"] != "") & is_expected].itertuples():
        names = {"workload": cell.workload, "device": cell.device}
        names |= {"subject": cell.framework, "baseline": cell.baseline}
        for stage in schema.STAGES:
            result = measured.get(_round_key(stage, **names), _columns(None))
            marks = {}
            if stage == schema.STEADY and result.get("basis"):
                sides = [(cell.workload, side, cell.device) for side in (cell.framework, cell.baseline)]
                own, base = (shares.get(side, math.nan) for side in sides)
                marks = {
                    "interleaved": result["basis"] == INTERLEAVED,
                    "gated": result["basis"] != ALL,
                    "contended": abs(own - base) > CONTENDED,
                }
            yield _row(stage, result, **names) | marks


def _round_key(quantity: str, **names: str) -> tuple[str, ...]:
    return tuple({"quantity": quantity, **names}.get(name, "") for name in schema.ROUND_KEYS)


def _replays(config: dict, replays: pd.DataFrame, native: pd.DataFrame, measured: Measured) -> Iterator[Row]:
    """Yield the replay ratio of every pair of programs in every compiler and, in the native compiler, how the
    native ratio divides, and the control of each framework.
    """
    pairs = comparisons(config, PROGRAMS)
    cells = set(zip(native["workload"], native["device"], native["framework"], strict=True))
    for where, rows in replays.groupby(["workload", "device", "compiler"], sort=False):
        names = dict(zip(("workload", "device", "compiler"), where, strict=True))
        compared = [pair for pair in pairs if {pair.subject, pair.baseline} <= set(rows["framework"])]
        quantities = [schema.REPLAY]
        if names["compiler"] == native_compiler(config):
            quantities += [schema.NATIVE_CALLS, schema.EVERYTHING_ELSE, schema.MARGIN]
        ratios = [(quantity, pair.subject, pair.baseline) for pair in compared for quantity in quantities]
        if names["compiler"] == native_compiler(config):
            place = (names["workload"], names["device"])
            own = [name for name in rows["framework"] if (*place, name) in cells]
            ratios += [(schema.CONTROL, name, name) for name in own]
        for quantity, subject, baseline in ratios:
            sides = {**names, "subject": subject, "baseline": baseline}
            yield _row(quantity, measured.get(_round_key(quantity, **sides), _columns(None)), **sides)


def _compilers(measured: Measured) -> Iterator[Row]:
    """Yield every program's time in a compiler over its time in the compiler before it in the study's list."""
    for key, result in measured.items():
        names = dict(zip(schema.ROUND_KEYS, key, strict=True))
        if names.pop("quantity") == schema.COMPILER:
            yield _row(schema.COMPILER, result, **names)


def _pairwise(config: dict, native: pd.DataFrame, found: dict[tuple, Row]) -> Iterator[Row]:
    """Yield steady ratios of two frameworks with the same baseline, on every workload with a cell of both."""
    for workload, rows in native[native["device"] == CPU].groupby("workload", sort=False):
        baselines = dict(zip(rows["framework"], rows["baseline"], strict=True))
        for subject, other in config["paper"].get("pairwise", []):
            if not {subject, other} <= baselines.keys():
                continue
            names = {"workload": workload, "device": CPU}
            ratios = [
                _steady(found, **names, subject=side, baseline=baselines[side]) for side in (subject, other)
            ]
            ratio = ratios[0].plus(ratios[1], others=-1.0) if all(ratios) else None
            yield _row(schema.PAIRWISE, _columns(ratio), **names, subject=subject, baseline=other)


def _steady(found: dict[tuple, Row], **names: str) -> LogRatio | None:
    return log_ratio(found.get(key_of({"quantity": schema.STEADY, **names}), {}))


def _forms(native: pd.DataFrame) -> Iterator[Row]:
    """Yield first and steady time of a workload over those of its function's plain form, in each framework."""
    ok = native[(native["device"] == CPU) & (native["status"] == "ok")]
    cells = {(row["workload"], row["framework"]): row for row in ok.to_dict("records")}
    for (workload, framework), cell in cells.items():
        plain = getattr(workloads.load(workload), "FORM_OF", None)
        other = cells.get((plain, framework))
        if other is None or cell["nodes"] != other["nodes"]:  # times of two nodes are not compared
            continue
        names = {"workload": workload, "device": CPU, "subject": framework, "baseline": framework}
        for stage in (schema.STEADY, schema.FIRST):
            times = [_logarithm(one, stage) for one in (cell, other)]
            if all(times):
                ratio = times[0].plus(times[1], others=-1.0)
                result = _columns(ratio, cell["rounds"])
                yield _row(schema.FORM, result, variant=stage, baseline_workload=plain, **names)


def _logarithm(cell: dict, stage: str) -> LogRatio | None:
    """Return the logarithm of a time in ms and its error over the processes; None if there is none."""
    value, low, high = (cell[f"{stage}{end}_ms"] for end in ("", "_low", "_high"))
    if is_missing(value):
        return None
    processes = cell["steady_processes"] if stage == schema.STEADY else cell["rounds"]
    if is_missing(low) or processes < 2:
        return LogRatio(math.log(value), None, None)
    half = math.log(high / low) / 2
    return LogRatio(math.log(value), half / float(stats.t.ppf((1 + LEVEL) / 2, processes - 1)), processes - 1.0)


def _scaling(grown: pd.DataFrame) -> Iterator[Row]:
    """Yield how the cost of compiling (first call less steady state) grows with a size.

    Least squares on logarithms.
    """
    for keys, rows in grown[grown["status"] == "ok"].groupby(["workload", "framework", "size"], sort=False):
        workload, framework, size = keys
        costs = rows["first_ms"] - rows["steady_ms"]
        if len(rows) < 3 or (costs <= 0).any():
            continue
        fit = stats.linregress(rows["value"].map(math.log), costs.map(math.log))
        doubled = LogRatio(fit.slope * math.log(2), fit.stderr * math.log(2), len(rows) - 2.0)
        yield _row(
            schema.SCALING, _columns(doubled, len(rows)),
            workload=workload, device=CPU, variant=size, subject=framework, baseline=framework,
        )  # fmt: skip
