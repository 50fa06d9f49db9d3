"""The pairs whose rounds audits measure on all cores, each on a workload of the study.

same    a framework against itself: the ratio is 1.
mixed   two frameworks. Their ratio is unknown, but two trials of it, of different rounds, must agree.
"""

from __future__ import annotations

from dataclasses import dataclass

from stackwars.study.keys import Config

SAME, MIXED = KINDS = ("same", "mixed")
MIXED_TRIALS = 2
"""Trials of each mixed pair: those whose ratios must agree."""


@dataclass(frozen=True)
class Pair:
    """A pair: subject and baseline are frameworks. trials: how many."""

    kind: str
    subject: str
    baseline: str
    workload: str
    trials: int

    @property
    def name(self) -> str:
        """Return its name, which is that of its file."""
        sides = self.subject if self.subject == self.baseline else f"{self.subject}-over-{self.baseline}"
        return f"{sides}-{self.workload}"


def all_pairs(config: Config) -> list[Pair]:
    """Return the pairs that the configuration asks for, of its frameworks and workloads alone."""
    chosen = config.audits
    trials = {name: count for name, count in chosen.trials.items() if name in config.frameworks}
    workloads = [name for name in chosen.workloads if name in config.workloads]
    result = [
        Pair(SAME, name, name, workload, count) for name, count in trials.items() for workload in workloads
    ]
    main = config.comparisons[0]
    if {main.subject, main.baseline} <= trials.keys():
        result += [Pair(MIXED, main.subject, main.baseline, name, MIXED_TRIALS) for name in workloads]
    return result
