"""The value of a process: the median of its loops, and the share of its undisturbed series that was uncontended.

A block is uncontended if its threads waited for a core in at most `contention.GATE` more of the time in which they
wanted one than the cell's threads always do.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stackwars.core.contention import GATE, MAX_OTHER_PROCESSES_SHARE, wait_share
from stackwars.core.documents import event
from stackwars.measure import loops


@dataclass(frozen=True)
class ProcessValue:
    """Numbers from the calls of one process.

    kept: share of the steady blocks of the undisturbed series that are uncontended. kind, warmup: see
    `steady.Steady`. All three are None without a series: later rounds have none. loops_ms: median of its loops, in ms a
    call; None without loops.
    """

    kept: float | None
    kind: str | None
    warmup: int | None
    loops_ms: float | None


def of_rounds(
    rounds: dict[int, tuple[Sequence[int], dict]], loops_by_round: Mapping[int, Sequence[dict]]
) -> dict[int, ProcessValue]:
    """Return {round: value} of the processes of one cell, or of one program of a replay.

    rounds: {round: (ns of each call that was timed on its own, the event of the steady blocks, {} without)}; the event
    has "ns", "run_ns", "wait_ns" and "steal_ns", one for each block, "calls" in a block and "other_processes_share".
    loops_by_round: the events of the loops.
    """
    baseline_share = baseline_wait_share([blocks for _, blocks in rounds.values() if blocks])
    return {
        r: _value(singles, blocks, loops_by_round.get(r, ()), baseline_share)
        for r, (singles, blocks) in rounds.items()
    }


def of_processes(processes: Sequence[dict]) -> dict[int, ProcessValue]:
    """Return {round: value} of the ok processes of a cell."""
    return of_rounds(
        {
            process["repetition"]: (
                [event(process, name)["ns"] for name in ("first", "second")],
                event(process, "steady"),
            )
            for process in processes
        },
        {process["repetition"]: loops.loops_of(process) for process in processes},
    )


def baseline_wait_share(steady: Sequence[dict]) -> float:
    """Return a cell's wait share without contention: the minimum over its processes of the median block's.

    Some wait is caused by the process itself, at every call, and the least contended process shows it best.
    """
    return min((statistics.median(wait_shares(blocks)) for blocks in steady), default=0.0)


def wait_shares(blocks: dict) -> list[float]:
    """Return the wait share of each block."""
    usage = zip(blocks["run_ns"], blocks["wait_ns"], blocks["steal_ns"], strict=True)
    return [wait_share(*one) for one in usage]


def uncontended_blocks(blocks: dict, baseline_share: float) -> list[bool]:
    """Return which blocks are uncontended, in a cell with this baseline wait share."""
    quiet = blocks["other_processes_share"] <= MAX_OTHER_PROCESSES_SHARE
    return [quiet and share <= baseline_share + GATE for share in wait_shares(blocks)]


def _value(
    singles_ns: Sequence[int], blocks: dict, events: Sequence[dict], baseline_share: float
) -> ProcessValue:
    loops_ms = loops.side_ms(events) if events else None
    if not blocks:
        return ProcessValue(None, None, None, loops_ms)
    from stackwars.measure import steady

    per_call = [ns / blocks["calls"] / 1e6 for ns in blocks["ns"]]
    later = [ns / one["calls"] / 1e6 for one in events for ns in loops.counted(one)]
    result = steady.classify([*(ns / 1e6 for ns in singles_ns), *per_call, *later])
    uncontended = uncontended_blocks(blocks, baseline_share)
    uncontended = uncontended[max(0, result.start - len(singles_ns)) :] or uncontended
    return ProcessValue(statistics.fmean(uncontended), result.kind, result.warmup, loops_ms)
