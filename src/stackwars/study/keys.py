"""The keys of the configuration: each with its type, its default and one sentence.

`stackwars.study.config` reads a file into `Config` and refuses what does not fit together; it writes config/README.md
from these models.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    WrapValidator,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from stackwars.core import documents
from stackwars.core.compilers import XLA


def problem(expected: str, key: str | None = None, got: object = None) -> PydanticCustomError:
    """Return an error that says what was expected.

    key, got: a key of the refused mapping and its value, if only that is wrong.
    """
    context = {} if key is None else {"key": key, "got": got}
    return PydanticCustomError("expected", "{expected}", {"expected": expected, **context})


class Named:
    """Refuses a name that is in none of these lists; the context of a validation has them.

    Without a context every name is accepted: the file of a step was validated before it was written.
    """

    def __init__(self, *lists: str) -> None:
        self.lists = lists

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return AfterValidator(self._check).__get_pydantic_core_schema__(source, handler)

    def _check(self, name: str, info: ValidationInfo) -> str:
        if info.context is None:
            return name
        names = [known for one in self.lists for known in info.context[one]]
        if name not in names:
            raise problem(f"one of {', '.join(names)}")
        return name


def _unique(rows: list) -> list:
    if any(row in rows[:place] for place, row in enumerate(rows)):
        raise problem("no entry twice")
    return rows


def _as_written(value: Any, validate: Any) -> Any:
    """Return a number as it was written: 900 does not become 900.0, which would change the digests of jobs."""
    validate(value)
    return value


def _memory_cap(value: Any) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value != "auto" and not (is_number and value > 0):
        raise problem("auto or a number over 0")
    return value


def _option(value: Any) -> Any:
    if not isinstance(value, str | bool | int):
        raise problem("text, true, false or an integer")
    return value


Device = Literal["cpu", "cpu-1t", "cuda", "tpu"]
Workload = Annotated[str, Named("workload")]
Batched = Annotated[str, Named("batched")]
Framework = Annotated[str, Named("framework")]
Asked = Annotated[str, Named("asked")]
Frontend = Annotated[str, Named("frontend")]
Environment = Annotated[str, Named("environment")]
Compiler = Annotated[str, Named("compiler")]
Target = Annotated[str, Named("target")]
StudyName = Annotated[str, Named("study")]
Count = Annotated[int, Field(ge=1)]
Number = Annotated[float, WrapValidator(_as_written)]
Positive = Annotated[Number, Field(gt=0)]
MemoryCap = Annotated[float | Literal["auto"], PlainValidator(_memory_cap)]
Option = Annotated[str | bool | int, PlainValidator(_option)]
Unique = AfterValidator(_unique)
Workloads = Annotated[list[Workload], Unique]
Devices = Annotated[list[Device], Unique]
Compilers = Annotated[list[Compiler], Unique]
Frameworks = Annotated[list[Asked], Unique]
KnownFrameworks = Annotated[list[Framework], Unique]
Measure = Annotated[list[StudyName], Unique, Field(min_length=1)]
Sizes = dict[str, Count]
Division = Annotated[list[Literal["data", "tensor"]], Unique, Field(min_length=1)]
Version = Annotated[str, Field(pattern=r"^[0-9]+([.][0-9]+)+$")]
FlaggedVersion = Annotated[str, Field(pattern=r"^[0-9]+([.][0-9]+)+( --xla_[a-z0-9_]+=[^ ]*)*$")]


class Model(BaseModel):
    """A mapping of the configuration. It refuses unknown keys and null, and nothing assigns its attributes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, values: Any) -> Any:
        """A misspelt key often is a missing one too: this says what was written."""
        if isinstance(values, dict):
            for key, value in values.items():
                if key not in cls.model_fields:
                    known = ", ".join(sorted(cls.model_fields))
                    raise problem(f"no such key; known keys are {known}", str(key), key)
                if value is None:
                    raise problem("a value", key, None)
        return values

    def document(self, **options: Any) -> dict[str, Any]:
        """Return the keys that were set, as JSON has them. options: of `model_dump`."""
        return self.model_dump(exclude_unset=True, **options)

    def changed(self, **changes: Any) -> Self:
        """Return a copy with other values of these keys, whose types are checked; None drops an optional key."""
        values = {key: plain(value) for key, value in changes.items() if value is not None}
        return type(self).model_validate({**self.document(exclude=set(changes)), **values})


