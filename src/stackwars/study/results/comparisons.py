"""comparisons.csv: every ratio with its interval and verdict.

Every ratio of times and its error follow from rounds.csv alone; cells.csv says what should have been measured.
`build` gives the table of one run, whose variances over rounds are moderated within a family (`results.pooling`);
`pooling.pool` pools the tables of several runs, with a row for each kind of machine. Intervals and verdicts
follow from the ratios of the whole table (`add_verdicts`): all intervals of a quantity on a device have one level, and
they decide. `over_kinds` says what holds on every kind of machine.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

import pandas as pd

from stackwars.core.documents import Row
from stackwars.core.outcome import Status
from stackwars.core.ratio import INCONCLUSIVE, LEVEL, LogRatio, direction
from stackwars.measure import workloads
from stackwars.setup.device import CPU, CPUS
from stackwars.study.keys import Config
from stackwars.study.programs import native_compiler
from stackwars.study.results import exact, pooling, published, runs, schema, verdicts
from stackwars.study.results.programs import base_compiler
from stackwars.study.results.rounds import APART, CALL, FAILED, INTERLEAVED, NO_MEMORY
from stackwars.study.results.schema import is_missing, key_of
from stackwars.study.results.verdicts import DECIDED, NO_DATA, NOT_SEPARATED
from stackwars.study.studies import PROGRAMS, comparisons, main_comparison

LEFT_OUT = {
    APART: "not measured together",
    NO_MEMORY: "no memory for the native process beside the replay",
    FAILED: "the native process failed",
}
"""Why a round has no ratio, by the basis of its row."""
LARGE = 1.1
"""Smallest ratio for which a removal is computed."""
EACH_KIND = "each_kind"
"""The column of `over_kinds` with the rows of all kinds of machine."""
NOTHING = {"verdict": NO_DATA}
"""The columns of a ratio that was not measured."""
Measured = dict[tuple[str, ...], Row]
"""Ratios by `key_of`: their columns, those keys among them, and `basis`."""


def build(config: Config, rounds: pd.DataFrame, cells: pd.DataFrame, programs: pd.DataFrame) -> pd.DataFrame:
    """Return comparisons.csv of one run.

    config: has the comparisons; the tables are of that run alone.
    """
    all_rows = rows(config, rounds, cells, programs, pooling.SAME_VARIANCE)
    return add_verdicts(schema.table("comparisons", all_rows))


def rows(
    config: Config,
    rounds: pd.DataFrame,
    cells: pd.DataFrame,
    programs: pd.DataFrame,
    family: Sequence[str] = (),
) -> list[Row]:
    """Return the rows of comparisons.csv without intervals and verdicts.

    family: ratios that agree in these columns lend each other their variance over rounds; none by default.
    """
    measured = _measured(rounds)
    if family:
        pooling.shrink_errors(list(measured.values()), *family)
    native = cells[cells["mode"] == schema.NATIVE]
    # Everything measured of successive compilers, of forms and of growing sizes.
    others = [
        row for row in measured.values() if row["quantity"] in (schema.COMPILER, schema.FORM, schema.SCALING)
    ]
    timed = [
        *_times(native, measured),
        *_replays(config, cells[cells["mode"] == schema.REPLAY], native, measured),
        *(_row(row["quantity"], row) for row in others),
    ]
    result = {key_of(row): row for row in timed}
    for row in _divided(result):
        result[key_of(row)] |= row
    counted = exact.rows(config, cells, programs)
    return [*timed, *_pairwise(config, native, result), *_removals(result), *counted]


def observed(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return comparisons.csv with every ratio of rounds.csv, whatever the configuration compares."""
    return schema.table("comparisons", [_row(one["quantity"], one) for one in _measured(rounds).values()])


def _ratio_of(rounds: list[Row]) -> LogRatio:
    """Return the mean logarithm of the ratios of some rounds of one comparison, with its standard error.

    A row without a round's number summarises all rounds of a run without single ones, and has their standard error.
    """
    summary = next((row for row in rounds if is_missing(row["round"])), None)
    if summary is None:
        return LogRatio.of_rounds([row["ratio"] for row in rounds])
    return log_ratio(summary | {"dof": summary["rounds"] - 1.0})


def _measured(rounds: pd.DataFrame) -> Measured:
    by_key: dict[tuple[str, ...], list[Row]] = {}
    for row in rounds[rounds["quantity"] != schema.PROCESS].to_dict("records"):
        by_key.setdefault(key_of(row), []).append(row)
    result = {}
    for key, rows in by_key.items():
        known = [row for row in rows if not is_missing(row["ratio"])]
        ratio = _columns(_ratio_of(known), sum(row["rounds"] for row in known)) if known else NOTHING
        result[key] = dict(zip(schema.COMPARISON_KEYS, key, strict=True)) | ratio
        result[key]["basis"] = known[0]["basis"] if known else ""
        for side in ("subject_ms", "baseline_ms"):
            times = [row[side] for row in known if not is_missing(row[side])]
            result[key][side] = statistics.median(times) if times else None
        if left_out := [LEFT_OUT[row["basis"]] for row in rows if row["basis"] in LEFT_OUT]:
            why = "; ".join(dict.fromkeys(left_out))
            result[key]["detail"] = f"{len(left_out)} of {len(rows)} rounds left out: {why}"
    return result


