"""When a workload on a device has been measured often enough.

A round is one fresh process of every framework, and of every replay, of one workload on one device. Rounds
end once every ratio is decided, whichever way, or the time is spent. They are looked at with a 99 % interval,
and judged at the end with one of 95 %: in simulation, 3 to 6 rounds of equal times that are looked at in this
way differ significantly in at most 7.2 % of cases, and with 95 % looks it would be 12 %. Holm's correction
comes on top.
"""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

from stackwars.measure import NEGLIGIBLE, documents
from stackwars.measure.documents import event
from stackwars.measure.interleaved import pairs_ms, round_ratio
from stackwars.measure.log_ratio import LogRatio
from stackwars.measure.process_value import MIN_UNCONTENDED, baseline_wait_share, uncontended_blocks

STOPPED = "stopped"
"""Status of a process that was not needed any more."""
DECIDED = "decided"
BUDGET = "budget"
MARGIN = math.log1p(NEGLIGIBLE)
LOOK = 0.99


def stop_reason(job: Any, output: Path) -> str | None:
    """Return why the process of this job is not needed any more, or None.

    job: its `peers` are what the configuration measures of the workload on the device, itself included:
    {"baselines": {framework: its baseline, None for one without}, "compilers": [those that replay]}. What
    else lies in the folder of results is of another configuration.
    output: its folder <preset>/<device>/<framework>/<workload>/process-<round>, or of a replay
    <preset>/replay/<device>/<compiler>/<workload>/process-<round>; the other processes of the workload lie
    beside it, or in the result that they were put together in. Only rounds before this one are looked at, so
    that all processes of a round find the same.
    """
    settings = job.settings
    if job.repetition < settings["rounds_min"]:
        return None
    root = next(parent for parent in output.parents if parent.parent.name == "results")
    baselines, compilers = job.peers["baselines"], job.peers["compilers"]
    cells = {
        framework: _history(root / job.device / framework / job.workload, "cell.json", job.repetition)
        for framework in baselines
    }
    replays = [
        _history(root / "replay" / job.device / compiler / job.workload, "replay.json", job.repetition)
        for compiler in compilers
    ]
    earlier = [process for history in (*cells.values(), *replays) for process in history]
    for process in earlier:
        if process["status"] == STOPPED:
            return process["status_detail"]
    spent = sum(process["wall_s"] for process in earlier)
    if spent >= settings["round_budget_s"]:
        return BUDGET
    values = {framework: _values(history) for framework, history in cells.items()}
    interleaved = [_interleaved_ratios(history) for history in cells.values()]
    return DECIDED if _all_decided(values, interleaved, baselines) else None


def _history(folder: Path, result: str, before: int) -> list[dict]:
    """The processes of the rounds before this one of a cell or a replay; [] if it has none."""
    files = sorted(folder.glob("process-*/process.json"))
    if files:
        processes = [documents.read(file) for file in files]
    elif (folder / result).exists():
        processes = documents.read(folder / result)["processes"]
    else:
        processes = []
    return [p for p in processes if p["repetition"] < before]


def _values(history: list[dict]) -> dict[int, float]:
    """{round: about what `process_value` will say}: no changepoints, whose library takes a second to load."""
    steady = {p["repetition"]: event(p, "steady") for p in history if p["status"] == "ok"}
    # A result from before the run queue was watched says nothing of it.
    known = {r: blocks for r, blocks in steady.items() if "other_processes_share" in blocks}
    baseline_share = baseline_wait_share(list(known.values()))
    result = {}
    for r, blocks in known.items():
        half = len(blocks["ns"]) // 2
        late, ok = blocks["ns"][half:], uncontended_blocks(blocks, baseline_share)[half:]
        uncontended = [ns for ns, alone in zip(late, ok, strict=True) if alone]
        result[r] = statistics.median(uncontended if len(uncontended) >= MIN_UNCONTENDED else late)
    return result


def _interleaved_ratios(history: list[dict]) -> list[float]:
    """The ratio of each process that was interleaved with one of the baseline."""
    interleaved = (pairs_ms(process) for process in history if process["status"] == "ok")
    return [round_ratio(pairs) for pairs in interleaved if pairs]


def _all_decided(
    values: dict[str, dict[int, float]], interleaved: list[list[float]], baselines: dict[str, str | None]
) -> bool:
    """Whether every ratio is decided; without a ratio, whether every value is known to NEGLIGIBLE."""
    known = {name: rounds for name, rounds in values.items() if rounds}
    if not known:
        return False
    pairs = [(known[name], known[baselines[name]]) for name in known if baselines[name] in known]
    # If there were interleaved runs, they decide; without them, the rounds.
    series = list(filter(None, interleaved)) or [
        [value[r] / base[r] for r in value.keys() & base.keys()] for value, base in pairs
    ]
    if not series:
        return all(is_known(list(rounds.values())) for rounds in known.values())
    return all(map(is_decided, series))


def is_decided(ratios: list[float]) -> bool:
    """Whether the 99 % interval of a ratio excludes 1, or lies within NEGLIGIBLE of 1; ratios: one a round."""
    if not ratios:
        return False
    result = LogRatio.of_rounds(ratios)
    half = result.half_width(LOOK)
    return half is not None and (abs(result.log) > half or abs(result.log) + half <= MARGIN)


def is_known(values: list[float]) -> bool:
    """Whether the 99 % interval of a value lies within NEGLIGIBLE of it; values: one a round."""
    half = LogRatio.of_rounds(values).half_width(LOOK)
    return half is not None and half <= MARGIN
