"""What one claim is decided from."""

from __future__ import annotations

from snakemake.exceptions import WorkflowError

from stackwars.claims import needs
from stackwars.claims.definitions import Claim, ClaimError, Claims
from stackwars.results.folder import Folder
from stackwars.setup.device import CPUS
from stackwars.study import imports
from stackwars.study.programs import Program
from stackwars.workflow import job_files
from stackwars.workflow.grid import Grid, Wildcards


class ClaimJobs:
    """Inputs and parameters of the rules of claims.smk."""

    def __init__(self, grid: Grid, claims: Claims) -> None:
        self._grid, self._config, self._claims = grid, grid.config, claims
        self._folder = f"{grid.out}/claims/{{claim}}"
        self.form_files = [str(Folder(self._folder)[name]) for name in ("metrics", "structure")]
        """The tables of the programs' form of any claim, as the output of a rule."""

    def _claim(self, wildcards: Wildcards) -> Claim:
        """The claim of a target; refused where the configuration lacks what it needs."""
        claim = self._claims.claim(wildcards.claim)
        try:
            needs.check(self._config, claim)
        except ClaimError as error:
            raise WorkflowError(str(error)) from None
        return claim

    def sources(self, wildcards: Wildcards) -> list[str]:
        """What decides the claim, and what puts together the results that it needs."""
        chosen = needs.restricted(self._config, self._claim(wildcards))
        return [
            *imports.sources("stackwars.claims.one"),
            *(f"src/stackwars/workloads/{name}.py" for name in chosen["workloads"]),
        ]

    def cells(self, wildcards: Wildcards) -> list[str]:
        """Files of its cells on the devices that this machine has; the CPU's are known without asking."""
        wanted = needs.needed_cells(self._config, self._claim(wildcards))
        elsewhere = any(cell.device not in CPUS for cell in wanted)
        there = self._grid.found() if elsewhere else self._grid.on_cpu
        found = [cell for cell in there if cell in wanted]
        files = [f for name in ("cell.json", "output.npy") for f in self._grid.files(found, name)]
        return [*files, *self._grid.peaks(found)]

    def others(self, wildcards: Wildcards) -> list[str]:
        """Its replays, compilations and searches; of the reference run, those that it has."""
        claim = self._claim(wildcards)
        points, slices = needs.needed_sharding(self._config, claim)
        return self._grid.kept(
            [
                *(point.path for point in points),
                *(c.path / "ahead.json" for c in slices),
                *(r.path / "replay.json" for r in needs.needed_replays(self._config, claim)),
                *(c.path / "ahead.json" for c in needs.needed_compilations(self._config, claim)),
                *(point.path for point in needs.needed_growth(self._config, claim)),
                *(c.largest_batch_path for c in needs.needed_largest_batches(self._config, claim)),
                *(["audits.json"] if "audits" in claim.needs["stages"] else []),
            ]
        )

    def programs(self, wildcards: Wildcards) -> list[Program]:
        """The programs whose form it is about."""
        wanted = needs.needed_programs(self._config, self._claim(wildcards))
        return self._grid.existing(wanted)

    def form(self, wildcards: Wildcards) -> list[str]:
        """The tables of the programs' form, for a claim that is about it."""
        wanted = self.form_files if self.programs(wildcards) else []
        return [path.format(claim=wildcards.claim) for path in wanted]

    def form_compilations(self, wildcards: Wildcards) -> list[str]:
        """The compilations that these tables are made from, for a claim about optimised programs."""
        claim = self._claim(wildcards)
        wanted = needs.needed_compilations(self._config, claim) if self.programs(wildcards) else []
        return self._grid.kept(c.path / "ahead.json" for c in wanted)

    def form_step(self, wildcards: Wildcards) -> str:
        """The arguments of the step that makes them, with compilations only where the claim is about these."""
        claim = self._claim(wildcards)
        only = needs.restricted(self._config, claim)
        only |= {} if "ahead" in claim.needs["stages"] else {"ahead": []}
        config, folder = job_files.file("config", only), self._folder.format(claim=wildcards.claim)
        return self._grid.arguments(config, folder, self._grid.measured)
