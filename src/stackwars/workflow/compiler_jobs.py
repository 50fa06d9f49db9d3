"""What lowering, compiling and replaying a program is made from, and what it is told."""

from __future__ import annotations

from stackwars.study import programs
from stackwars.study.cells import Cell
from stackwars.study.programs import BASE, Compilation, Program, ReplayCell
from stackwars.workflow import job_files, plan
from stackwars.workflow.grid import Grid, Wildcards


class CompilerJobs:
    """Inputs and parameters of the rules of compile.smk and replay.smk."""

    def __init__(self, grid: Grid) -> None:
        self._grid, self._config = grid, grid.config

    def _compilation(self, wildcards: Wildcards) -> Compilation:
        self._grid.check(wildcards)
        variant = getattr(wildcards, "variant", BASE)
        program = Program(wildcards.framework, wildcards.workload, variant)
        return Compilation(wildcards.target, wildcards.compiler, program)

    def _replay(self, wildcards: Wildcards) -> ReplayCell:
        self._grid.check(wildcards)
        return ReplayCell(wildcards.device, wildcards.compiler, wildcards.workload)

    def lowering_sources(self, wildcards: Wildcards) -> list[str]:
        """The files that decide a program's text."""
        self._grid.check(wildcards)
        return programs.lower_sources(self._config, wildcards.framework, wildcards.workload)

    def lowering_pins(self, wildcards: Wildcards) -> str:
        """Pins of the environment in which a framework's programs are made."""
        return programs.lower_pins(self._config, wildcards.framework)

    def compiler_pins(self, wildcards: Wildcards) -> str:
        """Pins of a compiler's environment, for the target if one is named."""
        self._grid.check(wildcards)
        target = getattr(wildcards, "target", None)
        return programs.compiler_pins(self._config, wildcards.compiler, target)

    def description(self, wildcards: Wildcards) -> list[str]:
        """The file that tells XLA what a GPU is, for a target that has one."""
        self._grid.check(wildcards)
        name = self._config["targets"][wildcards.target].get("description")
        return [f"src/stackwars/compilers/{name}"] if name else []

    def code_source(self, wildcards: Wildcards) -> str | list:
        """Where a compilation that stops before its code takes the code's size from; [] if it goes on."""
        compilation = self._compilation(wildcards)
        if programs.finished(self._config, compilation):
            return []
        source = programs.code_source(self._config, compilation)
        return f"{self._grid.root}/{source.path}/ahead.json"

    def lower(self, wildcards: Wildcards) -> str:
        """A file of the LowerJob of stackwars.compilers.lower."""
        self._grid.check(wildcards)
        program = Program(wildcards.framework, wildcards.workload, wildcards.variant)
        return job_files.file("lower", programs.lower_job(self._config, program))

    def native_pins(self, wildcards: Wildcards) -> str:
        """Pins of the compiler that the frameworks' own environments pin."""
        self._grid.check(wildcards)
        return programs.compiler_pins(self._config, programs.native_compiler(self._config))

    def optimise(self, wildcards: Wildcards) -> str:
        """A file of the OptimiseJob of stackwars.compilers.optimised."""
        self._grid.check(wildcards)
        return job_files.file("optimise", programs.optimise_job(self._config))

    def ahead(self, wildcards: Wildcards) -> str:
        """A file of the CompileJob of stackwars.compilers.ahead_supervisor."""
        job = programs.ahead_job(self._config, self._compilation(wildcards))
        return job_files.file("ahead", job)

    def largest_batch(self, wildcards: Wildcards) -> str:
        """A file of the LargestBatchJob of stackwars.compilers.largest_batch."""
        job = programs.largest_batch_job(self._config, self._compilation(wildcards))
        return job_files.file("largest_batch", job)

    def replay(self, wildcards: Wildcards) -> str:
        """A file of the ReplayJob of stackwars.compilers.replay_job; of process 0 where none is named."""
        repetition = int(getattr(wildcards, "repetition", 0))
        job = programs.replay_job(self._config, self._replay(wildcards), repetition)
        return job_files.file("replay", job)

    def replay_sources(self, wildcards: Wildcards) -> list[str]:
        """The files that decide how the compiler replays."""
        self._grid.check(wildcards)
        return programs.replay_sources(self._config, wildcards.compiler)

    def replay_priority(self, wildcards: Wildcards) -> int:
        """The place of a replay's process among all."""
        replay = self._replay(wildcards)
        return plan.replay_priority(self._config, replay, int(wildcards.repetition))

    def replayed(self, wildcards: Wildcards) -> list[str]:
        """Programs and lists of arguments that a replay of the workload reads."""
        return [
            f"{self._grid.root}/{program.path}/{name}"
            for program in programs.replayed(self._config, wildcards.workload, wildcards.compiler)
            for name in ("program.mlir.gz", "arguments.json")
        ]

    def replayed_cells(self, wildcards: Wildcards) -> list[str]:
        """Files of the cells that a replay is checked against: theirs must be the same program and output."""
        found = self._native(wildcards)
        return [f for name in ("cell.json", "output.npy") for f in self._grid.files(found, name)]

    def replayed_folders(self, wildcards: Wildcards) -> list[str]:
        """The same as arguments of stackwars.compilers.replay_cell."""
        return [f"--cell {c.framework}={self._grid.measured}/{c.path}" for c in self._native(wildcards)]

    def _native(self, wildcards: Wildcards) -> list[Cell]:
        found = [
            Cell(program.framework, program.workload, wildcards.device)
            for program in programs.replayed(self._config, wildcards.workload, wildcards.compiler)
        ]
        return [cell for cell in found if cell in self._grid.selected_cells]