def _columns(ratio: LogRatio, rounds: float) -> Row:
    numbers = {"rounds": rounds, "ratio": math.exp(ratio.log), "error": ratio.error, "dof": ratio.freedom}
    return {**numbers, "runs": 1, "machines": 1}


def _row(quantity: str, columns: Row, **names: str) -> Row:
    """Return a row; the identifying columns that nothing gives are empty.

    interleaved: of ratios that are not of single calls, whether both sides alternated.
    """
    row = {**dict.fromkeys(schema.COMPARISON_KEYS, ""), **columns, "quantity": quantity, **names}
    basis = row.pop("basis", "")
    return row | ({"interleaved": basis == INTERLEAVED} if basis and basis != CALL else {})


def _times(native: pd.DataFrame, measured: Measured) -> Iterator[Row]:
    """Yield first, second and steady time of every cell over its baseline's, and what else its rounds compare."""
    shares = native.set_index(["workload", "framework", "device"])["kept_share"].to_dict()
    is_expected = native["device"].isin(CPUS) | (native["status"] != Status.NOT_RUN)
    for cell in native[(native["baseline"] != "") & is_expected].itertuples():
        names = {"workload": cell.workload, "device": cell.device}
        names |= {"subject": cell.framework, "baseline": cell.baseline}
        for stage in (*schema.STAGES, schema.UNDISTURBED, schema.STEADY_CPU):
            result = measured.get(key_of({"quantity": stage, **names}))
            if result is None and stage not in schema.STAGES:
                continue
            row = _row(stage, result or NOTHING, **names)
            if stage == schema.STEADY and result and result["basis"]:
                subject, base = (
                    shares.get((cell.workload, side, cell.device), math.nan)
                    for side in (cell.framework, cell.baseline)
                )
                row["contended"] = abs(subject - base) > 0.2
            yield row


def _replays(config: Config, replays: pd.DataFrame, native: pd.DataFrame, measured: Measured) -> Iterator[Row]:
    """Yield the replay ratio of every pair of programs in every compiler and, if it was measured, of CPU time.

    In the native compiler, yield also how the native ratio divides, and the controls of the first comparison's sides.
    """
    cells = set(zip(native["workload"], native["device"], native["framework"], strict=True))
    controlled = pair.sides if (pair := main_comparison(config)) else ()
    for where, rows in replays.groupby(["workload", "device", "compiler"], sort=False):
        workload, device, compiler = where
        is_native = compiler == native_compiler(config)
        quantities = [schema.REPLAY, schema.REPLAY_CPU]
        if is_native:
            quantities += [schema.NATIVE_CALLS, schema.EVERYTHING_ELSE, schema.MARGIN]
        ratios = [
            (quantity, pair.subject, pair.baseline)
            for pair in comparisons(config, PROGRAMS)
            if {pair.subject, pair.baseline} <= set(rows["framework"])
            for quantity in quantities
        ]
        if is_native:
            controls = [
                name for name in rows["framework"] if name in controlled and (workload, device, name) in cells
            ]
            ratios += [(schema.CONTROL, name, name) for name in controls]
        for quantity, subject, baseline in ratios:
            names = {"workload": workload, "device": device, "compiler": compiler}
            names |= {"subject": subject, "baseline": baseline}
            result = measured.get(key_of({"quantity": quantity, **names}))
            if result or quantity != schema.REPLAY_CPU:
                yield _row(quantity, result or NOTHING, **names)


def _divided(ratios: dict[tuple, Row]) -> Iterator[Row]:
    """Yield the native ratio and its factors for replays without native processes, from the steady ratio.

    On logarithms, native = replay + everything else, and margin = replay - everything else; the two are independent.
    """
    for row in [one for one in ratios.values() if one["quantity"] == schema.REPLAY]:
        names = {name: row[name] for name in ("workload", "device", "subject", "baseline")}
        calls = ratios.get(key_of({**names, "quantity": schema.NATIVE_CALLS, "compiler": row["compiler"]}))
        native = _steady(ratios, **names)
        if calls is None or log_ratio(calls) or not log_ratio(native):
            continue
        factors = {schema.NATIVE_CALLS: native}
        for quantity, weight, other_weight in ((schema.EVERYTHING_ELSE, 1.0, -1.0), (schema.MARGIN, -1.0, 2.0)):
            factors[quantity] = _combined(native, row, weight, other_weight)
        for quantity, columns in factors.items():
            yield _row(quantity, columns, **names, compiler=row["compiler"])


