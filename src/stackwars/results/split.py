"""What of the ratio between two frameworks is their StableHLO, and what their runtime: split.csv.

native ratio (native call over native call) = IR effect (replay over replay, in one client) x runtime effect
(what each framework takes over the replay of its own program, one over the other). All of it is decided on
logarithms, on which the two terms add up.
"""

from __future__ import annotations

import math

import pandas as pd

from stackwars.measure.comparison import direction, is_within
from stackwars.measure.log_ratio import LogRatio
from stackwars.measure.process_value import aligned
from stackwars.measure.statistics import Estimate
from stackwars.results import processes, replays, runs
from stackwars.results.combined import (
    OF_A_RATIO,
    RATIO_KEYS,
    SPLIT_KEYS,
    log_ratio,
    of_one_run,
    over_runs,
)
from stackwars.results.folder import Folder
from stackwars.results.replays import ReplayResult
from stackwars.results.values import is_missing
from stackwars.study.comparisons import PROGRAMS, Comparison, comparisons
from stackwars.study.programs import native_compiler

TERMS: dict[str, str] = {
    "native": "steady state of the subject / the baseline's: the steady ratio of ratios.csv",
    "ir": "replay of the subject's program / of the baseline's, from interleaved blocks",
    "runtime": "native ratio / IR ratio, the two being independent; only in the native generation",
    "lead": "of the IR effect over the runtime effect, in the direction of the native ratio: above 1 where the "
    "program does more of it; only in the native generation",
    "control": "native baseline / replay of its own program; only in the native generation",
}
_OF_A_TERM = {
    "{}_ratio": "",
    "{}_ratio_low": "lower end of its 95 % interval",
    "{}_ratio_high": "upper end",
    **OF_A_RATIO,
}
COLUMNS: dict[str, str] = {
    "workload": "name of the workload",
    "title": "its name in the tables",
    "kind": "basic operation or model",
    "framework": "whose program is the numerator: the subject",
    "baseline": "whose program is the denominator",
    "compiler": "generation of XLA that replayed",
    "device": "where",
    "rounds": "rounds in which both programs were replayed",
    **{key.format(term): text or TERMS[term] for term in TERMS for key, text in _OF_A_TERM.items()},
    "native_verdict": "slower, faster, no difference found, unresolved, not decided or no data",
    "ir_verdict": "the same of the IR effect",
    "runtime_verdict": "the same of the runtime effect",
    "source_verdict": "the program, the runtime, not separated or no data: which does more of the native ratio",
    "control_verdict": "holds (the whole interval is within CONTROL of 1), off, unresolved or no data",
}
CONTROL = 0.10
"""A baseline replayed is the baseline where their ratio is within this share of 1."""
_VERDICTS = [f"{name}_verdict" for name in ("native", "ir", "runtime", "source", "control")]


def build(config: dict, found: list[ReplayResult], steady: pd.DataFrame) -> pd.DataFrame:
    """COLUMNS, one row for each replay and comparison of programs; steady: ratios.csv of the same run."""
    native = native_compiler(config)
    known = steady.set_index(RATIO_KEYS)
    rows = [
        {
            **replays.identity(replay),
            "framework": pair.subject,
            "baseline": pair.baseline,
            **_row(replay, pair, known, replay.result["compiler"] == native),
        }
        for replay in found
        for pair in comparisons(config, PROGRAMS)
        if replay.result["programs"].keys() >= set(pair.sides)
    ]
    return decided(pd.DataFrame(rows, columns=list(COLUMNS)))


def combined(table: pd.DataFrame, accepted: list[runs.Run], steady: pd.DataFrame) -> pd.DataFrame:
    """The table of one run with its terms combined over all runs, and decided again.

    steady: their combined ratios.csv, of which the native ratios are the steady ones.
    """
    whole = {
        tuple(row[key] for key in RATIO_KEYS): row["steady_ratio"]
        for row in steady.to_dict("records")
    }
    tables = [(run, _towards(run.table("split.csv"), whole)) for run in accepted]
    made = over_runs(table, tables, SPLIT_KEYS, dict.fromkeys(TERMS, False))
    known = steady.set_index(RATIO_KEYS)
    columns = [key.format("native") for key in _OF_A_TERM]
    for index, row in made.iterrows():
        key = tuple(row[RATIO_KEYS])
        if key in known.index and not is_missing(row["native_ratio"]):
            same = [column.replace("native", "steady", 1) for column in columns]
            made.loc[index, columns] = known.loc[key, same].to_numpy()
    return decided(made)


