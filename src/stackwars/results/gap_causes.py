"""What the gap between two replayed programs consists of, and which edit closes it: gap_causes.csv.

Where: the class of operations that carries most of the gap, by the profiles. Why: the edit of a program that
takes most of the gap away. A gap that no edit closes stands as unexplained, whatever the profile says.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import pandas as pd

from stackwars.compilers.op_classes import CLASSES
from stackwars.measure.log_ratio import LogRatio
from stackwars.results import compiler_verdicts as words
from stackwars.results.combined import log_ratio
from stackwars.results.folder import Folder
from stackwars.results.values import is_missing, is_true
from stackwars.results.verdicts import NO_DATA
from stackwars.results.whole_study import Source, sources

COLUMNS: dict[str, str] = {
    "workload": "name of the workload",
    "title": "its name in the tables",
    "compiler": "what compiled and ran both programs",
    "device": "where they ran",
    "subject": "whose program is the numerator of the ratio",
    "baseline": "whose program is the denominator",
    "ratio": "the IR effect of split.csv: replay of the subject's program / of the baseline's",
    "verdict": "its verdict there: a gap that is no direction may be chance",
    "class": "class of operations; empty, in a single row, where a program was not profiled",
    "difference_ms": "what the class takes in the subject's profiled call less in the baseline's",
    "share": "of the whole difference of the two profiled calls; below 0 where the class narrows the gap; "
    "empty where they do not show it",
    "gap_ms": "that whole difference",
    "adds_up": "whether both profiles add up to the timed call, see op_times.csv",
    "where": "the class that carries most; empty where the profiled calls differ by less than GAP, or in "
    "the other direction",
    "why": "the edit (or edits) that closes most of the gap; empty where it is unexplained",
    "tried": "the edited program that closes the largest share of those replayed",
    "closed": "the share that it closes, on logarithms",
    "run": "the accepted run whose profile says where; empty for this run's, which has its own replays",
}
GAP = 1.1
"""Programs that differ by more than this factor, either way, have a gap."""
_KEYS = ("workload", "compiler", "device")


class _Edit(NamedTuple):
    """An edited program, what it does to the gap, and the share of it that it closes."""

    name: str
    effect: str
    share: float


def build(split: pd.DataFrame, replay: pd.DataFrame, op_times: pd.DataFrame) -> pd.DataFrame:
    """COLUMNS, a row for each gap and class; the tables are split.csv, replay.csv and op_times.csv."""
    rows = []
    for _, pair in split.iterrows():
        ratio = pair["ir_ratio"]
        if is_missing(ratio) or abs(math.log(ratio)) <= math.log(GAP):
            continue
        head = {key: pair[key] for key in (*_KEYS, "title")}
        head |= {"subject": pair["framework"], "baseline": pair["baseline"]}
        head |= {"ratio": ratio, "verdict": pair["ir_verdict"], **_why(pair, replay)}
        rows += [head | row for row in _classes(pair, op_times)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _classes(pair: pd.Series, op_times: pd.DataFrame) -> list[dict]:
    """A row for each class, the same `where` in all."""
    here = _of(op_times, pair)
    sides = [here[here["framework"] == pair[side]] for side in ("framework", "baseline")]
    if any(side.empty for side in sides):
        return [{"class": "", "where": "", "adds_up": False}]
    subject, base = (side.set_index("class")["ms"] for side in sides)
    differences = {name: subject[name] - base[name] for name in CLASSES}
    gap = sum(differences.values())
    # Of calls that hardly differ, or differ the other way, no class carries the gap.
    shown = math.log(sum(subject) / sum(base)) * _sign(pair["ir_ratio"]) > math.log(GAP)
    where = max(differences, key=lambda name: differences[name] / gap) if shown else ""
    whole = {
        "gap_ms": gap,
        "adds_up": all(is_true(side["adds_up"].iloc[0]) for side in sides),
        "where": where,
        "run": here["run"].iloc[0],
    }
    return [
        {"class": name, "difference_ms": ms, "share": ms / gap if shown else None, **whole}
        for name, ms in differences.items()
    ]


def _sign(ratio: float) -> float:
    return math.copysign(1.0, math.log(ratio))


def _why(pair: pd.Series, replay: pd.DataFrame) -> dict:
    """The columns about edits: the one with the fewest edits that closes most, and the best of all."""
    edits = _edits(pair, replay)
    closing = [edit.name for edit in edits if edit.effect == words.CLOSES_MOST]
    best = max(edits, key=lambda edit: edit.share, default=None)
    return {
        "why": min(closing, key=lambda name: name.count("+"), default=""),
        "tried": best.name if best else "",
        "closed": best.share if best else None,
    }


def _edits(pair: pd.Series, replay: pd.DataFrame) -> list[_Edit]:
    """The edited programs of both sides whose effect is known."""
    found = []
    for _, row in _of(replay, pair).iterrows():
        own, _, edit = row["framework"].partition("+")
        if edit and own in (pair["framework"], pair["baseline"]):
            effect, share = effect_of_edit(row, pair)
            if share is not None:
                found.append(_Edit(row["framework"], effect, share))
    return found


def effect_of_edit(row: pd.Series, pair: pd.Series) -> tuple[str, float | None]:
    """What an edit does to the difference of two programs, and the share of it that it closes.

    row: of replay.csv, the edited program; pair: of split.csv, both programs, one of which was edited. share =
    log(edited/own) / log(other/own), of interleaved blocks. (no data, None) where a ratio is not known.
    """
    edited, effect = log_ratio(row, "edited"), log_ratio(pair, "ir")
    if edited is None or effect is None:
        return NO_DATA, None
    towards = 1.0 if row["framework"].partition("+")[0] == pair["baseline"] else -1.0
    other = LogRatio(towards * effect.log, effect.error, effect.freedom)
    return words.edit_effect(edited, other), words.share_closed(edited, other)


def _of(table: pd.DataFrame, pair: pd.Series) -> pd.DataFrame:
    """The rows of the pair's workload, compiler and device."""
    same = [table[key] == pair[key] for key in _KEYS]
    return table[same[0] & same[1] & same[2]]


def with_edits(replay: pd.DataFrame, accepted: list[Source]) -> pd.DataFrame:
    """replay.csv with the edited programs that it lacks, each of the newest accepted run that replayed it."""
    keys = ["workload", "framework", "compiler", "device"]
    for source in accepted:
        table = source.table("replay.csv")
        if table is not None:
            edited = table[table["framework"].str.contains("+", regex=False)]
            there = pd.MultiIndex.from_frame(replay[keys])
            known = pd.MultiIndex.from_frame(edited[keys]).isin(there)
            replay = pd.concat([replay, edited[~known]], ignore_index=True)
    return replay


def write(config: dict, folder: Folder) -> None:
    """gap_causes.csv from split.csv, replay.csv and op_times.csv; of the reference, whose ratios are of all
    runs, with the edits of all.
    """
    split, replay, op_times = (
        pd.read_csv(folder[name]) for name in ("split", "replay", "op_times")
    )
    if config["results"] == "reference":
        replay = with_edits(replay, sources(folder)[1:])
    made = build(split, replay, op_times)
    made.to_csv(folder["gap_causes"], index=False)
