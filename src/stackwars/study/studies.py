"""Studies, the parts of the grid that a run measures, and the pairs of frameworks that are compared.

A study has the frameworks whose cells are measured, the programs that its compilers and targets get, and its
workloads. A run measures the studies that the key `measure` names, or else its preset's.
"""

from __future__ import annotations

from dataclasses import dataclass

from stackwars.measure.workloads import sized
from stackwars.study.keys import Config, StudyRow

CELLS, PROGRAMS = "cells", "programs"


@dataclass(frozen=True)
class Study:
    """One study, or the part that this run measures.

    frameworks: of its cells; programs: the frameworks whose programs go to its compilers and targets.
    devices: None for all. workloads: in the order of the grid. has_causes: whether the causes of gaps between its
    programs are searched.
    """

    name: str
    frameworks: tuple[str, ...]
    programs: tuple[str, ...]
    compilers: tuple[str, ...]
    targets: tuple[str, ...]
    devices: tuple[str, ...] | None
    workloads: tuple[str, ...]
    has_causes: bool = False

    def has_cell(self, framework: str, workload: str, device: str) -> bool:
        return (
            framework in self.frameworks
            and workload in self.workloads
            and (self.devices is None or device in self.devices)
        )

    def has_program(self, framework: str, workload: str) -> bool:
        return framework in self.programs and workload in self.workloads


def measured_studies(config: Config) -> list[str]:
    """Return the names of the studies that this run measures; the reference measures none."""
    return [] if config.source == "reference" else _named(config)


def studies(config: Config) -> list[Study]:
    """Return the studies whose results this run has, in the order of the configuration.

    This run has those that it measures; the reference may have results of every study.
    """
    if config.source == "reference":
        return [full_study(config, name) for name in config.studies]
    limits = config.chosen.study_workloads
    return [_study(config, name, limits.get(name)) for name in _named(config)]


def full_study(config: Config, name: str) -> Study:
    """Return a study at its full extent, regardless of the part that this run measures.

    A study that the configuration does not have is empty, as the paper's sections on it are.
    """
    if name not in config.studies:
        return Study(name, (), (), (), (), None, ())
    return _study(config, name)


def workloads_of(config: Config, key: str) -> tuple[str, ...]:
    """Return the workloads that this run has of the study of a key, such as growth or releases."""
    row = getattr(config, key)
    name = row and row.study
    return next((study.workloads for study in studies(config) if study.name == name), ())


def of_tables(config: Config) -> Study:
    """Return the first study, which has the original's tables, at its full extent."""
    return full_study(config, next(iter(config.studies)))


def narrowed(row: StudyRow, frameworks: set[str], programs: set[str]) -> StudyRow:
    """Return a study of the configuration with only these frameworks, and programs of these."""
    wanted = {"frameworks": frameworks, "programs": programs}
    return row.model_copy(
        update={key: [name for name in getattr(row, key) if name in names] for key, names in wanted.items()}
    )


def folder(config: Config) -> str:
    """Return the name of the folder of a run's results: its preset's if it measures the first study.

    Other runs have another folder, so that they replace no result of the paper's run.
    """
    names = _named(config)
    first = next(iter(config.studies))
    return config.preset if first in names else "-".join([config.preset, *names])


def _named(config: Config) -> list[str]:
    """Return the names in `measure`, in the order of the studies."""
    wanted = config.measure or config.chosen.measure
    return [name for name in config.studies if name in wanted]


def _study(config: Config, name: str, limit: list[str] | None = None) -> Study:
    """Return a study of the configuration.

    limit: the only workloads that it may have, unless the run has chosen none of them.
    """
    row = config.studies[name]
    wanted = set([w for w in config.workloads if sized.AT not in w] if row.workloads is None else row.workloads)
    if limit is not None and (not limit or wanted.intersection(limit, config.workloads)):
        wanted &= set(limit)
    return Study(
        name,
        *map(tuple, (row.frameworks, row.programs, row.compilers, row.targets)),
        devices=None if row.devices is None else tuple(row.devices),
        workloads=tuple(w for w in config.workloads if w in wanted),
        has_causes=row.causes,
    )


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


def main_comparison(config: Config) -> Comparison | None:
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
