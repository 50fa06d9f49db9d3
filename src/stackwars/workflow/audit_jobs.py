"""What the audits are made from, and what they are told."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib import import_module

from stackwars import compilers, frameworks, workloads
from stackwars.audits.depth_scaling import WORKLOAD as depth_scaling
from stackwars.audits.third_party import HARNESSES
from stackwars.audits.trials import GROUP
from stackwars.results.folder import Folder
from stackwars.setup.device import CPU, CPUS, ONE_THREAD
from stackwars.study import cells, imports, programs
from stackwars.study.comparisons import CELLS, comparisons
from stackwars.study.studies import of_tables
from stackwars.workflow import job_files
from stackwars.workflow.grid import Grid, Wildcards

KEPT = (
    "seed",
    "matmul_precision",
    "memory_cap_gib",
    "timeout_s",
    "interleaved_slice_seconds",
    "parity_rel_l2",
)
"""The settings that an audit's processes depend on."""
TIMED_TWICE = ("ffn", "mha", "conv")
"""Basic operations of more than a millisecond, timed at the full sizes in every preset."""


class AuditJobs:
    """Inputs and parameters of the rules of audits.smk."""

    def __init__(self, grid: Grid) -> None:
        self._grid, self._config = grid, grid.config
        self.folder = f"{grid.root}/audits"
        devices = self._config["devices"]
        self._quiet = ONE_THREAD if ONE_THREAD in devices else devices[0]
        """Where differences are looked for: on the quiet instrument, if there is one."""
        self._baselines = {pair.baseline for pair in comparisons(self._config, CELLS)}
        self._timed_twice = [name for name in TIMED_TWICE if name in self._config["workloads"]]

    @staticmethod
    def digest(*folders: str) -> str:
        """Return a digest of the audits of some folders of measurements.

        It is a parameter of the rules that show them: audits are no input, because nobody has to make them.
        """
        paths = [Folder(folder)["audits"] for folder in dict.fromkeys(folders)]
        content = b"".join(path.read_bytes() for path in paths if path.exists())
        return hashlib.sha256(content).hexdigest()[:12] if content else "none"

    def pins(self, wildcards: Wildcards) -> str:
        """Pins of the audited framework's environment."""
        self._grid.check(wildcards)
        return cells.pins(self._config, wildcards.framework, wildcards.device)

    def dialect(self, wildcards: Wildcards) -> str:
        """The audited framework's dialect."""
        self._grid.check(wildcards)
        return frameworks.load(wildcards.framework).DIALECT

    def job(self, wildcards: Wildcards) -> str:
        """A file of a ProcessJob of stackwars.measure.supervisor without a workload."""
        job = {
            "framework": wildcards.framework,
            "dialect": self.dialect(wildcards),
            "device": wildcards.device,
            "preset": self._config["preset"],
            "settings": {key: self._grid.settings[key] for key in KEPT},
        }
        return job_files.file("audit", job)

    def rounds(self, wildcards: Wildcards) -> int:
        """Rounds of the power audit; few where it is no baseline: such a process may compile for a minute."""
        rounds = self._grid.settings["audit_rounds"]
        return rounds if wildcards.framework in self._baselines else max(GROUP, rounds // 5)

    def replay_job(self, wildcards: Wildcards) -> str:
        """A file of the job of a `stackwars.audits.subjects.ReplaySubject`."""
        self._grid.check(wildcards)
        row = self._config["compilers"][wildcards.compiler]
        job = {
            "framework": wildcards.framework,
            "dialect": self.dialect(wildcards),
            "device": wildcards.device,
            "preset": self._config["preset"],
            "compiler": wildcards.compiler,
            "module": programs.compiler_module(self._config, wildcards.compiler),
            "options": row.get("options", {}),
            "settings": {key: self._grid.settings[key] for key in KEPT},
            "lower_pins": self.lower_pins(wildcards),
        }
        return job_files.file("audit", job)

    def replay_pins(self, wildcards: Wildcards) -> str:
        """Pins of the audited compiler's environment."""
        self._grid.check(wildcards)
        return programs.compiler_pins(self._config, wildcards.compiler)

    def lower_pins(self, wildcards: Wildcards) -> str:
        """Pins of the environment in which the replayed programs are made."""
        self._grid.check(wildcards)
        return programs.lower_pins(self._config, wildcards.framework)

    def replay_sources(self, module: str, workload: str) -> Callable[[Wildcards], list[str]]:
        """The files of an audit of a replay and of the processes that it runs, as an input of its rule."""
        return lambda w: imports.sources(
            *(module, "stackwars.audits.mutant"),
            *workloads.sources(import_module(workload).WORKLOAD, self.dialect(w)),
            f"{compilers.__name__}.lower_{w.framework}",
            f"{compilers.__name__}.{programs.compiler_module(self._config, w.compiler)}",
        )

    def kept(self, audit: str) -> Callable[[Wildcards], str]:
        """Where an audit that is killed finds its finished processes again, as a parameter of its rule."""
        return lambda w: f"{self.folder}/kept/{audit}-{'-'.join(w)}"

    def sizes(self) -> str:
        """A file of the sizes of what an independent harness times too."""
        full = self._config["presets"]["full"]["sizes"]
        return job_files.file("sizes", {name: full[name] for name in self._timed_twice})

    def sources(self, module: str, workload: str | None = None) -> Callable[[Wildcards], list[str]]:
        """The files of an audit and those of the processes that it runs, as an input of its rule."""

        def found(wildcards: Wildcards) -> list[str]:
            framework = f"stackwars.frameworks.{wildcards.framework}"
            modules = [module, "stackwars.measure.child", framework]
            if workload:
                declared = import_module(workload).WORKLOAD
                modules += workloads.sources(declared, self.dialect(wildcards))
            return imports.sources(*modules)

        return found

    def third_party_sources(self, wildcards: Wildcards) -> list[str]:
        """The files of what an independent harness times."""
        dialect = self.dialect(wildcards)
        return imports.sources(
            "stackwars.audits.third_party",
            *(m for name in self._timed_twice for m in workloads.sources(name, dialect)),
        )

    def parts(self, wildcards: Wildcards = None) -> list[str]:
        """Every part that is measured, of the frameworks and devices that this machine has."""
        quiet = self._quiet
        timed = self._having(lambda dialect: dialect in HARNESSES)
        pairs = {
            (cell.device, cell.framework)
            for cell in self._grid.available_cells()
            if cell.framework in self._audited()
        }
        added = {
            (quiet, name)
            for name in self._config["audits"]["frameworks"]
            if name in self._config["frameworks"] and quiet in cells.environments(self._config, name)
        }
        wanted = {
            "fences": pairs,
            # A slow device of the same kind adds nothing to what the quiet one shows of a mutant.
            "mutants": {pair for pair in pairs if pair[0] != CPU or quiet == CPU} | added,
            "power": pairs & {(quiet, name) for name in self._baselines} | added,
            "aa_interleaved": {pair for pair in pairs if pair[0] == quiet and pair[1] not in self._baselines},
            # pyperf is in the environment for the CPU alone.
            "independent": pairs & {(quiet, name) for name in timed if quiet in CPUS},
        }
        replays = [
            f"{self.folder}/{name}/{CPU}/{row['framework']}-{row['compiler']}.json"
            for row in self._config["audits"]["replays"]
            for name in ("mutants", "power")
            if CPU in self._config["devices"] and row["framework"] in self._config["frameworks"]
        ]
        of_cells = [
            f"{self.folder}/{name}/{device}/{framework}.json"
            for name, found in wanted.items()
            for device, framework in sorted(found)
        ]
        return of_cells + replays

    def _audited(self) -> list[str]:
        """The frameworks of the first study that run every workload and whose dialect the audits have."""
        written = self._having(depth_scaling.has_form)
        studied = of_tables(self._config).frameworks
        return [
            name for name in written if name in studied and "workloads" not in self._config["frameworks"][name]
        ]

    def _having(self, form: Callable[[str], bool]) -> list[str]:
        """The frameworks whose dialect has such a form."""
        asked = {name: frameworks.load(name).DIALECT for name in self._config["frameworks"]}
        return [name for name, dialect in asked.items() if form(dialect)]
