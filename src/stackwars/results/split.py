"""What of the difference between two frameworks is their StableHLO, and what their runtime: split.csv.

difference (native against native) = IR effect (replay against replay, in one client) + runtime effect
(what each framework takes beyond the replay of its own program, one against the other).
"""

from __future__ import annotations

import pandas as pd

from stackwars.measure.process_value import aligned
from stackwars.measure.statistics import Estimate, paired_difference, paired_ratio
from stackwars.results import processes, replays
from stackwars.results.folder import Folder, command
from stackwars.results.replays import ReplayResult, columns
from stackwars.study.comparisons import PROGRAMS, Comparison, comparisons
from stackwars.study.programs import native_compiler

COLUMNS: dict[str, str] = {
    "workload": "name of the workload",
    "title": "its name in the tables",
    "kind": "basic operation or model",
    "framework": "whose program is the numerator: the subject",
    "baseline": "whose program is the denominator",
    "compiler": "generation of XLA that replayed",
    "device": "where",
    "rounds": "rounds in which all four were measured",
    "gated": "whether the native terms are of interleaved runs or of uncontended blocks; replays alternate",
    "native_difference_ms": "steady state of the other framework - the baseline's: mean over rounds",
    "native_difference_low_ms": "lower end of its 95 % t interval",
    "native_difference_high_ms": "upper end",
    "ir_effect_ms": "replay of the other's program - of the baseline's, from interleaved blocks",
    "ir_effect_low_ms": "lower end of its interval",
    "ir_effect_high_ms": "upper end",
    "runtime_effect_ms": "native difference - IR effect; only in the generation that is native",
    "runtime_effect_low_ms": "lower end of its interval",
    "runtime_effect_high_ms": "upper end",
    "ir_ratio": "replay of the other's program / replay of the baseline's: geometric mean",
    "ir_ratio_low": "lower end of its interval",
    "ir_ratio_high": "upper end",
    "native_ratio": "steady state of the other framework / the baseline's",
    "native_ratio_low": "lower end of its interval",
    "native_ratio_high": "upper end",
    "ir_verdict": "slower or faster than the baseline, none (the interval contains 0), no data",
    "runtime_verdict": "the same of the runtime effect",
    "control_ratio": "native baseline / replay of its own program; only in the native generation",
    "control_low": "lower end of its interval",
    "control_high": "upper end",
    "control_verdict": "holds (the interval contains 1), off, or no data",
}


def build(config: dict, found: list[ReplayResult]) -> pd.DataFrame:
    """COLUMNS, one row for each replay and comparison of programs."""
    native = native_compiler(config)
    rows = [
        {
            **replays.identity(replay),
            "framework": pair.subject,
            "baseline": pair.baseline,
            **_row(replay, pair, native),
        }
        for replay in found
        for pair in comparisons(config, PROGRAMS)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(replay: ReplayResult, pair: Comparison, native: str | None) -> dict:
    other, baseline = pair.subject, pair.baseline
    row = {"ir_verdict": "no data", "runtime_verdict": "no data", "control_verdict": "no data"}
    ours, theirs = replay.paired(other, baseline)
    ours_native, theirs_native = replay.natively(other), replay.natively(baseline)
    is_native = replay.result["compiler"] == native
    controlled, _ = aligned(theirs_native, replay.replayed(baseline))
    if controlled and is_native:
        pair = list(zip(*controlled.values(), strict=True))
        row |= replays.control(*pair)
        row["control_verdict"] = control_verdict(paired_ratio(*pair))
    # What took turns is compared best; the control has no turns.
    ours_native, theirs_native = replay.interleaved(other) or (ours_native, theirs_native)
    # All terms from the same rounds, or they would not add up.
    shared, row["gated"] = aligned(ours, theirs, ours_native, theirs_native)
    row["rounds"] = len(shared)
    if not shared:
        return row
    series = list(zip(*shared.values(), strict=True))
    ir, natives = series[:2], series[2:]
    effect = paired_difference(*ir)
    row |= columns("native_difference{}_ms", paired_difference(*natives))
    row |= columns("ir_effect{}_ms", effect)
    row |= columns("ir_ratio{}", paired_ratio(*ir))
    row |= columns("native_ratio{}", paired_ratio(*natives))
    row["ir_verdict"] = verdict(effect)
    if is_native:
        differences = [[a - b for a, b in zip(*pair, strict=True)] for pair in (natives, ir)]
        runtime = paired_difference(*differences)
        row |= columns("runtime_effect{}_ms", runtime)
        row["runtime_verdict"] = verdict(runtime)
    return row


def verdict(effect: Estimate) -> str:
    """What a difference says: slower, faster, none where its interval spans zero, or no data."""
    if effect.low is None:
        return "no data"
    if effect.low > 0:
        return "slower"
    return "faster" if effect.high < 0 else "none"


def control_verdict(ratio: Estimate) -> str:
    """Whether the baseline replayed is the baseline: its interval of native / replay has 1 in it."""
    if ratio.low is None:
        return "no data"
    return "holds" if ratio.low <= 1 <= ratio.high else "off"


def write(config: dict, folder: Folder) -> None:
    """replayed.csv, replay.csv and split.csv, from the replays and processes.csv; headers alone if there
    are none."""
    folder.results.mkdir(parents=True, exist_ok=True)
    replayed = processes.build_replayed(replays.results(config, folder.measured))
    replayed.to_csv(folder["replayed"], index=False)
    found = list(replays.read(config, folder))
    replays.build(found, config["results"]).to_csv(folder["replay"], index=False)
    build(config, found).to_csv(folder["split"], index=False)


if __name__ == "__main__":
    command(write)
