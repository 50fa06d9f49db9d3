"""What is known of each release of a compiler, and which of them changed a program's time or outcome."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from stackwars.measure.log_ratio import SLOWER, Estimate, LogRatio, direction

NOT_RUN, UNSUPPORTED, OK = "not run", "unsupported", "ok"
FASTER = "faster"
FIXED = "fixed"
"""The change from an outcome that is not right to a right one."""


@dataclass
class Release:
    """A release of a compiler.

    numbers: what its processes said. times: milliseconds of a call by (group, round); the releases of a group were
    measured in the same rounds.
    """

    version: str
    status: str = NOT_RUN
    status_detail: str = ""
    numbers: dict[str, Any] = field(default_factory=dict)
    times: dict[tuple[int, int], float] = field(default_factory=dict)

    @property
    def is_ok(self) -> bool:
        return self.status == OK


@dataclass(frozen=True)
class Change:
    """A release that differs from the one before it among those that were measured.

    kind: slower, faster, fixed, or the status that it has now. ratio: its time over that of the older one, if both are
    right. between: releases of the list that lie between the two.
    """

    newer: str
    older: str
    kind: str
    detail: str
    ratio: Estimate | None
    between: int

    @property
    def sentence(self) -> str:
        """The change in words."""
        where = (
            f"{self.newer}" if not self.between else f"one of {self.between + 1} releases up to {self.newer}"
        )
        if self.ratio is None:
            return (
                f"{where}: {self.kind} (in {self.older} it is not){': ' + self.detail if self.detail else ''}"
            )
        interval = "" if self.ratio.low is None else f" (95 %: {self.ratio.low:.2f} to {self.ratio.high:.2f})"
        return f"{where} takes {self.ratio.value:.2f} times as long as {self.older}{interval}: {self.kind}"


def ratio(one: Release, other: Release) -> Estimate | None:
    """Return the ratio of the times of two releases; None unless they were measured in the same rounds."""
    shared = sorted(one.times.keys() & other.times.keys())
    if not shared:
        return None
    return LogRatio.of_rounds([one.times[key] / other.times[key] for key in shared]).estimate()


def chained(releases: Sequence[Release], wanted: int) -> Estimate | None:
    """Return the ratio of a release's time to that of the first, through neighbours that share rounds.

    Rounds of the first and the release are taken if they share some. None if there is no such chain.
    """
    if direct := ratio(releases[wanted], releases[0]):
        return direct
    total = None
    for newer, older in pairwise(releases[: wanted + 1]):
        shared = sorted(newer.times.keys() & older.times.keys())
        if not shared:
            return None
        step = LogRatio.of_rounds([older.times[key] / newer.times[key] for key in shared])
        total = step if total is None else total.plus(step)
    return total and total.estimate()


def changes(releases: Sequence[Release], listed: Sequence[str], bound: float) -> list[Change]:
    """Return the changes from each measured release to the next newer one, newest first.

    releases: newest first. bound: how much the ratio of two times must differ from 1, beside that its interval
    excludes 1.
    """
    known = [one for one in releases if one.status not in (NOT_RUN, UNSUPPORTED)]
    return [found for newer, older in pairwise(known) if (found := change(newer, older, listed, bound))]


def change(newer: Release, older: Release, listed: Sequence[str], bound: float) -> Change | None:
    """Return how a release differs from an older one; None if it does not."""
    between = listed.index(older.version) - listed.index(newer.version) - 1
    names = (newer.version, older.version)
    if newer.status != older.status:
        kind, detail = (FIXED, older.status_detail) if newer.is_ok else (newer.status, newer.status_detail)
        return Change(*names, kind, detail, None, between)
    estimate = ratio(newer, older)
    if not newer.is_ok or estimate is None or abs(math.log(estimate.value)) <= math.log1p(bound):
        return None
    kind = direction(estimate)
    return Change(*names, kind, "", estimate, between) if kind in (SLOWER, FASTER) else None
