"""The measured audits: what each runs on, its files, and its command."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from snakemake.exceptions import WorkflowError

from stackwars.core import compilers
from stackwars.measure import frameworks, workloads
from stackwars.setup.device import CPU, CPUS, ONE_THREAD
from stackwars.study import cells, imports, programs
from stackwars.study.audits import paired
from stackwars.study.audits.paired import Pair, PairJob
from stackwars.study.audits.subjects import ReplaySubjectJob, SubjectJob
from stackwars.study.audits.third_party import HARNESSES
from stackwars.study.results.folder import Folder
from stackwars.study.studies import of_tables
from stackwars.study.workflow import job_files
from stackwars.study.workflow.grid import Grid, Wildcards
from stackwars.study.workflow.kinds import filled

VERSION = "6"
"""The version of the audits' protocol; see `stackwars.study.workflow.jobs`."""
SETTINGS = ("seed", "matmul_precision", "memory_cap_gib", "timeout_s", "parity_rel_l2")
"""The settings that every audit's processes depend on."""
TIMED_TWICE = ("ffn", "mha", "conv")
"""Basic operations of more than a millisecond, timed at the full sizes in every preset."""
OF_REPLAYS = ("mutants",)
"""The audits that a replay has too."""
PEAKS = ("fences", "mutants")
"""The audits that compare with the machine's peak."""


@dataclass(frozen=True)
class Audit:
    """One audit of a framework's cells or, with a compiler, of replays of its programs; or of the rounds of a pair."""

    name: str
    device: str
    framework: str
    compiler: str | None = None
    pair: Pair | None = None

    @property
    def module(self) -> str:
        name = "paired" if self.pair else "fences" if self.name == "fences" else "subjects"
        return f"stackwars.study.audits.{name}"

    @property
    def dialect(self) -> str:
        return frameworks.load(self.framework).DIALECT


