"""The pairs whose rounds audits measure on all cores, in each of which the truth is known.

same    a framework against itself, on workloads of the study: the ratio is 1.
more    a framework on a stack of layers against itself on one with fewer: the ratio is that of the layers.
mixed   two frameworks. Their ratio is unknown, but two trials of it, of different rounds, must agree; and if one of
        the two trials gives the first framework 5 % more layers, the ratio of the two ratios is that of the layers.
brief   a framework of the run that has no trials, against itself, in BRIEF_ROUNDS rounds: for the estimator alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stackwars.audits.depth_scaling import NAME as DEPTH_SCALING

SAME, MORE, MIXED, BRIEF = KINDS = ("same", "more", "mixed", "brief")
LAYERS = {5: (42, 40), 3: (34, 33)}
"""{percent more work: the layers of both sides}; a whole layer is 3.03 % of 33."""
STACK = {"rows": 128, "width": 256}
MIXED_TRIALS = 2
"""Trials of each mixed pair: those whose ratios must agree."""
BRIEF_ROUNDS = 2


@dataclass(frozen=True)
class Pair:
    """A pair: subject and baseline are frameworks. percent: more work of the subject. trials: how many."""

    kind: str
    subject: str
    baseline: str
    workload: str
    percent: int
    trials: int

    @property
    def name(self) -> str:
        """Return its name, which is that of its file."""
        workload = "layers" if self.workload == DEPTH_SCALING else self.workload
        sides = self.subject if self.subject == self.baseline else f"{self.subject}-over-{self.baseline}"
        return f"{sides}-{workload}" + (f"-{self.percent}" if self.percent else "")

    @property
    def layers(self) -> tuple[int, int]:
        """Return the layers of both sides of a stack."""
        more, fewer = LAYERS[self.percent or max(LAYERS)]
        return (more, fewer) if self.percent else (fewer, fewer)


def known_ratio(percent: int) -> float:
    """Return the ratio of the layers of both sides."""
    more, fewer = LAYERS[percent]
    return more / fewer


def all_pairs(config: dict, ran: Iterable[tuple[str, str]]) -> list[Pair]:
    """Return the pairs that the configuration asks for, of its frameworks and workloads alone.

    ran: the framework and the workload of each cell of the run.
    """
    chosen = config["audits"]
    trials = {name: count for name, count in chosen["trials"].items() if name in config["frameworks"]}
    workloads = [name for name in chosen["workloads"] if name in config["workloads"]]
    result = [
        Pair(SAME, name, name, workload, 0, count) for name, count in trials.items() for workload in workloads
    ]
    result += [
        Pair(MORE, name, name, DEPTH_SCALING, percent, max(1, count // 2))
        for name, count in trials.items()
        for percent in LAYERS
    ]
    result += [
        Pair(BRIEF, framework, framework, workload, 0, 1)
        for framework, workload in ran
        if framework not in trials and workload in workloads
    ]
    main = config["comparisons"][0]
    subject, baseline = main["subject"], main["baseline"]
    if {subject, baseline} <= trials.keys():
        result += [
            Pair(MIXED, subject, baseline, name, 0, MIXED_TRIALS) for name in [*workloads, DEPTH_SCALING]
        ]
        result.append(Pair(MIXED, subject, baseline, DEPTH_SCALING, max(LAYERS), MIXED_TRIALS))
    return result
