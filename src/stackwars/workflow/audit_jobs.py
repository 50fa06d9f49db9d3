"""The measured audits: what each runs on, its files, and its command."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from snakemake.exceptions import WorkflowError

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

VERSION = "2"
"""The version of the audits' protocol; see `stackwars.workflow.jobs`."""
SETTINGS = (
    *("seed", "matmul_precision", "memory_cap_gib", "timeout_s"),
    *("loop_pairs", "loop_seconds", "parity_rel_l2"),
)
"""The settings that an audit's processes depend on."""
TIMED_TWICE = ("ffn", "mha", "conv")
"""Basic operations of more than a millisecond, timed at the full sizes in every preset."""
OF_REPLAYS = ("mutants", "power")
"""The audits that a replay has too."""
MODULES = {"aa_interleaved": "power"}
"""The modules of audits that do not have their name."""
PEAKS = ("fences", "mutants")
"""The audits that compare with the machine's peak."""


@dataclass(frozen=True)
class Audit:
    """One audit of a framework's cells or, with a compiler, of replays of its programs."""

    name: str
    device: str
    framework: str
    compiler: str | None

    @property
    def module(self) -> str:
        """The module that runs it."""
        return f"stackwars.audits.{MODULES.get(self.name, self.name)}"

    @property
    def dialect(self) -> str:
        """The framework's dialect."""
        return frameworks.load(self.framework).DIALECT


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

    def audit(self, wildcards: Wildcards) -> Audit:
        """Return the audit of a path.

        :raises WorkflowError: if the configuration lacks its framework, its compiler or the device.
        """
        framework, _, compiler = wildcards.subject.partition("-")
        result = Audit(wildcards.audit, wildcards.device, framework, compiler or None)
        self._grid.check(result)
        if compiler and result.name not in OF_REPLAYS:
            raise WorkflowError(
                f"target: audits: expected one of {', '.join(OF_REPLAYS)} of a replay, got {result.name}; fix: "
                "change the path"
            )
        return result

    def pins(self, wildcards: Wildcards) -> str:
        """Return the pins of the audited framework's environment, or of the compiler's."""
        audit = self.audit(wildcards)
        if audit.compiler:
            return programs.compiler_pins(self._config, audit.compiler)
        return cells.pins(self._config, audit.framework, audit.device)

    def lower_pins(self, wildcards: Wildcards) -> str | list:
        """Return the pins of the environment in which replayed programs are made; [] without a replay."""
        audit = self.audit(wildcards)
        return programs.lower_pins(self._config, audit.framework) if audit.compiler else []

    def peak(self, wildcards: Wildcards) -> str | list:
        """Return the machine's peak, for an audit that compares with it."""
        return f"{self._grid.root}/{wildcards.device}/peak.json" if wildcards.audit in PEAKS else []

    def sources(self, wildcards: Wildcards) -> list[str]:
        """Return the files of the audit, of its workload and of the framework or compiler."""
        audit = self.audit(wildcards)
        modules = [audit.module]
        if audit.name == "independent":
            modules += [m for name in self._timed_twice for m in workloads.sources(name, audit.dialect)]
            modules.append("stackwars.audits.third_party")
        else:
            # The independent audit, above, has its own programs.
            declared = "gemm" if audit.name == "mutants" else depth_scaling
            modules += workloads.sources(declared, audit.dialect)
        if audit.compiler:
            names = (f"lower_{audit.framework}", programs.compiler_module(self._config, audit.compiler))
            modules += [f"{compilers.__name__}.{name}" for name in names]
        else:
            modules.append(f"stackwars.frameworks.{audit.framework}")
        return imports.measured_sources(*modules)

    def command(self, wildcards: Wildcards, input) -> str:
        """Return the audit's command but for its output."""
        audit = self.audit(wildcards)
        peak = f"--peak {input.peak}" if audit.name in PEAKS else ""
        if audit.name == "fences":
            return (
                f"stackwars.setup.environments {input.pins} -- -m {audit.module} --framework {audit.framework} "
                f"--dialect {audit.dialect} --device {audit.device} "
                f"--precision {self._grid.settings['matmul_precision']} {peak}"
            )
        return (
            f"{audit.module} --job {job_files.planned('audit', self._spec(audit))} --pins {input.pins} {peak} "
            f"{self._numbers(audit)} --folder {self.folder}/kept/{'-'.join(wildcards)}"
        )

    def _spec(self, audit: Audit) -> dict:
        """Return a ProcessJob of `stackwars.measure.supervisor` without a workload, or what a replay's audit reads."""
        spec = {
            "framework": audit.framework,
            "dialect": audit.dialect,
            "device": audit.device,
            "preset": self._config["preset"],
            "settings": {key: self._grid.settings[key] for key in SETTINGS},
        }
        if not audit.compiler:
            return spec
        return {
            **spec,
            "compiler": audit.compiler,
            "module": programs.compiler_module(self._config, audit.compiler),
            "options": self._config["compilers"][audit.compiler].get("options", {}),
            "lower_pins": programs.lower_pins(self._config, audit.framework),
        }

    def _numbers(self, audit: Audit) -> str:
        """Return the arguments of the audit that say how often, and at which sizes."""
        settings = self._grid.settings
        match audit.name:
            case "aa_interleaved":  # half as many, as its processes start slowly
                return f"--same --rounds {settings['audit_rounds'] // 2}"
            case "power":
                return f"--rounds {self._power_rounds(audit)}"
            case "independent":
                full = self._config["presets"]["full"]["sizes"]
                sizes = job_files.planned("sizes", {name: full[name] for name in self._timed_twice})
                return f"--sizes {sizes} --processes {settings['audit_processes']}"
        return ""

    def _power_rounds(self, audit: Audit) -> int:
        """Return few rounds for a framework that is no baseline: such a process may compile for a minute."""
        rounds = self._grid.settings["audit_rounds"]
        return rounds if audit.compiler or audit.framework in self._baselines else max(GROUP, rounds // 5)

    def parts(self, wildcards: Wildcards = None) -> list[str]:
        """Return every part that is measured, of the frameworks and devices that this machine has."""
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
        replays = {
            (CPU, f"{row['framework']}-{row['compiler']}")
            for row in self._config["audits"]["replays"]
            if CPU in self._config["devices"] and row["framework"] in self._config["frameworks"]
        }
        wanted = {
            "fences": pairs,
            # A slow device of the same kind adds nothing to what the quiet one shows of a mutant.
            "mutants": {pair for pair in pairs if pair[0] != CPU or quiet == CPU} | added | replays,
            "power": pairs & {(quiet, name) for name in self._baselines} | added | replays,
            "aa_interleaved": {pair for pair in pairs if pair[0] == quiet and pair[1] not in self._baselines},
            # pyperf is in the environment for the CPU alone.
            "independent": pairs & {(quiet, name) for name in timed if quiet in CPUS},
        }
        return [
            f"{self.folder}/{name}/{device}/{subject}.json"
            for name, result in wanted.items()
            for device, subject in sorted(result)
        ]

    def _audited(self) -> list[str]:
        """Return the frameworks of the first study that run every workload and whose dialect the audits have."""
        written = self._having(depth_scaling.has_form)
        studied = of_tables(self._config).frameworks
        return [
            name for name in written if name in studied and "workloads" not in self._config["frameworks"][name]
        ]

    def _having(self, form: Callable[[str], bool]) -> list[str]:
        """Return the frameworks whose dialect has such a form."""
        asked = {name: frameworks.load(name).DIALECT for name in self._config["frameworks"]}
        return [name for name, dialect in asked.items() if form(dialect)]
