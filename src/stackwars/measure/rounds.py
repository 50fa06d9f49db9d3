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
from stackwars.measure.events import event
from stackwars.measure.interleaved import pairs_ms, round_ratio
from stackwars.measure.process_value import MIN_UNCONTENDED, baseline_wait_share, uncontended_blocks

STOPPED = "stopped"
"""Status of a process that was not needed any more."""
DECIDED = "decided"
BUDGET = "budget"
MARGIN = math.log1p(NEGLIGIBLE)


def stop_reason(job: Any, output: Path) -> str | None:
    """Why the process of this job is not needed any more, or None.

    output: its folder <preset>/<device>/<framework>/<workload>/process-<round>, or of a replay
    <preset>/replay/<device>/<compiler>/<workload>/process-<round>; the other processes of the workload lie
    beside it, or in the result that they were put together in. Only rounds before this one are looked at, so
    that all processes of a round find the same.
    """
    settings = job.settings
    if job.repetition < settings["rounds_min"]:
        return None
    root = next(parent for parent in output.parents if parent.parent.name == "results")
    cells = _histories(root.glob(f"{job.device}/*/{job.workload}"), "cell.json", job.repetition)
    replays = _histories(root.glob(f"replay/{job.device}/*/{job.workload}"), "replay.json", job.repetition)
    earlier = [process for history in (*cells.values(), *replays.values()) for process in history]
    for process in earlier:
        if process["status"] == STOPPED:
            return process["status_detail"]
    spent = sum(process["wall_s"] for process in earlier)
    if spent >= settings["round_budget_s"]:
        return BUDGET
    values = {Path(folder).parent.name: _values(history) for folder, history in cells.items()}
    interleaved = {Path(folder).parent.name: _interleaved_logs(h) for folder, h in cells.items()}
    return DECIDED if _all_decided(values, interleaved) else None


def _histories(folders: Any, result: str, before: int) -> dict[Path, list[dict]]:
    """{folder: processes of the rounds before this one} of all cells or replays of a workload."""
    found = {}
    for folder in sorted(folders):
        files = sorted(folder.glob("process-*/process.json"))
        if files:
            processes = [documents.read(file) for file in files]
        elif (folder / result).exists():
            processes = documents.read(folder / result)["processes"]
        else:
            continue
        found[folder] = [p for p in processes if p["repetition"] < before]
    return found


def _values(history: list[dict]) -> dict[int, float]:
    """{round: about what `process_value` will say}: no changepoints, whose library takes a second to load."""
    steady = {p["repetition"]: event(p, "steady") for p in history if p["status"] == "ok"}
    # A result from before the run queue was watched says nothing of it.
    known = {r: blocks for r, blocks in steady.items() if "other_processes_share" in blocks}
    baseline_share = baseline_wait_share(list(known.values()))
    found = {}
    for r, blocks in known.items():
        half = len(blocks["ns"]) // 2
        late, ok = blocks["ns"][half:], uncontended_blocks(blocks, baseline_share)[half:]
        uncontended = [ns for ns, alone in zip(late, ok, strict=True) if alone]
        found[r] = statistics.median(uncontended if len(uncontended) >= MIN_UNCONTENDED else late)
    return found


def _interleaved_logs(history: list[dict]) -> list[float]:
    """The logarithm of the ratio of each process that was interleaved with one of the baseline."""
    interleaved = (pairs_ms(process) for process in history if process["status"] == "ok")
    return [math.log(round_ratio(pairs)) for pairs in interleaved if pairs]


def _all_decided(values: dict[str, dict[int, float]], interleaved: dict[str, list[float]]) -> bool:
    """Whether every ratio is decided; of a framework that is alone, whether its value is known to NEGLIGIBLE.

    The ratios of the rounds, which count where none were interleaved, are to the framework whose name comes
    first.
    """
    known = {name: rounds for name, rounds in values.items() if rounds}
    if not known:
        return False
    base, *others = sorted(known)
    series = [
        [math.log(known[name][r] / known[base][r]) for r in known[name].keys() & known[base].keys()]
        for name in others
    ]
    # Where there were interleaved runs, they decide; without them, the rounds.
    series = list(filter(None, interleaved.values())) or series
    if not series:
        return half_width_99([math.log(ms) for ms in known[base].values()]) <= MARGIN
    return all(map(is_decided, series))


def is_decided(logs: list[float]) -> bool:
    """Whether the 99 % interval of a ratio excludes 1, or lies within NEGLIGIBLE of 1; logs: one a round."""
    half = half_width_99(logs)
    if math.isinf(half):
        return False
    mean = abs(statistics.mean(logs))
    return mean > half or mean + half <= MARGIN


def half_width_99(logs: list[float]) -> float:
    """Half the width of Student's 99 % interval of a mean of logarithms; infinite for one value."""
    from scipy.special import stdtrit  # not scipy.stats, for the time that it takes to load

    if len(logs) < 2:
        return math.inf
    error = statistics.stdev(logs) / math.sqrt(len(logs))
    return float(stdtrit(len(logs) - 1, 0.995)) * error
