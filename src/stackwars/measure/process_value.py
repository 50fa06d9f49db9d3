"""The one value that a process gives: the median of its steady blocks, gated and not.

A block is clean where its threads waited for a core in at most `contention.GATE` of the time that they
wanted one.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from stackwars.measure.contention import FOREIGN, GATE, wait_share
from stackwars.measure.events import event

MIN_CLEAN = 3
"""Clean blocks without which a process has no gated value: a median of fewer can be any of them."""


@dataclass(frozen=True)
class ProcessValue:
    """What the calls of one process say, in ms a call.

    gated_ms: median of the clean blocks of the steady part, None where there are too few. all_ms: of all
    its blocks. kept: share of them that are clean. kind, warmup: see `steady.Steady`. blocks_ms and clean:
    the steady part, block by block.
    """

    gated_ms: float | None
    all_ms: float
    kept: float
    kind: str
    warmup: int
    blocks_ms: tuple[float, ...]
    clean: tuple[bool, ...]


def plain(ms: float) -> ProcessValue:
    """A value that needs no gate."""
    return ProcessValue(ms, ms, 1.0, "", 0, (ms,), (True,))


def of_rounds(rounds: dict[int, tuple[Sequence[int], dict]]) -> dict[int, ProcessValue]:
    """{round: value} of the processes of one cell, or of one program of a replay.

    rounds: {round: (ns of each call that was timed on its own, the event of the steady blocks)}; of the
    latter "ns", "run_ns", "wait_ns" and "steal_ns", one for each block, "calls" in a block and "foreign_share".
    """
    own = own_wait([blocks for _, blocks in rounds.values()])
    return {r: _value(singles, blocks, own) for r, (singles, blocks) in rounds.items()}


def of_processes(processes: Sequence[dict]) -> dict[int, ProcessValue]:
    """The same of the ok processes of a cell."""
    return of_rounds(
        {
            process["repetition"]: (
                [event(process, name)["ns"] for name in ("first", "second")],
                event(process, "steady"),
            )
            for process in processes
        }
    )


def own_wait(steady: Sequence[dict]) -> float:
    """The share of wait that is a cell's own: of its processes' median blocks the least.

    What all processes of a cell do at every call is its own doing, and the quietest one shows it best.
    """
    return min((statistics.median(wait_shares(blocks)) for blocks in steady), default=0.0)


def wait_shares(blocks: dict) -> list[float]:
    """The share of wait of each block."""
    usage = zip(blocks["run_ns"], blocks["wait_ns"], blocks["steal_ns"], strict=True)
    return [wait_share(*one) for one in usage]


def clean_blocks(blocks: dict, own: float) -> list[bool]:
    """Whether each block is clean, of a cell whose own share of wait is this."""
    quiet = blocks["foreign_share"] <= FOREIGN
    return [quiet and share <= own + GATE for share in wait_shares(blocks)]


def _value(singles_ns: Sequence[int], blocks: dict, own: float) -> ProcessValue:
    per_call = [ns / blocks["calls"] / 1e6 for ns in blocks["ns"]]
    from stackwars.measure import steady

    found = steady.classify([*(ns / 1e6 for ns in singles_ns), *per_call])
    first = max(0, found.start - len(singles_ns))
    kept_ms = per_call[first:] or per_call
    clean = clean_blocks(blocks, own)[-len(kept_ms) :]
    gated = [ms for ms, ok in zip(kept_ms, clean, strict=True) if ok]
    return ProcessValue(
        statistics.median(gated) if len(gated) >= MIN_CLEAN else None,
        statistics.median(kept_ms),
        sum(clean) / len(clean),
        found.kind,
        found.warmup,
        tuple(kept_ms),
        tuple(clean),
    )


def per_round(values: dict[int, ProcessValue]) -> tuple[dict[int, float], bool]:
    """({round: ms}, whether they are gated) of the processes of one cell.

    A contended round (one without a gated value) is left out where at least half of the rounds are
    clean; else the machine was never quiet, and all rounds count, ungated.
    """
    found, gated = aligned(values)
    return {r: ms for r, (ms,) in found.items()}, gated


def aligned(*series: dict[int, ProcessValue]) -> tuple[dict[int, tuple[float, ...]], bool]:
    """({round: ms of each}, whether they are gated): rounds that all have, by the rule of `per_round`."""
    shared = sorted(set.intersection(*(set(one) for one in series)))
    clean = [r for r in shared if all(one[r].gated_ms is not None for one in series)]
    if 2 * len(clean) >= len(shared) and clean:
        return {r: tuple(one[r].gated_ms for one in series) for r in clean}, True
    return {r: tuple(one[r].all_ms for one in series) for r in shared}, False