def plain(value: Any) -> Any:
    """Return a value with every model in it as a dictionary."""
    if isinstance(value, Model):
        return value.document()
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


class FrameworkRow(Model):
    """A framework: where its cells are measured, where its programs are made."""

    environments: Annotated[dict[Device, Environment], Field(min_length=1)] | None = None
    """Environment of each device that it has cells on, by its pins envs/<name>.txt."""
    programs: Environment | None = None
    """Environment in which its programs are made; its cpu environment by default."""
    workloads: Workloads | None = None
    """Workloads that it runs; all by default."""

    @model_validator(mode="after")
    def _check_environment(self) -> Self:
        if self.environments is None and self.programs is None:
            raise problem(
                "one of: environments, one for each device that it has cells on; programs, the environment in "
                "which its programs are made"
            )
        return self


class ComparisonRow(Model):
    subject: Asked
    """The numerator of a ratio."""
    baseline: Asked
    """The denominator, with whose outputs the subject's must agree."""
    compare: Annotated[list[Literal["cells", "programs"]], Unique, Field(min_length=1)]
    """cells: their latency, memory and output; programs: their StableHLO, also for the compilers."""


class StudyRow(Model):
    frameworks: Frameworks = []
    """Frameworks whose cells are measured."""
    programs: Frameworks = []
    """Frameworks whose programs go to compilers and targets."""
    compilers: Compilers = []
    """Compilers that replay the programs on the CPU."""
    targets: Annotated[list[Target], Unique] = []
    """Targets that the programs are compiled for, by the compilers of aot_compilations."""
    devices: Devices | None = None
    """Devices of its cells; all by default."""
    workloads: Workloads | None = None
    """Its workloads; by default all that are not another one at other sizes."""
    causes: bool = False
    """Whether the causes of gaps between its programs are searched."""


class CompilerRow(Model):
    environment: Environment
    """Its environment, whose pins are envs/<name>.txt."""
    module: Annotated[str, Named("module")] = XLA
    """Its file in src/stackwars/core/compilers."""
    options: dict[str, Option] = {}
    """Options for every program that it replays; XLA takes debug options."""
    native: bool = False
    """Whether the frameworks' own environments have this compiler; at most one."""
    exclude_workloads: Workloads = []
    """Workloads that it does not replay."""


class ExplainSettings(Model):
    """Limits of make explain; src/stackwars/explain/task.py has the defaults."""

    bound: Annotated[Number, Field(ge=0)] | None = None
    """Smallest relative gap between two programs or compilers that is explained."""
    questions: Annotated[int, Field(ge=0)] | None = None
    """Maximum number of gaps, and of faults, that are explained."""
    seconds: Positive | None = None
    """Seconds for which each program is timed for the table."""
    budget_s: Positive | None = None
    """Limit of one search."""
    timeout_s: Positive | None = None
    """Limit of one compilation or call."""
    memory_cap_gib: MemoryCap | None = None
    """Memory limit, as in settings."""
    matmul_precision: Literal["default", "high", "highest"] | None = None
    """Precision of matrix products, as in settings."""


class ExplainRow(Model):
    frontends: Annotated[list[str], Unique] = ["jax"]
    """Frontends whose programs are tried; torch_eager and numpy run without a compiler."""
    compilers: Annotated[list[str], Unique] = []
    """Compilers in which the programs are tried; all by default."""
    settings: ExplainSettings = ExplainSettings()
    """Limits of the search."""


class AuditedReplay(Model):
    framework: Framework
    """Framework whose programs are replayed."""
    compiler: Compiler
    """Compiler that replays them."""