class AuditJobs:
    def __init__(self, grid: Grid) -> None:
        self._grid, self._config = grid, grid.config
        self.folder = f"{grid.root}/audits"
        devices = self._config.devices
        self._quiet = ONE_THREAD if ONE_THREAD in devices else devices[0]
        """Where broken processes run: on the quiet instrument, if there is one."""
        self._pairs = {(pair.kind, pair.device, pair.name): pair for pair in paired.all_pairs(self._config)}
        self._timed_twice = [name for name in TIMED_TWICE if name in self._config.workloads]

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

        :raises WorkflowError: if the configuration does not have its framework, its compiler or the device.
        """
        if wildcards.audit in paired.KINDS:
            return self._pair(wildcards)
        framework, _, compiler = wildcards.subject.partition("-")
        result = Audit(wildcards.audit, wildcards.device, framework, compiler or None)
        self._grid.check(result)
        if compiler and result.name not in OF_REPLAYS:
            raise WorkflowError(
                f"target: audits: expected one of {', '.join(OF_REPLAYS)} of a replay, got {result.name}; fix: "
                "change the path"
            )
        return result

    def _pair(self, wildcards: Wildcards) -> Audit:
        kind, device = wildcards.audit, wildcards.device
        pair = self._pairs.get((kind, device, wildcards.subject))
        if pair is None:
            known = [name for *of_pair, name in self._pairs if of_pair == [kind, device]]
            raise WorkflowError(
                f"target: audits: expected one of {', '.join(known) or 'none'} on {device}, got "
                f"{wildcards.subject}; fix: change the path, or the key audits of the configuration"
            )
        return Audit(kind, device, pair.subject, pair=pair)

    def pins(self, wildcards: Wildcards) -> str | list[str]:
        audit = self.audit(wildcards)
        if audit.pair:
            return list(dict.fromkeys(side["pins"] for side in self._sides(audit.pair)))
        if audit.compiler:
            return programs.compiler_pins(self._config, audit.compiler)
        return cells.pins(self._config, audit.framework, audit.device)

    def lower_pins(self, wildcards: Wildcards) -> str | list:
        """Return the pins of the environment that lowers replayed programs; [] without a replay."""
        audit = self.audit(wildcards)
        return programs.lower_pins(self._config, audit.framework) if audit.compiler else []

    def peak(self, wildcards: Wildcards) -> str | list:
        return f"{self._grid.root}/{wildcards.device}/peak.json" if wildcards.audit in PEAKS else []

    def sources(self, wildcards: Wildcards) -> list[str]:
        audit = self.audit(wildcards)
        modules = [audit.module]
        if audit.pair:
            for side in self._sides(audit.pair):
                modules += workloads.sources(audit.pair.workload, side["dialect"])
                modules.append(f"stackwars.measure.frameworks.{side['framework']}")
            return imports.measured_sources(*modules)
        names = ["gemm"]
        if audit.name == "independent":
            names = self._timed_twice
            modules.append("stackwars.study.audits.third_party")
        modules += [module for name in names for module in workloads.sources(name, audit.dialect)]
        if audit.compiler:
            module = self._config.compilers[audit.compiler].module
            modules += [
                f"stackwars.measure.stablehlo.lower_{audit.framework}",
                f"{compilers.__name__}.{module}",
            ]
        else:
            modules.append(f"stackwars.measure.frameworks.{audit.framework}")
        return imports.measured_sources(*modules)

    def command(self, wildcards: Wildcards, input) -> str:
        """Return the audit's command but for its output."""
        audit = self.audit(wildcards)
        folder = f"--folder {self.folder}/kept/{'-'.join(wildcards)}"
        if audit.pair:
            return f"{audit.module} --job {job_files.planned('pair', self._pair_job(audit.pair))} {folder}"
        peak = f"--peak {input.peak}" if audit.name in PEAKS else ""
        if audit.name == "fences":
            return (
                f"stackwars.setup.environments {input.pins} -- -m {audit.module} --framework {audit.framework} "
                f"--dialect {audit.dialect} --device {audit.device} "
                f"--precision {self._grid.settings.matmul_precision} {peak}"
            )
        if audit.name == "independent":
            full = self._config.presets["full"].sizes
            sizes = job_files.planned("sizes", {name: full[name] for name in self._timed_twice})
            folder += f" --sizes {sizes} --processes {self._grid.settings.audit_processes}"
        job = job_files.planned("audit", self._subject_job(audit))
        return f"{audit.module} --audit {audit.name} --job {job} --pins {input.pins} {peak} {folder}"

    def _pair_job(self, pair: Pair) -> PairJob:
        # The rounds of pairs are measured as the study's are, with a shorter undisturbed series.
        names = (*SETTINGS, "steady_min_blocks", "steady_max_blocks", "loop_pairs")
        settings = {key: getattr(self._grid.settings, key) for key in names}
        calls = cells.block_calls(self._config, pair.workload)
        return filled(
            PairJob,
            self._config,
            **vars(pair),
            name=pair.name,
            rounds=cells.rounds(self._config, pair.workload, pair.device),
            settings={**settings, "steady_seconds": 0.3, "block_calls": calls},
            sides=self._sides(pair),
        )

    def _sides(self, pair: Pair) -> list[dict]:
        return [
            {
                "framework": name,
                "dialect": frameworks.load(name).DIALECT,
                "sizes": cells.sizes(self._config, pair.workload),
                "pins": cells.pins(self._config, name, pair.device),
            }
            for name in (pair.subject, pair.baseline)
        ]

    def _subject_job(self, audit: Audit) -> SubjectJob:
        settings = {key: getattr(self._grid.settings, key) for key in SETTINGS}
        names = {"framework": audit.framework, "device": audit.device, "settings": settings}
        if not audit.compiler:
            return filled(SubjectJob, self._config, **names)
        lower_pins = programs.lower_pins(self._config, audit.framework)
        return filled(ReplaySubjectJob, self._config, **names, compiler=audit.compiler, lower_pins=lower_pins)

    def parts(self, wildcards: Wildcards = None) -> list[str]:
        """Return every part that is measured, of the frameworks and devices that this machine has."""
        quiet = self._quiet
        dialects = {name: frameworks.load(name).DIALECT for name in self._config.frameworks}
        # Frameworks of the first study that run every workload, and whose dialect the audits have.
        has_form, studied = workloads.load("gemm").has_form, of_tables(self._config).frameworks
        audited = [
            name
            for name, dialect in dialects.items()
            if name in studied and has_form(dialect) and self._config.frameworks[name].workloads is None
        ]
        framework_cells = {
            (cell.device, cell.framework) for cell in self._grid.available_cells() if cell.framework in audited
        }
        added = {
            (quiet, name)
            for name in self._config.audits.frameworks
            if name in self._config.frameworks and quiet in cells.environments(self._config, name)
        }
        replays = {
            (CPU, f"{row.framework}-{row.compiler}")
            for row in self._config.audits.replays
            if CPU in self._config.devices and row.framework in self._config.frameworks
        }
        wanted = {
            "fences": framework_cells,
            # A slow device of the same kind adds nothing to the quiet one's results about a mutant.
            "mutants": {one for one in framework_cells if one[0] != CPU or quiet == CPU} | added | replays,
            # pyperf is in the environment for the CPU alone.
            "independent": framework_cells
            & {(quiet, name) for name in audited if dialects[name] in HARNESSES and quiet in CPUS},
        }
        return [
            f"{self.folder}/{name}/{device}/{subject}.json"
            for name, result in wanted.items()
            for device, subject in sorted(result)
        ] + [f"{self.folder}/{kind}/{device}/{name}.json" for kind, device, name in self._pairs]
