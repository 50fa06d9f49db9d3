"""Odd sizes, at which kernels break: programs are called at them, untimed, and their values judged.

The configuration's key odd_sizes has a list of sizes for each workload. Its variants are their places in the
list: odd1, odd2, and so on.
"""

from __future__ import annotations

from stackwars.study.comparisons import with_programs
from stackwars.study.keys import Config
from stackwars.study.studies import workloads_of

BASE = "base"
"""The variant of the preset's sizes."""
ODD = "odd"
"""The beginning of the names of the others."""


def variants(config: Config, workload: str) -> list[str]:
    """Return the workload's variants, in the order of their list."""
    return [f"{ODD}{place}" for place, _ in enumerate(_rows(config, workload), 1)]


def sizes(config: Config, workload: str, variant: str) -> dict[str, int]:
    """Return the sizes of a variant, which no preset changes. Raises ValueError for one that has none."""
    known = variants(config, workload)
    if variant not in known:
        raise ValueError(
            f"variant of {workload}: expected one of {', '.join(known) or 'none'}, got {variant}; "
            "fix: add its sizes to odd_sizes.workloads in config/config.yaml"
        )
    return dict(_rows(config, workload)[known.index(variant)])


def programs(config: Config) -> list[str]:
    """Return the frameworks whose programs are called, of those that the configuration has."""
    known = with_programs(config)
    return [name for name in config.odd_sizes.programs if name in known] if config.odd_sizes else []


def checks(config: Config) -> list[tuple[str, str, str]]:
    """Return (compiler, workload, variant) of every check of the study of the key odd_sizes, in the order of the grid.

    Beside the odd sizes these are the preset's, of workloads whose programs go to the compiler. The others take
    long there, and at odd sizes they are small.
    """
    asked = config.odd_sizes
    return [
        (compiler, workload, variant)
        for workload in (_measured(config) if asked else ())
        for variant in (BASE, *variants(config, workload))
        for compiler in asked.compilers
        if is_checked(config, compiler, workload, variant)
    ]


def is_checked(config: Config, compiler: str, workload: str, variant: str) -> bool:
    if workload not in _measured(config) or compiler not in config.odd_sizes.compilers:
        return False
    if variant != BASE:
        return variant in variants(config, workload)
    return workload not in [*config.chosen.exclude_programs, *config.compilers[compiler].exclude_workloads]


def _measured(config: Config) -> tuple[str, ...]:
    """Return the workloads that this run measures of the study, if it has programs of any framework."""
    return workloads_of(config, "odd_sizes") if programs(config) else ()


def _rows(config: Config, workload: str) -> list[dict[str, int]]:
    return config.odd_sizes.workloads.get(workload, []) if config.odd_sizes else []
