"""Inputs of the decision on one claim."""

from __future__ import annotations

from pathlib import Path

from snakemake.exceptions import WorkflowError

from stackwars.measure import workloads
from stackwars.setup.device import CPUS
from stackwars.study.claims import needs
from stackwars.study.claims.definitions import Claim, ClaimError, Claims, study_of
from stackwars.study.results.folder import Folder
from stackwars.study.studies import measured_studies
from stackwars.study.workflow import job_files
from stackwars.study.workflow.grid import Grid, Wildcards


class ClaimJobs:
    def __init__(self, grid: Grid, claims: Claims) -> None:
        self._grid, self._config, self._claims = grid, grid.config, claims
        self.folder = f"{grid.out}/claims"
        """Where claims that are decided alone have their tables and verdicts."""

    def _claim(self, wildcards: Wildcards) -> Claim:
        """Return the claim of a target.

        :raises WorkflowError: if the configuration does not have what it needs, or the run does not measure its study.
        """
        claim = self._claims.claim(wildcards.claim)
        try:
            needs.check(self._config, claim)
        except ClaimError as error:
            raise WorkflowError(str(error)) from None
        study, measured = study_of(self._config, claim), measured_studies(self._config)
        if self._grid.is_measured and study not in measured:
            raise WorkflowError(
                f"target: claim_{claim.id}: expected a run that measures the study {study}, got one of "
                f"{', '.join(measured)}; fix: --config 'measure=[{study}]'"
            )
        return claim

    def workloads(self, wildcards: Wildcards) -> list[str]:
        chosen = needs.restricted(self._config, self._claim(wildcards))
        return sorted({workloads.file_of(name) for name in chosen.workloads})

    def results(self, wildcards: Wildcards) -> list[str]:
        """Return the results that decide it; for the reference its claims, which are decided already."""
        if not self._grid.is_measured:
            return self._grid.result_paths("claims")
        claim = self._claim(wildcards)
        grid, wanted = self._grid, needs.needed_cells(self._config, claim)
        is_on_cpu = all(cell.device in CPUS for cell in wanted)
        result = [c for c in (grid.cpu_cells if is_on_cpu else grid.available_cells()) if c in wanted]
        forms = Folder(f"{self.folder}/{claim.id}")["program_forms"]
        return [
            *(path for name in ("cell.json", "output.npy") for path in grid.files(result, name)),
            *grid.peaks(result),
            *(f"{grid.measured}/{path}" for path in needs.needed_files(self._config, claim)),
            *([str(forms)] if needs.needed_programs(self._config, claim) else []),
        ]

    def programs(self, wildcards: Wildcards) -> list[str]:
        """Return the programs whose structure the tables in wildcards.results hold: of the run, or of a claim."""
        if wildcards.results == self._grid.root:
            return self._grid.program_files(self._grid.base_programs())
        claim = self._claims.claim(Path(wildcards.results).name)
        return self._grid.program_files(needs.needed_programs(self._config, claim))

    def args(self, wildcards: Wildcards) -> str:
        """Return the arguments of a step that makes tables of the run, or of a claim."""
        if wildcards.results == self._grid.root:
            return self._grid.step_args
        only = needs.restricted(self._config, self._claims.claim(Path(wildcards.results).name))
        config_file = job_files.planned("config", only.step_document())
        return self._grid.arguments(config_file, wildcards.results, self._grid.measured)
