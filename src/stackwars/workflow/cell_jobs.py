"""What the processes of a cell are made from, and what they are told."""

from __future__ import annotations

from functools import cache, partial

from stackwars import frameworks
from stackwars.setup.device import CPUS
from stackwars.study import cells, programs
from stackwars.study.cells import Cell
from stackwars.workflow import job_files, plan
from stackwars.workflow.grid import Grid, Wildcards


class CellJobs:
    """Inputs and parameters of the rules of cells.smk."""

    def __init__(self, grid: Grid) -> None:
        self._grid, self._config = grid, grid.config
        self._selected = frozenset(grid.selected_cells)
        self._partner = cache(partial(cells.partner, self._config, among=self._selected))

    def cell(self, wildcards: Wildcards) -> Cell:
        """The cell of a path. Raises WorkflowError where the configuration has none such."""
        cell = Cell(wildcards.framework, wildcards.workload, wildcards.device)
        if cell not in self._selected:
            self._grid.check(wildcards)
        return cell

    def sources(self, wildcards: Wildcards) -> list[str]:
        """The files that decide what the cell's processes measure, those of their partner's with them."""
        cell = self.cell(wildcards)
        both = filter(None, (cell, self._partner(cell)))
        return sorted({file for one in both for file in cells.sources(self._config, one)})

    def pins(self, wildcards: Wildcards) -> str:
        """Pins of the cell's environment."""
        cell = self.cell(wildcards)
        return cells.pins(self._config, cell.framework, cell.device)

    def partner_pins(self, wildcards: Wildcards) -> str | list:
        """Pins of the environment of the processes' partner; [] where they have none."""
        partner = self._partner(self.cell(wildcards))
        return cells.pins(self._config, partner.framework, partner.device) if partner else []

    def priority(self, wildcards: Wildcards) -> int:
        """The place of a process among all."""
        return plan.priority(self._config, self.cell(wildcards), int(wildcards.repetition))

    def job(self, wildcards: Wildcards) -> str:
        """A file of the ProcessJob of stackwars.measure.supervisor; of process 0 where none is named."""
        cell = self.cell(wildcards)
        partner, settings = self._partner(cell), self._grid.settings
        job = {
            **self._runs(cell),
            "workload": cell.workload,
            "device": cell.device,
            "preset": self._config["preset"],
            "repetition": int(getattr(wildcards, "repetition", 0)),
            "sizes": cells.sizes(self._config, cell.workload),
            "partner": partner and self._runs(partner),
            "forms": cell.workload in self._config["paper"].get("forms", []),
            "peers": programs.peers(self._config, cell.workload, cell.device),
            "settings": {
                **{key: settings[key] for key in settings if key in plan.MEASURING},
                "block_calls": cells.block_calls(self._config, cell.workload),
            },
        }
        return job_files.file("process", job)

    def compared(self, wildcards: Wildcards) -> list[str]:
        """The cells and replays of a workload on a device, which are compared with each other."""
        device, workload = wildcards.device, wildcards.workload
        available = self._grid.cpu_cells if device in CPUS else self._grid.available_cells()
        ours = [cell for cell in available if (cell.device, cell.workload) == (device, workload)]
        replays = [
            f"{self._grid.root}/{replay.path}/replay.json"
            for replay in programs.replays(self._config)
            if (replay.device, replay.workload) == (device, workload)
        ]
        return self._grid.files(ours, "cell.json") + replays

    def _runs(self, cell: Cell) -> dict[str, str]:
        dialect = frameworks.load(cell.framework).DIALECT
        return {"framework": cell.framework, "dialect": dialect}