class AuditsRow(Model):
    frameworks: KnownFrameworks
    """Frameworks whose cells are broken on purpose, in addition to the first study's."""
    replays: Annotated[list[AuditedReplay], Unique]
    """Replays that are broken on purpose."""
    workloads: Workloads
    """Workloads on which frameworks are compared with themselves."""
    trials: dict[Framework, Count]
    """Trials of each framework against itself on each of the workloads."""


class SeriesRow(Model):
    workload: Workload
    """The workload."""
    size: str
    """One of the workload's sizes."""
    values: Annotated[list[Count], Unique, Field(min_length=2)]
    """Values of the size."""
    frameworks: KnownFrameworks | None = None
    """Frameworks that run it; by default the frameworks of growth."""


class GrowthRow(Model):
    study: StudyName
    """A run of this study measures these processes too."""
    frameworks: KnownFrameworks
    """Frameworks that run them."""
    series: list[SeriesRow]
    """A process for each value."""
    shapes: list[SeriesRow]
    """One process for all values; it calls each twice, in turn."""


class SlicesRow(Model):
    compiler: Compiler
    """Compiler that compiles for the slices."""
    targets: dict[Target, Annotated[int, Field(ge=1, le=256)]]
    """Number of chips of each target."""
    frameworks: Annotated[list[Annotated[str, Named("dividing")]], Unique]
    """Frameworks whose programs are compiled."""
    workloads: dict[Workload, Division]
    """Ways in which each workload is divided."""


class ShardingRow(Model):
    study: StudyName
    """A run of this study measures these programs too."""
    frontends: Annotated[list[Frontend], Unique]
    """Ways to write such a program, FRONTENDS of src/stackwars/measure/stablehlo/sharded_frontends.py."""
    devices: Annotated[list[Annotated[int, Field(ge=2, le=64)]], Unique]
    """Numbers of devices of this machine among which a program is divided."""
    batch: dict[Batched, Count] = {}
    """Batches that differ from the preset's, for these programs."""
    workloads: dict[Workload, Division]
    """Ways in which each workload is divided. data: inputs along their batch; tensor: weights that it names."""
    slices: SlicesRow
    """Compilations for slices of a target."""


class OddSizesRow(Model):
    study: StudyName
    """A run of this study makes these checks too."""
    programs: KnownFrameworks
    """Frameworks whose programs are called."""
    compilers: Compilers
    """Compilers that call them on the CPU."""
    workloads: dict[Workload, Annotated[list[Sizes], Field(min_length=1)]]
    """Lists of sizes as a preset has them; a workload's variants are odd1, odd2, ... in this order."""


class VersionsRow(Model):
    """Releases of each project, newest first; each has pins envs/releases/<project>-<version>.txt."""

    jaxlib: Annotated[list[FlaggedVersion], Unique] | None = None
    """Releases of jaxlib, with the jax of the same version; flags of XLA may follow one."""
    iree: Annotated[list[Version], Unique] | None = None
    """Releases of IREE's compiler and runtime."""


class ReleasesRow(Model):
    study: StudyName
    """A run of this study measures the releases too."""
    programs: KnownFrameworks
    """Frameworks whose programs are compiled."""
    order: Literal["all", "bisect"]
    """Releases that make releases measures: all, or those that a bisection needs."""
    rounds: Annotated[int, Field(ge=1, le=100)]
    """Timed processes of each release."""
    seconds: Annotated[Number, Field(gt=0, le=60)]
    """Seconds for which a process times calls."""
    bound: Annotated[Number, Field(ge=0, le=1)]
    """Distance of a ratio of times from 1 from which on it is a change."""
    versions: VersionsRow
    """Releases of each project, newest first."""


class MemoryRow(Model):
    study: StudyName
    """A run of this study compares the memory of programs too."""
    compilers: Compilers
    """Compilers of module xla in which programs for the CPU are compared."""
    targets: dict[Target, Compiler] = {}
    """Compiler of each target for which programs are compared."""
    budget_s: Positive
    """Limit of a search for the cause of a difference."""