def _pairwise(config: Config, native: pd.DataFrame, ratios: dict[tuple, Row]) -> Iterator[Row]:
    """Yield steady ratios of two frameworks with the same baseline, on every workload with a cell of both."""
    for workload, rows in native[native["device"] == CPU].groupby("workload", sort=False):
        baselines = dict(zip(rows["framework"], rows["baseline"], strict=True))
        names = {"workload": workload, "device": CPU}
        for pair in config.paper.pairwise:
            if set(pair) <= baselines.keys():
                sides = [_steady(ratios, **names, subject=side, baseline=baselines[side]) for side in pair]
                subject, other = pair
                combined = _combined(*sides, 1.0, -1.0)
                yield _row(schema.PAIRWISE, combined, **names, subject=subject, baseline=other)


def _removals(ratios: dict[tuple, Row]) -> Iterator[Row]:
    """Yield whether a compiler's library removes most of a large difference that two programs have without it.

    ratio: half of the ratio without the library over the ratio with it, both on logarithms and oriented so that the
    slower program is the numerator; over 1 if most is removed. share: the removed part of the logarithm. Both ratios
    come from one run, because two runs may be from different machines.
    """
    for row in [one for one in ratios.values() if one["quantity"] == schema.REPLAY]:
        names = {name: row[name] for name in ("workload", "device", "subject", "baseline")}
        names["compiler"] = base_compiler(row["compiler"])
        with_it = ratios.get(key_of({**names, "quantity": schema.REPLAY}))
        if names["compiler"] == row["compiler"] or with_it is None:
            continue
        without, rest = log_ratio(row), log_ratio(with_it)
        if without is None or rest is None or abs(without.log) < math.log(LARGE):
            continue
        towards = math.copysign(1.0, without.log)
        columns = _combined(row, with_it, 0.5 * towards, -towards) | {"share": 1 - rest.log / without.log}
        yield _row(schema.REMOVAL, columns, **names, baseline_compiler=row["compiler"])


def _steady(ratios: dict[tuple, Row], **names: str) -> Row:
    return ratios.get(key_of({"quantity": schema.STEADY, **names}), {})


def _combined(one: Row, other: Row, weight: float, other_weight: float) -> Row:
    """Return the columns of weight * one + other_weight * other, of two independent logarithms."""
    logs = [log_ratio(row) for row in (one, other)]
    if not all(logs):
        return NOTHING
    result = _columns(logs[0].plus(logs[1], weight, other_weight), min(one["rounds"], other["rounds"]))
    return result | {"interleaved": one["interleaved"] is True and other["interleaved"] is True}


def add_verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with intervals and verdicts, each row's about its kind of machine alone."""
    rows = table.to_dict("records")
    by_key = {_place(row): row for row in rows}
    by_family: dict[tuple, list[Row]] = {}
    for row in rows:
        if row["quantity"] not in schema.EXACT:
            by_family.setdefault(tuple(row[name] for name in pooling.SAME_LEVEL), []).append(row)
    for family in by_family.values():
        _decide(family, by_key)
    for row in rows:
        workload = workloads.load(row["workload"])
        row |= {"title": workload.TITLE, "kind": workload.KIND}
    return published.compared(schema.table("comparisons", rows))


def log_ratio(row: Row) -> LogRatio | None:
    """Return the logarithm of a row's ratio; None if it has none."""
    if is_missing(row.get("ratio")):
        return None
    if is_missing(row["error"]):
        return LogRatio(math.log(row["ratio"]), None, None)
    return LogRatio(math.log(row["ratio"]), row["error"], row["dof"])


def _decide(family: list[Row], by_key: dict[tuple, Row]) -> None:
    """Write the intervals of a family, all at one level, and what they decide."""
    ratios = {number: ratio for number, row in enumerate(family) if (ratio := log_ratio(row))}
    known = {number: ratio for number, ratio in ratios.items() if ratio.error is not None}

    def word(number: int, level: float) -> str:
        return _verdict(family[number], ratios[number], level, by_key)

    def decided(level: float) -> int:
        return sum(word(number, level) not in (INCONCLUSIVE, NOT_SEPARATED) for number in known)

    level = pooling.level(len(known), decided) if known else LEVEL
    for number, row in enumerate(family):
        if number not in ratios:
            row["verdict"] = NO_DATA
            continue
        row["verdict"] = word(number, level)
        if number in known:
            _, low, high = known[number].estimate(level)
            detectable = known[number].detectable(level)
            row |= {"low": low, "high": high, "confidence": level, "detectable": detectable}
        if _signs_differ(row, by_key):
            row["detail"] = "the two estimators differ in sign"
        if row["verdict"] in (verdicts.NATIVE_SLOWER, verdicts.NATIVE_FASTER) and not is_missing(
            row["subject_ms"]
        ):
            difference = row["subject_ms"] - row["baseline_ms"]
            side = "more" if difference > 0 else "less"
            # The tables of accepted runs have this format, with an exponent from 1,000 on.
            row["detail"] = f"the native call takes {abs(difference):.3g} ms {side} than the replay"
        if row["quantity"] == schema.MARGIN and (native := _related_ratio(row, schema.NATIVE_CALLS, by_key)):
            program = _related_ratio(row, schema.REPLAY, by_key)
            row["native_verdict"] = by_key[_place(row, schema.NATIVE_CALLS)]["verdict"]
            row["share"] = program.log / native.log if program and native.log else None


