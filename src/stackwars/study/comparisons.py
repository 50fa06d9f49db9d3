"""Pairs of frameworks that are compared: the key `comparisons` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass

from stackwars.study.keys import Config

CELLS, PROGRAMS = "cells", "programs"


@dataclass(frozen=True)
class Comparison:
    """A subject and its baseline; a ratio is always the subject's number over the baseline's."""

    subject: str
    baseline: str

    @property
    def sides(self) -> tuple[str, str]:
        """Return both, the baseline first."""
        return self.baseline, self.subject


def comparisons(config: Config, of: str) -> list[Comparison]:
    """Return the comparisons of CELLS or PROGRAMS."""
    return [Comparison(row.subject, row.baseline) for row in config.comparisons if of in row.compare]


def main(config: Config) -> Comparison | None:
    """Return the first comparison of cells: the subject of the paper."""
    return next(iter(comparisons(config, CELLS)), None)


def baseline(config: Config, framework: str) -> str | None:
    """Return the framework with which this one's cells are compared; None if there is none."""
    pairs = comparisons(config, CELLS)
    return next((pair.baseline for pair in pairs if pair.subject == framework), None)


def with_programs(config: Config) -> list[str]:
    """Return the frameworks whose programs go to compilers other than their own, the baseline first."""
    pairs = comparisons(config, PROGRAMS)
    return list(dict.fromkeys([p.baseline for p in pairs] + [p.subject for p in pairs]))
