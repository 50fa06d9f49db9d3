"""Latency of each framework over the baseline's, round by round, and what may be said of it."""

from __future__ import annotations

import pandas as pd

from stackwars.measure import interleaved
from stackwars.measure.comparison import Comparison, bootstrap, compare, holm, verdict
from stackwars.measure.events import event
from stackwars.measure.process_value import ProcessValue, aligned, steady_blocks
from stackwars.results.combined import OF_A_RATIO, RATIO_KEYS, over_runs
from stackwars.results.frame import Results
from stackwars.results.processes import Values
from stackwars.results.runs import Run
from stackwars.results.values import is_missing
from stackwars.study.cells import Cell

STAGES = ("first", "second", "steady")
_OF_A_STAGE = {
    "{}_ratio": "latency of the framework / the baseline's, paired by round: geometric mean",
    "{}_ratio_low": "lower end of its 95 % t interval",
    "{}_ratio_high": "upper end",
    "{}_p": "two-sided p of no difference: paired t test on the logarithms",
    "{}_p_holm": "the same after Holm's correction over the cells of one table, stage, device and framework",
    "{}_verdict": "slower, faster, no difference found, unresolved, not decided or no data",
    "{}_detectable": "smallest difference that could have been found (power 80 %), as a share of 1",
    **OF_A_RATIO,
}
COLUMNS: dict[str, str] = {
    "workload": "name of the workload",
    "device": "where",
    "framework": "whose latency is the numerator",
    "baseline": "whose is the denominator",
    "rounds": "rounds in which both were measured",
    **{key.format(stage): text for stage in STAGES for key, text in _OF_A_STAGE.items()},
    "steady_interleaved": "whether the steady ratio is of interleaved runs, else of own blocks",
    "steady_rounds": "rounds of the steady ratio: those with enough uncontended blocks, if it is gated",
    "steady_gated": "whether the steady ratio is of interleaved runs or of uncontended blocks alone",
    "steady_boot_low": "lower end of the hierarchical bootstrap's 95 % interval of the steady ratio",
    "steady_boot_high": "upper end",
    "contended": "whether one framework kept over 20 percentage points more of its blocks than the other",
}
CONTENDED = 0.20
"""Difference of the kept shares from which a comparison is marked."""


def build(frame: pd.DataFrame, results: Results, values: Values) -> pd.DataFrame:
    """COLUMNS, one row for each valid cell beside a valid one of its baseline, in the frame's order."""
    rows = []
    valid = frame[frame["status"] == "ok"]
    keys = set(zip(valid["framework"], valid["workload"], valid["device"], strict=True))
    for one in valid.itertuples():
        if (one.baseline, one.workload, one.device) in keys:
            names = ("workload", "device", "framework", "baseline")
            sides = (one.framework, one.baseline)
            cells = [results.cells[Cell(side, one.workload, one.device)] for side in sides]
            both = [values[one.workload, side, one.device] for side in sides]
            rows.append({name: getattr(one, name) for name in names} | _row(*cells, both))
    return decided(pd.DataFrame(rows, columns=list(COLUMNS)), frame)


def combined(table: pd.DataFrame, frame: pd.DataFrame, runs: list[Run]) -> pd.DataFrame:
    """The table of one run with its ratios combined over all runs, and decided again."""
    tables = [(run, run.table("ratios.csv")) for run in runs]
    return decided(over_runs(table, tables, RATIO_KEYS, dict.fromkeys(STAGES, True)), frame)


def _row(ours: dict, theirs: dict, values: list[dict[int, ProcessValue]]) -> dict:
    """The columns of one pair of cells but those that need the others'."""
    steady, gated = aligned(*values)
    interleaved_pairs = [pairs for pairs in map(interleaved.pairs_ms, ours["processes"]) if pairs]
    is_interleaved = len(interleaved_pairs) == len(ours["processes"])
    if is_interleaved:
        steady = {number: _of_interleaved(pairs) for number, pairs in enumerate(interleaved_pairs)}
    pairs = {
        "first": _aligned_singles(ours, theirs, "first"),
        "second": _aligned_singles(ours, theirs, "second"),
        "steady": list(steady.values()),
    }
    kept = [sum(v.kept for v in one.values()) / len(one) for one in values]
    row = {
        "rounds": len(pairs["first"]),
        "steady_rounds": len(steady),
        "steady_interleaved": is_interleaved,
        "steady_gated": gated or is_interleaved,
        "contended": abs(kept[0] - kept[1]) > CONTENDED,
        # Until the correction over the table; also what makes it a column of words.
        **{f"{stage}_verdict": "no data" for stage in STAGES},
    }
    for stage, two in pairs.items():
        row |= _columns(stage, compare(*zip(*two, strict=True))) if two else {}
    if steady:
        sides = zip((ours, theirs), values, strict=True)
        blocks = [
            steady_blocks(c["processes"], v, steady, gated) for c, v in sides if not is_interleaved
        ]
        blocks = blocks or [
            [_ratios(pairs) for pairs in interleaved_pairs],
            [[1.0]] * len(interleaved_pairs),
        ]
        ends = bootstrap(*blocks, seed=0) or (None, None)
        row["steady_boot_low"], row["steady_boot_high"] = ends
    return row


def _columns(stage: str, found: Comparison) -> dict:
    return {
        f"{stage}_ratio": found.ratio,
        f"{stage}_ratio_low": found.low,
        f"{stage}_ratio_high": found.high,
        f"{stage}_p": found.p,
        f"{stage}_detectable": found.detectable,
        f"{stage}_error": found.error,
        f"{stage}_freedom": None if found.error is None else found.rounds - 1.0,
        f"{stage}_runs": 1,
        f"{stage}_machines": 1,
    }


def decided(table: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """The table with Holm's p and the verdicts, which follow from its ratios, intervals and p.

    A family is one table of the paper, stage, device and framework.
    """
    made = table.astype({f"{stage}_verdict": object for stage in STAGES})
    tables = dict(zip(frame["workload"], frame["table"], strict=True))
    for stage in STAGES:
        families = [made["workload"].map(tables), made["device"], made["framework"]]
        for _, family in made.groupby(families, sort=False):
            for index, p in zip(family.index, holm(list(family[f"{stage}_p"])), strict=True):
                made.loc[index, f"{stage}_p_holm"] = p
                made.loc[index, f"{stage}_verdict"] = verdict(
                    _comparison(made.loc[index], stage), p
                )
    return made


def _comparison(row: pd.Series, stage: str) -> Comparison | None:
    if is_missing(row[f"{stage}_ratio"]):
        return None
    names = ("ratio", "ratio_low", "ratio_high", "p", "detectable", "error")
    return Comparison(row["rounds"], *(row[f"{stage}_{name}"] for name in names))


def _aligned_singles(ours: dict, theirs: dict, stage: str) -> list[tuple[int, int]]:
    def of(result: dict) -> dict[int, int]:
        return {p["repetition"]: event(p, stage)["ns"] for p in result["processes"]}

    one, other = of(ours), of(theirs)
    return [(one[r], other[r]) for r in sorted(one.keys() & other.keys())]


def _of_interleaved(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    """(ratio, 1): a round's ratio is the median over its pairs of slices."""
    return interleaved.round_ratio(pairs), 1.0


def _ratios(pairs: list[tuple[float, float]]) -> list[float]:
    return [ours / theirs for ours, theirs in pairs]
