"""comparisons.csv: every ratio with its interval and verdict, from rounds.csv, cells.csv and programs.csv.

`build` gives the table of one run; `stackwars.results.pooling.pool` puts those of several together. Variances over
rounds are moderated within a family (`stackwars.results.moderation`). Intervals and verdicts follow from the ratios of
the whole table (`stackwars.results.deciding`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator

import pandas as pd
from scipy import stats

from stackwars import workloads
from stackwars.measure.log_ratio import LEVEL, LogRatio
from stackwars.results import deciding, exact, moderation, schema
from stackwars.results.deciding import Row, key_of, log_ratio
from stackwars.results.rounds import ALL, APART, CALL, FAILED, INTERLEAVED, NO_MEMORY
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

ALTERNATING = (INTERLEAVED, "loops")
"""Bases of ratios whose two sides alternated."""
FAMILY = ("quantity", "device", "compiler", "variant")
"""Ratios of a run that agree in these columns lend each other their variance between rounds."""

Measured = dict[tuple[str, ...], Row]
"""Ratios by schema.ROUND_KEYS: their columns, and `basis`."""


def build(config: dict, rounds: pd.DataFrame, cells: pd.DataFrame, programs: pd.DataFrame) -> pd.DataFrame:
    """Return comparisons.csv of one run.

    config: says what is compared with what; the tables are of that run alone.
    """
    rows = [*timed(config, rounds, cells), *exact.rows(config, cells, programs)]
    return deciding.decide(schema.table("comparisons", rows))


def timed(config: dict, rounds: pd.DataFrame, cells: pd.DataFrame) -> list[Row]:
    """Return the rows of what is timed, without intervals and verdicts."""
    measured = _measured(rounds)
    native = cells[cells["mode"] == schema.NATIVE]
    rows = [
        *_times(native, measured),
        *_replays(config, cells[cells["mode"] == schema.REPLAY], native, measured),
        *_compilers(measured),
        *_moderated(_forms(native)),
        *_moderated(_scaling(cells[cells["mode"] == schema.GROWTH])),
    ]
    result = {key_of(row): row for row in rows}
    return [*rows, *_pairwise(config, native, result)]


def observed(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return comparisons.csv of what rounds.csv has ratios of, whatever the configuration compares."""
    rows = [
        _row(columns=result, **dict(zip(schema.ROUND_KEYS, key, strict=True)))
        for key, result in _measured(rounds).items()
    ]
    return schema.table("comparisons", rows)


def _ratio_of(rounds: list[Row]) -> LogRatio:
    """Return the mean logarithm of the ratios of some rounds of one comparison, with its standard error.

    A row without a round's number summarises all rounds of a run that kept none, and says their standard error.
    """
    summary = next((row for row in rounds if is_missing(row["round"])), None)
    if summary is None:
        return LogRatio.of_rounds([row["ratio"] for row in rounds])
    log = math.log(summary["ratio"])
    if is_missing(summary["error"]):
        return LogRatio(log, None, None)
    return LogRatio(log, summary["error"], summary["rounds"] - 1.0)


def _measured(rounds: pd.DataFrame) -> Measured:
    by_key: dict[tuple[str, ...], list[Row]] = {}
    for row in rounds[rounds["quantity"] != schema.PROCESS].to_dict("records"):
        by_key.setdefault(tuple(row[name] for name in schema.ROUND_KEYS), []).append(row)
    result = {}
    for key, rows in by_key.items():
        known = [row for row in rows if not is_missing(row["ratio"])]
        ratio = _columns(_ratio_of(known), sum(row["rounds"] for row in known)) if known else _columns(None)
        result[key] = ratio | {"basis": known[0]["basis"] if known else ""} | _medians(known)
        left_out = [LEFT_OUT[row["basis"]] for row in rows if row["basis"] in LEFT_OUT]
        if left_out:
            why = "; ".join(dict.fromkeys(left_out))
            result[key]["detail"] = f"{len(left_out)} of {len(rows)} rounds left out: {why}"
    named = [dict(zip(schema.ROUND_KEYS, key, strict=True)) | row for key, row in result.items()]
    return dict(zip(result, _moderated(named), strict=True))