class TargetRow(Model):
    platform: Literal["tpu", "cuda"]
    """The platform of the compiler's topology."""
    topology: str
    """The topology's name, such as v6e:1x1."""
    description: Annotated[str, Named("gpu")] | None = None
    """File in measure/stablehlo that describes a GPU to XLA; cuda needs it."""
    environments: dict[Compiler, Environment] = {}
    """Environments of compilers that need another one for this target."""
    usable_hbm_bytes: dict[Compiler, Count] = {}
    """Memory limit by compiler; without it only the compiler's own refusal decides."""

    @model_validator(mode="after")
    def _check_description(self) -> Self:
        if self.platform == "cuda" and self.description is None:
            raise problem("the keys description")
        return self


class AotRow(Model):
    target: Target
    """One of targets."""
    compiler: Compiler
    """One of compilers."""
    stop_after: Literal["buffer_assignment"] | None = None
    """Where compilations of base programs end, if before their code. Variants always end here."""
    workloads: Workloads | None = None
    """Its workloads; all by default."""


class PaperRow(Model):
    listings: Workloads
    """Workloads whose programs the appendix lists, in this order."""
    graphs: Workloads
    """Workloads whose programs are drawn, in this order."""
    forms: Workloads = []
    """Workloads whose forms in each compiler are recorded and listed, in this order."""
    forms_of: Annotated[list[Framework], Unique, Field(min_length=2, max_length=2)] | None = None
    """Two frameworks whose forms are listed: of jaxpr and HLO, and of FX graph and code."""
    pairwise: list[Annotated[list[Framework], Unique, Field(min_length=2, max_length=2)]] = []
    """Pairs of stacks that are compared, the numerator first."""
    calls: Workloads | None = None
    """Workloads whose calls and profiles the text draws; all by default."""


class Settings(Model):
    seed: Annotated[int, Field(ge=0)]
    """Seed of every weight and input."""
    rounds: Annotated[int, Field(ge=1, le=100)]
    """Rounds of a cell: each a fresh process of its framework and one of its baseline. Intervals need 2."""
    matmul_precision: Literal["default", "high", "highest"]
    """Precision of every matrix product, in every framework that compiles."""
    memory_cap_gib: MemoryCap
    """Memory limit of a cell; auto is the smaller of 32 GiB and three quarters of the machine's memory."""
    timeout_s: Positive
    """Wall-clock limit for each process of a round; if it ends, the cell is a timeout."""
    steady_min_blocks: Count
    """Minimum blocks of calls after the second call."""
    steady_max_blocks: Count
    """Maximum blocks of calls after the second call."""
    side_by_side: bool = False
    """Whether processes may run at the same time, in a preset whose numbers mean nothing."""
    peak_seconds: Positive
    """Seconds for which each operation that measures the machine's peak runs."""
    steady_seconds: Positive
    """The undisturbed series of a process takes blocks until these are spent."""
    loop_pairs: Count
    """Minimum pairs of loops in a round; at most two if a block takes over a second."""
    replay_seconds: Positive
    """A replayed program is timed until these are spent."""
    compile_timeout_s: Positive
    """Wall-clock limit of a compilation for a target."""
    check_timeout_s: Positive
    """Wall-clock limit of the check of one program in one compiler."""
    cause_bound: Positive
    """Relative difference of two replayed programs from which on its cause is searched."""
    cause_seconds: Positive
    """Seconds of each timing in a search for a cause."""
    cause_budget_s: Positive
    """Limit of a search for a cause."""
    largest_batch_compilations: Count
    """Maximum compilations in the search for a model's largest batch."""
    audit_processes: Count
    """Processes per operation that alternate calls of the harness and of a third party."""
    parity_rel_l2: Positive
    """Maximum relative L2 error between two frameworks' outputs on a CPU."""


PresetSettings = create_model(
    "PresetSettings",
    __base__=Model,
    __doc__="Settings that a preset overrides.",
    **{
        name: (field.rebuild_annotation() | None, Field(None, description=field.description))
        for name, field in Settings.model_fields.items()
    },
)