def _towards(table: pd.DataFrame, whole: dict[tuple, float]) -> pd.DataFrame:
    """A run's table with every lead in the direction of the native ratio of all runs, not of its own."""
    made = table.copy()
    for index, row in made.iterrows():
        ratio = whole.get(tuple(row[RATIO_KEYS]))
        known = not any(map(is_missing, (ratio, row["native_ratio"], row["lead_ratio"])))
        if known and (ratio > 1) != (row["native_ratio"] > 1):
            made.loc[index, "lead_ratio"] = 1 / row["lead_ratio"]
    return made


def _row(replay: ReplayResult, pair: Comparison, steady: pd.DataFrame, is_native: bool) -> dict:
    row: dict = {"rounds": 0}
    shared, _ = aligned(*replay.paired(pair.subject, pair.baseline))
    key = (replay.result["workload"], replay.result["device"], pair.subject, pair.baseline)
    native = log_ratio(steady.loc[key], "steady") if key in steady.index else None
    if is_native:
        control, _ = aligned(replay.natively(pair.baseline), replay.replayed(pair.baseline))
        row |= of_one_run("control", _of_rounds(control))
    ir = _of_rounds(shared)
    row |= {"rounds": len(shared)} | of_one_run("ir", ir)
    for name, ratio in terms(native, ir if is_native else None).items():
        row |= of_one_run(name, ratio)
    return row


def terms(native: LogRatio | None, ir: LogRatio | None) -> dict[str, LogRatio]:
    """The native ratio and, given the IR effect, the runtime effect and the lead of the former over it.

    On logarithms, with n = i + r: the lead is i - r = 2 i - n in the direction of n.
    """
    found = {"native": native} if native else {}
    if native and ir:
        towards = math.copysign(1.0, native.log)
        found["runtime"] = native.plus(ir, others=-1.0)
        found["lead"] = ir.plus(native, own=2 * towards, others=-towards)
    return found


def _of_rounds(pairs: dict[int, tuple[float, ...]]) -> LogRatio | None:
    return LogRatio.of_rounds([one / base for one, base in pairs.values()]) if pairs else None


def decided(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its verdicts, which follow from its ratios and intervals."""
    made = table.copy()
    made[_VERDICTS] = made[_VERDICTS].astype(object)
    for index, row in made.iterrows():
        for name in ("native", "ir", "runtime"):
            made.loc[index, f"{name}_verdict"] = verdict(_term(row, name))
        made.loc[index, "source_verdict"] = source_verdict(_term(row, "lead"))
        made.loc[index, "control_verdict"] = control_verdict(_term(row, "control"))
    return made


def _term(row: pd.Series, name: str) -> Estimate | None:
    found = log_ratio(row, name)
    return found.estimate() if found else None


def verdict(term: Estimate | None) -> str:
    """What a term says by its interval."""
    return "no data" if term is None else direction(term)


def source_verdict(lead: Estimate | None) -> str:
    """Which term does more of the native ratio, where the interval of their difference says so."""
    if lead is None or lead.low is None:
        return "no data"
    if lead.low > 1:
        return "the program"
    return "the runtime" if lead.high < 1 else "not separated"


def control_verdict(ratio: Estimate | None) -> str:
    """Whether the baseline replayed is the baseline: where the interval of native / replay lies."""
    if ratio is None or ratio.low is None:
        return "no data"
    if is_within(ratio.low, ratio.high, CONTROL):
        return "holds"
    return "off" if ratio.high < 1 or ratio.low > 1 else "unresolved"


def write(config: dict, folder: Folder) -> None:
    """replayed.csv, replay.csv and split.csv, from the replays, processes.csv and ratios.csv; headers alone
    if there are none. Of the reference, ratios are over all its runs."""
    folder.results.mkdir(parents=True, exist_ok=True)
    replayed = processes.build_replayed(replays.results(config, folder.measured))
    replayed.to_csv(folder["replayed"], index=False)
    found = list(replays.read(config, folder))
    edited = replays.build(found, config["results"])
    steady = pd.read_csv(folder["ratios"])
    table = build(config, found, steady)
    if config["results"] == "reference":
        accepted = runs.read(folder.measured)
        edited, table = replays.combined(edited, accepted), combined(table, accepted, steady)
    edited.to_csv(folder["replay"], index=False)
    table.to_csv(folder["split"], index=False)
