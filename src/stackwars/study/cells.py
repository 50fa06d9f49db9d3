"""Cells: their definition, the cells that the configuration selects, and the paths of their files."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackwars.measure import checks, frameworks, workloads
from stackwars.measure.workloads import sized
from stackwars.setup.device import CPUS
from stackwars.study import imports
from stackwars.study.keys import Config, PresetRow, Settings
from stackwars.study.studies import baseline, main_comparison, studies

MEASURING = (
    *("seed", "matmul_precision", "memory_cap_gib", "timeout_s", "side_by_side"),
    *("steady_min_blocks", "steady_max_blocks", "steady_seconds", "loop_pairs"),
)
"""The settings that every timed process depends on."""


@dataclass(frozen=True, order=True)
class Cell:
    framework: str
    workload: str
    device: str

    @property
    def path(self) -> Path:
        """The cell's folder, relative to the folder of the preset's results."""
        return Path(self.device, self.framework, self.workload)


def asked(config: Config) -> list[Cell]:
    """Return every cell that the configuration selects, in the order of the grid.

    Ordered by device, then workload, then framework, so that the frameworks of one workload are
    measured one after the other. A framework without an environment for a device has no cell on it.
    """
    selected = studies(config)
    limits = {**config.device_workloads, **config.chosen.device_workloads}
    return [
        Cell(framework, workload, device)
        for device in config.devices
        for workload in config.workloads
        if workload in limits.get(device, [workload])
        for framework, row in config.frameworks.items()
        if device in environments(config, framework)
        and (row.workloads is None or workload in row.workloads)
        and any(study.has_cell(framework, workload, device) for study in selected)
    ]


def measured(config: Config) -> list[Cell]:
    """Return the cells of `asked` that the run measures; those without rounds are left out."""
    return [cell for cell in asked(config) if rounds(config, cell.framework, cell.workload, cell.device)]


def sizes(config: Config, workload: str) -> dict[str, int]:
    return preset_sizes(config.chosen.sizes, workload)


def preset_sizes(listed: dict[str, dict[str, int]], workload: str) -> dict[str, int] | None:
    """Return the sizes of a workload; None for a label without sizes (see `sized`). listed: a preset's."""
    name, _, label = workload.partition(sized.AT)
    if not label:
        return listed[name]
    if workload in listed:
        return {**listed[name], **listed[workload]}
    return sized.resized(listed[name], label)


def settings(config: Config) -> Settings:
    """Return the settings of a measurement: the common ones, overridden by those of the chosen preset."""
    return settings_of(config, config.chosen)


def settings_of(config: Config, preset: PresetRow) -> Settings:
    return config.settings.model_copy(update=preset.settings.document())


def parity_limit(config: Config, workload: str) -> float:
    """Return the relative L2 error up to which outputs of the workload agree, in the chosen preset."""
    return checks.parity_limit(workload, sizes(config, workload), settings(config).parity_rel_l2)


def measuring(config: Config, workload: str) -> dict[str, Any]:
    """Return the settings that a process of the workload depends on; if one changes, its cells are measured again."""
    chosen = settings(config).document()
    return {key: chosen[key] for key in MEASURING if key in chosen} | {
        "block_calls": block_calls(config, workload)
    }


def block_calls(config: Config, workload: str) -> int:
    """Return the calls in a block of the workload's steady state, the same for every framework."""
    return config.chosen.block_calls.get(sized.base(workload), 1)


def environments(config: Config, framework: str) -> dict[str, str]:
    """Return a framework's environment for each device; empty if it gives programs alone."""
    return config.frameworks[framework].environments or {}


def pins(config: Config, framework: str, device: str) -> str:
    return f"envs/{environments(config, framework)[device]}.txt"


def rounds(config: Config, *names: str) -> int:
    """Return the fewest rounds that the preset gives to any of these workloads, frameworks, devices and compilers."""
    limits = (config.chosen.rounds.get(sized.base(name)) for name in names)
    return min([settings(config).rounds, *(count for count in limits if count is not None)])


def partner(config: Config, cell: Cell, among: Container[Cell]) -> Cell | None:
    """Return the cell of the baseline, whose process takes turns with this one's; None for a baseline.

    among: the cells to choose from.
    """
    other_name = baseline(config, cell.framework)
    other = other_name and Cell(other_name, cell.workload, cell.device)
    return other if other in among else None


def measured_with(config: Config, cell: Cell, among: Container[Cell]) -> Cell | None:
    """Return the cell in whose rounds a baseline's is measured; None for a cell that measures itself.

    It is the subject of the first comparison, on the CPU alone: a TPU is not shared by two processes.
    among: the cells to choose from.
    """
    main = main_comparison(config)
    if main is None or cell.framework != main.baseline or cell.device not in CPUS:
        return None
    other = Cell(main.subject, cell.workload, cell.device)
    return other if other in among else None


def sources(config: Config, cell: Cell) -> list[str]:
    """Return the files of the cell's workload in its dialect and of its framework, relative to the repository.

    Editing one of them measures the cell again, and no cell that does not use it.
    """
    dialect = frameworks.load(cell.framework).DIALECT
    return imports.measured_sources(
        *workloads.sources(cell.workload, dialect), f"stackwars.measure.frameworks.{cell.framework}"
    )