class PresetRow(Model):
    settings: PresetSettings = PresetSettings()
    """Settings that this preset overrides."""
    exclude_programs: Workloads = []
    """Workloads whose programs do not go to the compilers."""
    measure: Measure
    """Studies of a run that names no others."""
    study_workloads: dict[StudyName, Workloads] = {}
    """Workloads of this preset in some studies; all of the study by default."""
    device_workloads: dict[Device, Workloads] = {}
    """Lists of device_workloads that this preset overrides."""
    rounds: dict[
        Annotated[str, Named("workload", "device", "framework", "compiler")], Annotated[int, Field(ge=0)]
    ] = {}
    """Rounds of some workloads, devices, frameworks and compilers, if fewer than in settings; 0 leaves them out."""
    block_calls: dict[Workload, Count] = {}
    """Calls in a block, the same for every framework; 1 by default."""
    variants: dict[Batched, Annotated[list[str], Unique]] = {}
    """Further sizes that are compiled for the targets: b<batch>, or b<batch>s<sequence>."""
    largest_batch: Annotated[list[Batched], Unique] = []
    """Models whose largest batch that fits is searched."""
    sizes: dict[Workload, Sizes]
    """Sizes of each workload, by the keys of its SIZES; a program file has defaults."""


class Config(Model):
    """The configuration. `stackwars.study.config.load` returns one that is validated and complete."""

    preset: Annotated[str, Named("preset")]
    """Set of sizes to measure, one of presets."""
    source: Literal["measured", "reference"]
    """measured: results of this machine; reference: the committed runs in results/reference."""
    frameworks: Annotated[dict[Framework, FrameworkRow], Field(min_length=1)]
    """Frameworks to measure, in the order of the tables."""
    comparisons: Annotated[list[ComparisonRow], Field(min_length=1)]
    """Each framework is the subject of one, or a baseline; of programs if it has no cells."""
    workloads: Workloads = []
    """Workloads in the order of the tables; by default all workloads of the studies."""
    devices: Devices
    """Devices to run on: cpu, cpu-1t, cuda, tpu. A missing one leaves its cells not run."""
    device_workloads: dict[Device, Workloads]
    """Workloads of some devices; all by default."""
    measure: Measure | None = None
    """Studies of this run; by default the studies of its preset."""
    minutes: Annotated[int, Field(ge=0)] = 0
    """Time limit of a run of the first study, which sets its rounds and leaves out what does not fit; 0: everything."""
    studies: Annotated[dict[Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")], StudyRow], Field(min_length=1)]
    """Parts of the grid. The first has the original's tables."""
    compilers: dict[Annotated[str, Field(pattern="^[a-z][a-z0-9_.-]*$")], CompilerRow]
    """Generations of XLA, and other compilers, that compile the programs."""
    explain: ExplainRow = ExplainRow()
    """Defaults of make explain."""
    audits: AuditsRow
    """Cells, replays and pairs that the audits run on."""
    growth: GrowthRow | None = None
    """Growth of the cost of compiling with a size."""
    sharding: ShardingRow | None = None
    """Programs for several devices."""
    odd_sizes: OddSizesRow | None = None
    """Sizes at which programs are called once, untimed, and their values judged."""
    releases: ReleasesRow | None = None
    """Releases of compilers in which programs are compiled, judged and timed."""
    memory: MemoryRow | None = None
    """Memory of two frontends' programs, and why it differs."""
    targets: dict[Annotated[str, Field(pattern="^[a-z][a-z0-9-]*$")], TargetRow]
    """Devices that can be compiled for without having them."""
    aot_compilations: list[AotRow]
    """Compilations without the device; the first of a target also searches for the largest batch."""
    paper: PaperRow
    """Contents of the paper, printed if they are in this run's grid."""
    settings: Settings
    """Settings of all measurements."""
    presets: Annotated[dict[str, PresetRow], Field(min_length=1)]
    """Named sets of sizes."""

    def step_document(self) -> dict[str, Any]:
        """Return the file that the steps read; none depends on what is explained."""
        return self.document(exclude={"explain"})

    @property
    def chosen(self) -> PresetRow:
        """The chosen preset."""
        return self.presets[self.preset]


def read_step(path: Path | str) -> Config:
    """Return the configuration that a step gets as a file, which was validated before it was written."""
    return Config.model_validate(documents.read(path))