def _medians(rounds: list[Row]) -> Row:
    """Return the median times of both sides, in ms; None where a round has none."""
    result = {}
    for side in ("subject_ms", "baseline_ms"):
        times = [row[side] for row in rounds if not is_missing(row[side])]
        result[side] = statistics.median(times) if times else None
    return result


def _moderated(rows: Iterable[Row]) -> list[Row]:
    """Return the rows with their errors by the variance between rounds that their family lends."""
    rows, families = list(rows), {}
    for row in rows:
        if not is_missing(row.get("error")):
            families.setdefault(tuple(row.get(name, "") for name in FAMILY), []).append(row)
    for family in families.values():
        prior = moderation.fit(
            [row["error"] ** 2 * row["rounds"] for row in family], [row["dof"] for row in family]
        )
        for row in family:
            variance, dof = moderation.moderate(row["error"] ** 2 * row["rounds"], row["dof"], prior)
            row |= {"error": math.sqrt(variance / row["rounds"]), "dof": dof}
    return rows


def _columns(ratio: LogRatio | None, rounds: float | None = None) -> Row:
    """Return the columns of a ratio that one run has measured; no data if it has not."""
    if ratio is None:
        return {"verdict": NO_DATA}
    return {
        **{"rounds": rounds, "ratio": math.exp(ratio.log), "error": ratio.error, "dof": ratio.freedom},
        **{"runs": 1, "machines": 1},
    }


def _row(quantity: str, columns: Row, **names: str) -> Row:
    """Return a row; the identifying columns that `names` lacks are empty.

    interleaved: of ratios that are not of single calls, whether both sides alternated.
    """
    numbers = {name: value for name, value in columns.items() if name not in ("basis", *schema.ROUND_KEYS)}
    if columns.get("basis") and columns["basis"] != CALL:
        numbers["interleaved"] = columns["basis"] in ALTERNATING
    return {**dict.fromkeys(schema.COMPARISON_KEYS, ""), "quantity": quantity, **names, **numbers}


def _times(native: pd.DataFrame, measured: Measured) -> Iterator[Row]:
    """Yield first, second and steady time of every cell over its baseline's."""
    shares = native.set_index(["workload", "framework", "device"])["kept_share"].to_dict()
    is_expected = native["device"].isin(CPUS) | (native["status"] != "not run")
    for cell in native[(native["baseline"] != "") & is_expected].itertuples():
        names = {"workload": cell.workload, "device": cell.device}
        names |= {"subject": cell.framework, "baseline": cell.baseline}
        for stage in (*schema.STAGES, schema.UNDISTURBED):
            result = measured.get(_round_key(stage, **names))
            if result is None and stage == schema.UNDISTURBED:
                continue
            result = result or _columns(None)
            marks = {}
            if stage == schema.STEADY and result.get("basis"):
                sides = [(cell.workload, side, cell.device) for side in (cell.framework, cell.baseline)]
                own, base = (shares.get(side, math.nan) for side in sides)
                marks = {
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
            sides = [
                _steady(found, **names, subject=side, baseline=baselines[side]) for side in (subject, other)
            ]
            yield _row(schema.PAIRWISE, _combined(*sides, 1.0, -1.0), **names, subject=subject, baseline=other)


def _steady(found: dict[tuple, Row], **names: str) -> Row:
    return found.get(key_of({"quantity": schema.STEADY, **names}), {})


def _combined(one: Row, other: Row, own: float, others: float) -> Row:
    """Return the columns of own * one + others * the other one, of two independent logarithms."""
    logs = [log_ratio(row) for row in (one, other)]
    if not all(logs):
        return _columns(None)
    result = _columns(logs[0].plus(logs[1], own, others), min(one["rounds"], other["rounds"]))
    return result | {"interleaved": one["interleaved"] is True and other["interleaved"] is True}


def _forms(native: pd.DataFrame) -> Iterator[Row]:
    """Yield first and steady time of a workload over those of its function's plain form, in each framework."""
    ok = native[(native["device"] == CPU) & (native["status"] == "ok")]
    cells = {(row["workload"], row["framework"]): row for row in ok.to_dict("records")}
    plain_forms = {name: getattr(workloads.load(name), "FORM_OF", None) for name in ok["workload"].unique()}
    for (workload, framework), cell in cells.items():
        plain = plain_forms[workload]
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
