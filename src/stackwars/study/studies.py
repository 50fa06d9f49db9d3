"""What a run measures: the core of every study of the configuration, or some studies whole.

A study is a part of the grid: the frameworks whose cells are measured, the programs that are given to its
compilers and targets, and its workloads. A study without a core is part of every run as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Study:
    """One study, as far as this run measures it.

    frameworks: of its cells; programs: the frameworks whose programs go to its compilers and targets.
    devices: None for all. workloads: in the order of the grid.
    """

    name: str
    frameworks: tuple[str, ...]
    programs: tuple[str, ...]
    compilers: tuple[str, ...]
    targets: tuple[str, ...]
    devices: tuple[str, ...] | None
    workloads: tuple[str, ...]

    def has_cell(self, framework: str, workload: str, device: str) -> bool:
        """Whether the cell is part of it."""
        return (
            framework in self.frameworks
            and workload in self.workloads
            and (self.devices is None or device in self.devices)
        )

    def has_program(self, framework: str, workload: str) -> bool:
        """Whether the framework's program of the workload is part of it."""
        return framework in self.programs and workload in self.workloads

    def is_replayed(self, framework: str, workload: str, compiler: str) -> bool:
        """Whether it replays that program with the compiler."""
        return self.has_program(framework, workload) and compiler in self.compilers

    def is_compiled(self, framework: str, workload: str, target: str) -> bool:
        """Whether it compiles that program for the target."""
        return self.has_program(framework, workload) and target in self.targets


def studies(config: dict) -> list[Study]:
    """The studies of this run."""
    return list(_of_run(config))


def whole(config: dict, name: str) -> Study:
    """A study at its full extent, whatever this run measures of it."""
    return _study(config, name, config["studies"][name].get("workloads", config["workloads"]))


def described(config: dict) -> dict[str, dict]:
    """{name of a study: its frameworks, programs, compilers and workloads at full extent}, for context.json."""
    keys = ("frameworks", "programs", "compilers", "workloads")
    found = {name: whole(config, name) for name in config["studies"]}
    return {name: {key: getattr(study, key) for key in keys} for name, study in found.items()}


def of_tables(config: dict) -> Study:
    """The first study, that of the original's tables, at its full extent."""
    return whole(config, next(iter(config["studies"])))


def narrowed(row: dict, frameworks: set[str], programs: set[str]) -> dict:
    """A study of the configuration with only these frameworks, and programs of these."""
    wanted = {"frameworks": frameworks, "programs": programs}
    return row | {
        key: [name for name in row.get(key, []) if name in names] for key, names in wanted.items()
    }


def folder(config: dict) -> str:
    """The name of the folder of a run's results: a run of whole studies is a run of its own."""
    return "-".join([config["preset"], *config["whole"]])


def _of_run(config: dict) -> Iterator[Study]:
    cores = config["presets"][config["preset"]].get("core", {})
    for name, row in config["studies"].items():
        if name in (config["whole"] or [name]):
            workloads = row.get("workloads", config["workloads"])
            if not config["whole"] and config["results"] == "measured":
                workloads = cores.get(name, row.get("core", workloads))
            yield _study(config, name, workloads)


def _study(config: dict, name: str, workloads: list[str]) -> Study:
    row, wanted = config["studies"][name], set(workloads)
    return Study(
        name,
        *(tuple(row.get(key, [])) for key in ("frameworks", "programs", "compilers", "targets")),
        devices=tuple(row["devices"]) if "devices" in row else None,
        workloads=tuple(w for w in config["workloads"] if w in wanted),
    )
