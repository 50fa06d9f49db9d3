"""The cells, programs and replays that a configuration selects, and the files of its run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from snakemake.exceptions import WorkflowError

from stackwars.core import documents
from stackwars.measure import FORMS
from stackwars.setup.device import CPU, CPUS
from stackwars.study import cells, growth, printed, programs, releases, searches, sharding, studies
from stackwars.study.cells import Cell
from stackwars.study.config import load
from stackwars.study.keys import Config
from stackwars.study.programs import Program, ReplayCell
from stackwars.study.results import runs
from stackwars.study.results.folder import Folder
from stackwars.study.workflow import job_files

REFERENCE = "results/reference"
"""The committed results; no rule writes there."""
REFERENCE_RUNS = f"{REFERENCE}/runs"
REFERENCE_TABLES = "results/from-reference"
"""The tables of all accepted runs together."""
Wildcards = Any
"""Names in a rule's path, as attributes: device, framework, workload, variant, ..."""


class Grid:
    """The cells, programs and files of one run.

    root: where rules write what they measure. measured: the folder of the measurements that the paper shows.
    out: the folder of the tables, figures and pages that are made from them.
    """

    def __init__(self, config: Config, devices: Callable[[], str]) -> None:
        """config: validated. devices: returns the file of the devices that this machine has."""
        self._devices = devices
        self.config = config
        self.is_measured = config.source == "measured"
        self.root = f"results/{studies.folder(config)}"
        self.measured = self.root if self.is_measured else REFERENCE
        self.out = self.root if self.is_measured else REFERENCE_TABLES
        self.settings = cells.settings(config)
        self._known = {
            what: getattr(config, f"{what}s")
            for what in ("device", "framework", "workload", "target", "compiler")
        }
        self.config_file = job_files.planned("config", config.step_document())
        self.step_args = self.arguments(self.config_file, self.out, self.measured)
        """The arguments of every step that derives something from the run."""
        reference_config = job_files.planned("config", load(source="reference").step_document())
        self.reference_args = self.arguments(reference_config, REFERENCE_TABLES, REFERENCE)
        """Arguments of a step that makes tables of the reference: they follow the configuration as its file has it,
        because what a run overrides does not change the reference."""
        self.selected_cells = cells.measured(config)
        if not self.is_measured:
            self.selected_cells = [c for c in self.selected_cells if self._exists(c.path / "cell.json")]
        self.selected = frozenset(self.selected_cells)
        self.partner: Callable[[Cell], Cell | None] = cache(partial(cells.partner, config, among=self.selected))
        """Returns the cell of the baseline whose processes take turns with those of a cell."""
        self._replays = frozenset(programs.measured_replays(config))
        self.cpu_cells = [cell for cell in self.selected_cells if cell.device in CPUS]
        """The cells that every machine can run."""

    def check(self, wildcards: Wildcards) -> None:
        """Refuse a path that names something that the configuration does not have.

        wildcards: has the names as attributes. A framework must have an environment for the device, if the path names
        one.

        :raises WorkflowError: naming it.
        """
        for what, known in self._known.items():
            got = getattr(wildcards, what, None)
            if got is not None and got not in known:
                raise _unknown(what, known, got)
        framework, device = (getattr(wildcards, what, None) for what in ("framework", "device"))
        if framework and device:
            devices = cells.environments(self.config, framework)
            if device not in devices:
                raise _unknown(f"device of {framework}", devices, device)

    # Cells and replays that are measured in the rounds of another cell

    def measured_with(self, cell: Cell) -> Cell | None:
        """Return the cell in whose rounds this one is measured; None if it measures itself."""
        return cells.measured_with(self.config, cell, self.selected)

    def is_measured_with(self, cell: Cell) -> bool:
        partner = self.partner(cell)
        return partner is not None and self.measured_with(partner) == cell

    def replay_in(self, cell: Cell) -> ReplayCell | None:
        """Return the replay that is measured in the rounds of a cell: the native compiler's."""
        replay = ReplayCell(cell.device, programs.native_compiler(self.config), cell.workload)
        return replay if replay in self._replays and self.is_measured_with(cell) else None

    def cell_of(self, replay: ReplayCell) -> Cell | None:
        """Return the cell in whose rounds a replay is measured; None if it measures its rounds itself."""
        candidates = (Cell(name, replay.workload, replay.device) for name in self._known["framework"])
        return next(
            (cell for cell in candidates if cell in self.selected and self.replay_in(cell) == replay), None
        )

    # Arguments and results of the steps

    @staticmethod
    def arguments(config_file: str, results: str, measured: str) -> str:
        """Return the arguments of a step, see `stackwars.study.results.folder`."""
        return f"--config {config_file} --results {results} --measured {measured}"

    def args_of(self, results: str) -> str:
        """Return the arguments of a step for a folder of tables: this run's or the reference's."""
        return self.reference_args if results == REFERENCE_TABLES else self.step_args

    def result_paths(self, *names: str) -> list[str]:
        """Return files of the folder of results, by their names in `stackwars.study.results.folder`."""
        return [str(Folder(self.out)[name]) for name in names]

    def reference_paths(self, *names: str) -> list[str]:
        return [str(Folder(REFERENCE_TABLES)[name]) for name in names]

    def both(self, *names: str) -> list[str]:
        return list(dict.fromkeys([*self.result_paths(*names), *self.reference_paths(*names)]))

    @staticmethod
    def accepted() -> list[str]:
        """Return the tables of the accepted runs, from which those of the reference are made."""
        folders = sorted(path for path in Path(REFERENCE_RUNS).glob("*") if path.is_dir())
        return [str(path) for folder in folders for path in runs.files(folder)]

    # Cells

    def device_pins(self, wildcards: Wildcards) -> list[str]:
        names = [
            name
            for name in self._known["framework"]
            if wildcards.device in cells.environments(self.config, name)
        ]
        return sorted({cells.pins(self.config, name, wildcards.device) for name in names})

    def available_cells(self) -> list[Cell]:
        """Return the cells of the devices that this machine has; the CPU's are known without asking."""
        others = [cell for cell in self.selected_cells if cell.device not in CPUS]
        if not self.is_measured or not others:
            return self.cpu_cells
        answers = documents.read(self._devices())
        return self.cpu_cells + [c for c in others if answers[c.device][c.framework]["present"]]

    def files(self, cells_: Iterable[Cell], name: str) -> list[str]:
        return [f"{self.measured}/{cell.path}/{name}" for cell in cells_]

    def available_files(self, *names: str) -> Callable[[Wildcards], list[str]]:
        """Return an input function: the files of these names of the available cells."""
        return lambda wildcards: [path for name in names for path in self.files(self.available_cells(), name)]

    def peaks(self, cells_: Iterable[Cell]) -> list[str]:
        return sorted({f"{self.measured}/{cell.device}/peak.json" for cell in cells_})

    # Results of compilers, and processes that belong to no cell

    def existing_or_expected(self, paths: Iterable[Path | str]) -> list[str]:
        """Return these files of the measurements; of the reference, the existing ones."""
        return [f"{self.measured}/{p}" for p in paths if self.is_measured or self._exists(p)]

    def replays(self, *names: str) -> list[str]:
        """Return the files of these names of all replays: replay.json, profile.json."""
        result = programs.measured_replays(self.config)
        return self.existing_or_expected(replay.path / name for name in names for replay in result)

    def other_results(self) -> list[str]:
        """Return the results that belong to no cell and no replay."""
        config = self.config
        ahead = [*programs.compilations(config), *sharding.slices(config)]
        points = [one for kind in (growth, sharding, releases, searches) for one in kind.asked(config)]
        return self.existing_or_expected(
            [
                *(programs.causes_path(one.compiler, one.workload) for one in programs.searched(config)),
                *(programs.check_path(*names) for names in programs.checks(config)),
                *(point.path for point in points),
                *(compilation.path / "ahead.json" for compilation in ahead),
                *(compilation.largest_batch_path for compilation in programs.largest_batches(config)),
            ]
        )

    # Programs

    def program_files(self, programs_: Iterable[Program]) -> list[str]:
        return [f"{self.measured}/{program.path}/program.mlir.gz" for program in programs_]

    def base_programs(self) -> list[Program]:
        """Return every framework's program of every compiled workload; of the reference, the existing ones."""
        base = programs.base_programs(self.config)
        return [p for p in base if self.is_measured or self._exists(p.path / "program.mlir.gz")]

    def listings(self) -> list[str]:
        """Return the programs that the paper lists."""
        return self._printed(printed.listings(self.config), printed.PROGRAM)

    def forms(self) -> list[str]:
        """Return the folders of the compilers' forms of programs that the paper lists step by step."""
        return self._printed(printed.forms(self.config), FORMS)

    def drawn(self) -> list[str]:
        """Return the programs that are drawn as graphs."""
        return self._printed(printed.graphs(self.config), "program.mlir.gz")

    def _printed(self, rows: Mapping[str, Sequence[Cell | Program]], name: str) -> list[str]:
        """Return this file of each cell or program: this run's if it makes the row, else what the reference has."""
        result = []
        for row in rows.values():
            is_here = printed.is_of_run(self.config, row)
            paths = [Path(self.measured if is_here else REFERENCE, one.path, name) for one in row]
            result += [str(path) for path in paths if is_here or path.exists()]
        return result

    def emitted(self) -> list[str]:
        rows = printed.emitted(self.config, Path(self.measured), Path(REFERENCE_RUNS))
        return [str(path) for row in rows.values() for paths in row.values() for path in paths]

    def located(self) -> list[str]:
        """Return the files that give the source of each line of the programs that the compilers get."""
        return self.existing_or_expected(p.path / "arguments.json" for p in programs.base_programs(self.config))

    def optimised(self) -> list[str]:
        """Return the programs that the report shows, as the native compiler optimises them.

        A run makes those of the programs on the CPU that the paper lists; of the reference, the existing ones count.
        """
        if not self.is_measured:
            optimised = [Path(path).with_name(printed.OPTIMISED) for path in self.emitted()]
            return [str(path) for path in optimised if path.exists()]
        if not programs.native_compiler(self.config):
            return []
        rows = printed.measured(self.config, printed.listings(self.config)).values()
        return self.files([cell for row in rows for cell in row if cell.device == CPU], printed.OPTIMISED)

    def _exists(self, path: Path | str) -> bool:
        return Path(self.measured, path).exists()


def _unknown(what: str, known: Iterable[str], got: str) -> WorkflowError:
    return WorkflowError(
        f"target: {what}: expected one of {', '.join(known)}, got {got}; fix: change the path, or add it to "
        "config/config.yaml"
    )


def paper_files() -> list[str]:
    """Return the files of the paper's text, without hidden ones and an editor's own."""
    result = []
    for path in sorted(Path("paper").rglob("*")):
        is_hidden = any(part.startswith(".") for part in path.parts)
        is_editors = path.name.endswith(("~", ".bak", ".orig", ".swp", ".tmp")) or path.name.startswith("#")
        if path.is_file() and not is_hidden and not is_editors:
            result.append(str(path))
    return result