def _verdict(row: Row, ratio: LogRatio, level: float, by_key: dict[tuple, Row]) -> str:
    """Return what the interval of a ratio says at a level."""
    quantity = row["quantity"]
    estimate = ratio.estimate(level)
    if quantity == schema.MARGIN:
        native = _related_ratio(row, schema.NATIVE_CALLS, by_key)
        if native is None:
            return NO_DATA
        towards = LogRatio(math.copysign(1.0, native.log) * ratio.log, ratio.error, ratio.freedom)
        return verdicts.side(towards.estimate(level), verdicts.DUE_TO_PROGRAM, verdicts.DUE_TO_REST)
    if quantity == schema.CONTROL:
        return verdicts.control(estimate)
    if quantity == schema.REMOVAL:
        # The ratio is half of a difference over the rest.
        return verdicts.side(estimate, verdicts.REMOVED, verdicts.REMAINS)
    if quantity == schema.SCALING and estimate.low is not None:
        return verdicts.scaling(math.log2(estimate.low), math.log2(estimate.high))
    verdict = direction(estimate)
    return INCONCLUSIVE if verdict in DECIDED and _signs_differ(row, by_key) else verdict


def _signs_differ(row: Row, by_key: dict[tuple, Row]) -> bool:
    """Return whether the undisturbed series of the same processes have their steady ratio on the other side of 1."""
    if row["quantity"] != schema.STEADY:
        return False
    other = _related_ratio(row, schema.UNDISTURBED, by_key)
    return other is not None and other.log * math.log(row["ratio"]) < 0


def _place(row: Row, quantity: str = "") -> tuple[str, ...]:
    """Return what identifies a row, or another quantity of its two sides, among those of all kinds of machine."""
    names = ("workload", "device", "compiler", "subject", "baseline")
    key = key_of({name: row[name] for name in names} | {"quantity": quantity} if quantity else row)
    return (*key, row["machine"])


def _related_ratio(row: Row, quantity: str, by_key: dict[tuple, Row]) -> LogRatio | None:
    """Return another ratio of the same two sides on the same kind of machine."""
    return log_ratio(by_key.get(_place(row, quantity), {}))


def over_kinds(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each comparison: the least favourable kind's, with what holds on every kind of machine.

    The column EACH_KIND has the rows of all kinds.
    """
    by_key: dict[tuple, list[Row]] = {}
    order = {kind: place for place, kind in enumerate(runs.by_speed(set(table["machine"])))}
    for row in table.to_dict("records"):
        by_key.setdefault(key_of(row), []).append(row)
    result = pd.DataFrame(
        [_least(sorted(kinds, key=lambda row: order[row["machine"]])) for kinds in by_key.values()],
        columns=[*table.columns, EACH_KIND],
    )
    return result.astype({name: table[name].dtype for name in table.columns})


def _least(kinds: list[Row]) -> Row:
    """Return the row of the kind that says least, with the verdict over all of them."""
    words = [row["verdict"] for row in kinds]
    verdict = verdicts.over_kinds(words)
    row = min(
        (one for one in kinds if one["verdict"] == verdict), key=_distance, default=min(kinds, key=_distance)
    )
    row = {**row, "verdict": verdict, EACH_KIND: kinds}
    if len(set(words)) > 1:
        counts = {word: words.count(word) for word in words}
        row["detail"] = ", ".join(
            f"{word} on {count} of {len(kinds)} kinds of machine" for word, count in counts.items()
        )
    if row["native_verdict"]:
        row["native_verdict"] = verdicts.over_kinds([one["native_verdict"] for one in kinds])
    if row["agreement"]:
        row["agreement"] = verdicts.agreement(row["published_ratio"], verdict)
    return row


def _distance(row: Row) -> float:
    """Return how far the interval of a ratio, or the ratio, lies from 1 on the logarithmic scale."""
    ends = [row["ratio"] if is_missing(row[name]) else row[name] for name in ("low", "high")]
    if any(map(is_missing, ends)) or min(ends) <= 0:
        return 0.0
    return min(abs(math.log(end)) for end in ends)
