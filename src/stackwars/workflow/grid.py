"""What a configuration asks for, and where the files of its run are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from snakemake.exceptions import WorkflowError

from stackwars.measure import FORMS
from stackwars.results.folder import TABLES, Folder
from stackwars.setup.device import CPU, CPUS
from stackwars.study import cells, growth, printed, programs, sharding, studies
from stackwars.study.cells import Cell
from stackwars.study.programs import Program
from stackwars.workflow import job_files, targets

Wildcards = Any
"""What a rule's path names, as attributes: device, framework, workload, repetition, variant, ..."""


class Grid:
    """One run's cells, programs and files.

    root: where rules write what they measure. measured: where the measurements are that everything else is
    made from; no rule writes to results/reference. out: where that goes.
    """

    def __init__(self, config: dict, devices: Callable[[], str]) -> None:
        """config: validated. devices: gives the file of the devices that this machine has, once it is made."""
        self._devices = devices
        self.config = config
        self.is_measured = config["results"] == "measured"
        self.root = f"results/{studies.folder(config)}"
        self.measured = self.root if self.is_measured else "results/reference"
        self.out = self.measured if self.is_measured else "results/from-reference"
        self.settings = cells.settings(config)
        self.config_file = job_files.file("config", config)
        self.step = self.arguments(self.config_file, self.out, self.measured)
        """The arguments of every step that makes results."""
        self.asked = cells.asked(config)
        if not self.is_measured:
            # What was added since the reference run is "not run" in a paper that is made from it.
            self.asked = [c for c in self.asked if self._there(c.path / "cell.json")]
        self.on_cpu = [cell for cell in self.asked if cell.device in CPUS]
        """The cells that every machine can run."""

    def check(self, wildcards: Wildcards) -> None:
        """Refuse, as a WorkflowError, a path that names what the configuration does not have."""
        try:
            targets.check(self.config, wildcards)
        except targets.UnknownTarget as error:
            raise WorkflowError(str(error)) from None

    def found(self) -> list[Cell]:
        """Cells of the devices that this machine has; the CPU's are known without asking."""
        others = [cell for cell in self.asked if cell.device not in CPUS]
        if not self.is_measured or not others:
            return self.on_cpu
        answers = json.loads(Path(self._devices()).read_text())
        return self.on_cpu + [c for c in others if answers[c.device][c.framework]["present"]]

    def compared(self, cells_: Iterable[Cell]) -> list[str]:
        """The files that say of the workloads and devices of some cells that all of each is measured."""
        if not self.is_measured:
            return []
        return sorted({f"{self.root}/measured/{c.device}/{c.workload}" for c in cells_})

    def asked_on(self, device: str) -> list[Cell]:
        """The cells that are asked for on one device."""
        return [cell for cell in self.asked if cell.device == device]

    def files(self, cells_: Iterable[Cell], name: str) -> list[str]:
        """The files of this name of some cells."""
        return [f"{self.measured}/{cell.path}/{name}" for cell in cells_]

    def found_files(self, name: str) -> Callable[[Wildcards], list[str]]:
        """The files of this name of the found cells, as an input of a rule."""
        return lambda wildcards: self.files(self.found(), name)

    def peaks(self, cells_: Iterable[Cell]) -> list[str]:
        """The peaks of the machine on the devices of some cells."""
        return sorted({f"{self.measured}/{cell.device}/peak.json" for cell in cells_})

    def made(self, *names: str) -> list[str]:
        """Files of the folder of results, by their names there."""
        return [str(Folder(self.out, self.measured)[name]) for name in names]

    @staticmethod
    def arguments(config_file: str, results: str, measured: str) -> str:
        """The arguments of a step, see `stackwars.results.folder`."""
        return f"--config {config_file} --results {results} --measured {measured}"

    def kept(self, paths: Iterable[Path | str]) -> list[str]:
        """These files; of the reference run, those that it has."""
        return [f"{self.measured}/{p}" for p in paths if self.is_measured or self._there(p)]

    def compiled(self, name: str) -> list[str]:
        """The files of this name of all compilations for targets."""
        return self.kept(c.path / name for c in programs.compilations(self.config))

    def largest_batches(self) -> list[str]:
        """The searches for the largest batch."""
        return self.kept(c.largest_batch_path for c in programs.largest_batches(self.config))

    def replays(self) -> list[str]:
        """The results of all replays."""
        return self.kept(replay.path / "replay.json" for replay in programs.replays(self.config))

    def grown(self) -> list[str]:
        """The folders of the processes of growing sizes."""
        return self.kept(point.path for point in growth.asked(self.config))

    def sharded(self) -> list[str]:
        """The folders of the processes of several devices."""
        return self.kept(point.path for point in sharding.asked(self.config))

    def slices(self) -> list[str]:
        """The compilations for slices."""
        return self.kept(c.path / "ahead.json" for c in sharding.slices(self.config))

    def dated(self) -> list[str]:
        """What tells the date and the machine of a run without cells."""
        return (
            [] if self.on_cpu else [*self.compiled("ahead.json"), *self.sharded(), *self.slices()]
        )

    def profiles(self) -> list[str]:
        """Where the time of the replayed programs goes."""
        return self.kept(replay.path / "profile.json" for replay in programs.replays(self.config))

    def existing(self, programs_: Iterable[Program]) -> list[Program]:
        """These programs; of the reference run, those that it has."""
        return [p for p in programs_ if self.is_measured or self._there(p.path / "program.mlir.gz")]

    def texts(self, programs_: Iterable[Program]) -> list[str]:
        """The files of some programs."""
        return [f"{self.measured}/{program.path}/program.mlir.gz" for program in programs_]

    def base_programs(self) -> list[Program]:
        """Every framework's program of every compiled workload, at the preset's sizes."""
        return self.existing(programs.base_programs(self.config))

    def base_compilations(self) -> list[str]:
        """Their compilations by the first compiler of each target."""
        return self.kept(c.path / "ahead.json" for c in programs.base_compilations(self.config))

    def listed(self) -> dict[str, list[Cell]]:
        """The cells whose programs are listed side by side, by workload."""
        rows = printed.listed(self.config).items()
        return {workload: row for workload, row in rows if set(row) <= set(self.asked)}

    def listed_elsewhere(self) -> list[str]:
        """The accepted runs' programs that are listed where this run has none of their workload."""
        rows = printed.listed_elsewhere(self.config, Path("results/reference/runs")).values()
        return [str(path) for row in rows for path in row.values()]

    def emitted(self) -> list[str]:
        """The programs that the report shows side by side."""
        rows = printed.emitted(self.config, Path(self.measured), Path("results/reference/runs"))
        return [str(path) for row in rows.values() for paths in row.values() for path in paths]

    def located(self) -> list[str]:
        """What tells the source of each line of the programs that the compilers are given."""
        return self.kept(p.path / "arguments.json" for p in programs.base_programs(self.config))

    def optimised(self) -> list[str]:
        """What the native compiler makes of the programs that are listed, where the cells are the CPU's."""
        rows = self.listed().values() if programs.native_compiler(self.config) else ()
        here = [cell for row in rows for cell in row if cell.device == CPU]
        elsewhere = [Path(path).with_name(printed.OPTIMISED) for path in self.listed_elsewhere()]
        return self.kept(cell.path / printed.OPTIMISED for cell in here) + [
            str(path) for path in elsewhere if path.exists()
        ]

    def forms(self) -> list[str]:
        """The folders of what the compilers make of the programs that the configuration names."""
        rows = printed.with_forms(self.config).values()
        return self.kept(cell.path / FORMS for row in rows for cell in row)

    def drawn(self) -> list[Program]:
        """The programs that are drawn as graphs."""
        return self.existing(printed.drawn(self.config))

    def reference(self) -> list[str]:
        """The tables of the committed runs: compared with this run's, or what its own are combined from."""
        tables = sorted(p for p in Path("results/reference/runs").glob("*/*") if p.is_file())
        if self.is_measured:
            folder = Folder("results/reference")
            tables += [folder[name] for name in (*TABLES, "context") if folder[name].exists()]
        return [str(path) for path in tables]

    def graphed(self) -> list[Program]:
        """The programs whose graphs the report has."""
        return self.existing(printed.graphed(self.config))

    def _there(self, path: Path | str) -> bool:
        return Path(self.measured, path).exists()
