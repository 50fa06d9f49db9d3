"""The pairs whose rounds audits measure, each on a workload of the study.

same    a framework against itself, on all cores and on one: the ratio is 1.
mixed   two frameworks on all cores. Their ratio is unknown, but two trials with different rounds must agree.
"""

from __future__ import annotations

from dataclasses import dataclass

from stackwars.setup.device import CPU, CPUS
from stackwars.study import cells
from stackwars.study.keys import Config

SAME, MIXED = KINDS = ("same", "mixed")
MIXED_TRIALS = 2
"""Trials of each mixed pair: those whose ratios must agree."""


@dataclass(frozen=True)
class Pair:
    """A pair: subject and baseline are frameworks. trials: how many."""

    kind: str
    device: str
    subject: str
    baseline: str
    workload: str
    trials: int

    @property
    def name(self) -> str:
        sides = self.subject if self.subject == self.baseline else f"{self.subject}-over-{self.baseline}"
        return f"{sides}-{self.workload}"


def all_pairs(config: Config) -> list[Pair]:
    """Return the pairs that the configuration selects and its frameworks, workloads and devices allow."""
    chosen = config.audits
    trials = {name: count for name, count in chosen.trials.items() if name in config.frameworks}
    limits = {**config.device_workloads, **config.chosen.device_workloads}
    workloads = {
        device: [
            name
            for name in chosen.workloads
            if name in config.workloads
            and name in limits.get(device, [name])
            and cells.rounds(config, name, device)
        ]
        for device in CPUS
        if device in config.devices
    }
    result = [
        Pair(SAME, device, name, name, workload, count)
        for device, of_device in workloads.items()
        for name, count in trials.items()
        if device in cells.environments(config, name)
        for workload in of_device
    ]
    main = config.comparisons[0]
    if {main.subject, main.baseline} <= trials.keys():
        result += [
            Pair(MIXED, CPU, main.subject, main.baseline, name, MIXED_TRIALS) for name in workloads.get(CPU, [])
        ]
    return result
