"""The answer of `explain`: what is known of every program in every compiler, and why.

explain.json, cause.json and fault.json are these classes as JSON; console, page, Markdown, report and tables render
them. Schema 3: an answer says where two programs part, has calls and sequences, and tables and causes say what was
asked. Schema 2: outcomes have the words of `stackwars.core.outcome`; 1 had right, refused, hang and failed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from stackwars.core import documents
from stackwars.core.check import Timing
from stackwars.core.machine import record, revision
from stackwars.core.outcome import Failed, Status
from stackwars.core.ratio import Estimate
from stackwars.explain.task import TIME

SCHEMA = 3
CAUSE, SPREAD, NOT_SEPARABLE = "cause", "spread", "not separable"
NO_GAP, DIFFERENT, FAILED, NOT_DECIDED = "no gap", "different values", "failed", "not decided"
NO_CAUSE = "no cause"
"""Verdicts of a search for the cause of a gap; NOT_DECIDED also of one for the cause of a compilation, and NO_CAUSE of
one for a program that does not compile long."""
REDUCED, NOT_REDUCED, RIGHT = "reduced", "not reduced", "right"
"""Verdicts of a search for a fault, besides FAILED. RIGHT: in all further tries, so that it was seen once."""
CLASSIFIED, NOT_CLASSIFIED, NOT_LOCATED = "classified", "not classified", "not located"
"""Verdicts of a search for where two programs part, besides FAILED."""
NATIVE = "itself"
"""In the place of a compiler, for what has no StableHLO: eager PyTorch, TorchInductor and NumPy."""
LAYOUT, OPERATIONS = "argument layout", "operations"
COMPUTED, REPEATED = "values computed while compiling", "repeated operations"
"""Differences of a region, and what else one may be for which a program compiles long."""
SHAPE, TYPE, WEAK_TYPE, SCALAR, VALUES = "shape", "element type", "weak type", "Python scalar", "values"
"""Differences between the arguments of two calls, and causes of a compilation."""
FOLDED, SHARED, FIRST_VALUE = "constant", "equal scalars", "first value"
SAME, TOGETHER = "same arguments", "together"
"""Further causes, besides NOT_DECIDED: how a program holds a Python scalar, and those that name no argument alone."""
CAUSES = {
    SHAPE: "a shape is part of the program: {}",
    TYPE: "a type is part of the program: {}",
    f"{SHAPE} and {TYPE}": "shape and type are part of the program: {}",
    WEAK_TYPE: "a Python scalar, whose type is weak, and an array need different programs: {}",
    VALUES: "values choose the program: {}",
    SCALAR: "it is not decided whether the value of a Python scalar is part of the program: {}",
    FOLDED: "a Python scalar is part of the program: {}",
    SHARED: "equal Python scalars are one argument of the program, and different ones are equal now: {}",
    FIRST_VALUE: "a Python scalar was a constant of the earlier program and is an argument now: {}",
    SAME: "it compiles again with the same arguments",
    TOGETHER: "no argument alone, but all that differ together: {}",
    NOT_DECIDED: "the cause is not decided",
}
"""Why a call compiled again, in words, by the cause of a `Call`."""
T = TypeVar("T")


@dataclass(frozen=True)
class Interval:
    """A ratio of times with its 95 % interval; None without one."""

    value: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, estimate: Estimate) -> Interval:
        return cls(*estimate)


@dataclass(frozen=True)
class Share:
    """A share of a gap with its 95 % interval; None without one."""

    share: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Rate:
    """Speed of a region alone. cores: that a call uses; None if it is too short to tell. of_peak: of the rate of a
    large product here.
    """

    ms: float
    cores: float | None
    gflops: float | None
    gbytes_s: float
    of_peak: float | None = None


@dataclass(frozen=True)
class Reason:
    """Why a region is slow: what it does in both programs; None if it does nothing there."""

    a: Rate | None = None
    b: Rate | None = None
    sentence: str = ""


@dataclass(frozen=True)
class Region:
    """One kind of region of a cause.

    count: places that have it. what: LAYOUT or OPERATIONS. share: of the gap, timed alone. line_a, line_b: the place of
    its heaviest operation. a, b: its operations as text, in which one number is one value of both sides. a_ms, b_ms:
    one alone. reason: empty if it could not be timed. differs: what differs inside the heaviest operation; between
    compilers, what is special about it.
    """

    count: int
    what: str
    share: float | None
    line_a: str
    line_b: str
    a: list[str]
    b: list[str]
    a_ms: float | None = None
    b_ms: float | None = None
    reason: Reason = field(default_factory=Reason)
    differs: str = ""


@dataclass(frozen=True)
class Option:
    """An option of a compiler that changes a gap between compilers. ratio: of the time with it to that without."""

    compiler: str
    flag: str
    ratio: float
    share: float


@dataclass(frozen=True)
class Tried:
    """Numbers of a search. curve: the share that the first kinds close, by their number."""

    operations: list[int] = field(default_factory=list)
    classes: int = 0
    kinds: int = 0
    curve: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Cause:
    """Why program a takes longer than program b, or longer than in another compiler; or why it compiles long.

    other: the other compiler; NATIVE if a takes longer than b, a framework without StableHLO, in which no region can be
    timed: then shares are of the time of all regions of a. verdict: one of those above; detail: in words. closed: the
    share of the gap that the regions close together; between compilers, that they make up. left_ms: what of the gap is
    left. ratio: of fresh processes; table_ratio: of the table, if it is outside of that interval. ask: the objective;
    a_bytes, b_bytes: of a gap in memory. If compiling was asked for, times are the processor's; b is None if a alone
    compiles long. passes: seconds of compiling a, by XLA's clock. growth: the power of each size with which they grow.
    reduced, script: texts of reduced.mlir and reproduce.py.
    """

    name: str
    compiler: str
    a: str
    b: str | None
    other: str | None
    verdict: str
    detail: str
    a_ms: float | None = None
    b_ms: float | None = None
    ratio: Interval | None = None
    closed: Share | None = None
    left_ms: float | None = None
    regions: list[Region] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    tried: Tried | None = None
    seconds: float = 0.0
    table_ratio: float | None = None
    ask: str = TIME
    a_bytes: int | None = None
    b_bytes: int | None = None
    passes: dict[str, float] = field(default_factory=dict)
    growth: dict[str, Interval] = field(default_factory=dict)
    reduced: str = ""
    script: str = ""
    schema: int = SCHEMA

    @property
    def program(self) -> str:
        """The slower program; the sides of a gap between compilers are "program in compiler"."""
        return self.a.removesuffix(f" in {self.compiler}")

    @property
    def gap_id(self) -> str:
        """The id of the question that it answers."""
        b = self.b if self.other in (None, NATIVE) else None
        return gap_id(self.compiler, self.program, b, self.other)


@dataclass(frozen=True)
class Variant:
    """A program under a flag or without a pass. outcome: a Status, or `differs`. ratio: of its time to that without."""

    variant: str
    flag: str
    outcome: str
    ratio: float | None
    compile_s: float | None
    changed: bool


@dataclass(frozen=True)
class Fault:
    """Why a program is wrong, crashes, hangs or is refused in a compiler.

    kind: how it ended. detail: why there is no reduction, or what the compiler did. operations: how many before and
    after reduction. region: what is left; lines: its places; shapes: sizes with which it is left. error: what is
    wrong. cures: flags under which it is right. reproduced: whether reproduce.py showed it in a fresh process.
    reduced, script: texts of reduced.mlir and reproduce.py.
    """

    name: str
    program: str
    compiler: str
    kind: str
    verdict: str = ""
    detail: str = ""
    operations: list[int] = field(default_factory=lambda: [0, 0])
    region: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    shapes: dict[str, int] = field(default_factory=dict)
    error: str = ""
    judge: str = ""
    cures: list[str] = field(default_factory=list)
    ablation: list[Variant] = field(default_factory=list)
    reproduced: bool = False
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    reduced: str = ""
    script: str = ""
    seconds: float = 0.0
    schema: int = SCHEMA


@dataclass(frozen=True)
class Parting:
    """Where programs a and b of one computation begin to compute different things.

    verdict: one of those above. detail: the difference in words, or why there is none. kind: of the difference, see
    `parting`; "" unless CLASSIFIED. value_a, value_b: the operations of the first values that differ, with types;
    line_a, line_b: their places. error: between the two values, over the largest. matched: tensors of both programs.
    is_all: whether all results are equal once the difference is undone.
    """

    a: str
    b: str
    verdict: str
    detail: str = ""
    kind: str = ""
    value_a: str = ""
    value_b: str = ""
    line_a: str = ""
    line_b: str = ""
    error: float | None = None
    matched: int = 0
    is_all: bool = False
    seconds: float = 0.0
    schema: int = SCHEMA


@dataclass(frozen=True)
class Buffer:
    """A buffer that lives at the peak. kind: argument, output, constant or temporary. operation: that makes it."""

    kind: str
    bytes: int
    operation: str
    shape: str
    line: str = ""


@dataclass(frozen=True)
class Memory:
    """Bytes that XLA assigned to a program. alias: outputs in arguments' memory. peak: buffers, the largest first."""

    argument: int
    output: int
    constant: int
    temporary: int
    alias: int
    peak: list[Buffer] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.argument + self.output + self.constant + self.temporary - self.alias


@dataclass(frozen=True)
class Cell:
    """A program in a compiler, or in a framework without StableHLO (compiler is NATIVE).

    detail, operation: of a compiler that refuses it. is_emitted: whether there is a program. wrong, total: elements.
    ratio: of its cost to the best of the table. compile_s: by the clock; compile_cpu_s: by the processor, in a fresh
    process.
    """

    program: str
    compiler: str
    status: Status
    detail: str = ""
    operation: str = ""
    is_emitted: bool = True
    wrong: int | None = None
    total: int | None = None
    l2: float | None = None
    largest: float | None = None
    where: str | None = None
    limit: float | None = None
    flaky: bool | None = None
    compile_s: float | None = None
    timing: Timing | None = None
    ratio: float | None = None
    memory: Memory | None = None
    compile_cpu_s: float | None = None

    @property
    def ms(self) -> float | None:
        return self.timing and self.timing.ms

    @property
    def cost(self) -> float | None:
        """What is compared: bytes or seconds of compiling if these were asked for, else ms; None if there is none."""
        if self.memory:
            return self.memory.total
        return self.ms if self.compile_cpu_s is None else self.compile_cpu_s


@dataclass(frozen=True)
class Question:
    """Question of a table.

    kind `cause`: why a is slower in compiler than b, than in compiler other, or than b without StableHLO (other is
    NATIVE). kind `fault`: program a, whose status is given.
    """

    kind: str
    id: str
    compiler: str
    a: str
    b: str | None = None
    other: str | None = None
    gap: float | None = None
    status: str = ""


def gap_id(compiler: str, a: str, b: str | None, other: str | None) -> str:
    return ".".join(filter(None, (compiler, a, b, other)))


@dataclass(frozen=True)
class Table:
    """Every program in every compiler.

    judge: what the values were compared with; judge_reason: why there are none. differ: how the programs compute
    different things; "" if they do not. not_tried: {what: names} of what the configuration has besides. stages: seconds
    of each program's frontend.
    """

    name: str
    title: str
    programs: list[str]
    compilers: list[str]
    judge: str
    judge_reason: str
    differ: str
    cells: list[Cell]
    questions: list[Question]
    not_tried: dict[str, list[str]]
    bound: float
    versions: dict[str, dict[str, str]]
    machine: dict[str, Any] = field(default_factory=record)
    source: dict[str, Any] = field(default_factory=revision)
    ask: str = TIME
    stages: dict[str, dict[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """A call in a framework.

    traced to splits: how often it did so; None if it does not count it. programs: that ran. splits: places where the
    call went back to Python. against: the earlier call with the fewest other arguments, which are the differences.
    cause: why it compiled again, and the parameters that cause it. reasons: in the framework's own words.
    """

    number: int
    status: Status
    detail: str = ""
    traced: int | None = None
    lowered: int | None = None
    compiled: int | None = None
    programs: int | None = None
    splits: int | None = None
    seconds: float | None = None
    trace_s: float | None = None
    compile_s: float | None = None
    reasons: list[str] = field(default_factory=list)
    against: int | None = None
    differences: list[str] = field(default_factory=list)
    cause: str = ""
    parameters: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class CallSequence:
    """The calls of a program file's calls() in a framework. processes: that the search started."""

    framework: str
    calls: list[Call]
    processes: int
    seconds: float
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def compiling(self) -> int:
        return sum(bool(call.compiled) for call in self.calls)


@dataclass(frozen=True)
class Answer:
    """All that is known of some programs. causes, faults: in the order of the table's questions.

    parting: of programs that compute different things. calls: the arguments of each call of calls() by parameter, in
    words; sequences: the calls in each framework.
    """

    name: str
    title: str
    command: str
    workload: str
    sizes: dict[str, int]
    seed: int
    inputs: str
    programs: dict[str, str]
    headline: str
    exit_status: int
    table: Table
    causes: list[Cause] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    parting: Parting | None = None
    calls: list[dict[str, str]] = field(default_factory=list)
    sequences: list[CallSequence] = field(default_factory=list)
    schema: int = SCHEMA


def failed(found: T, error: Exception) -> T:
    """Return an answer whose search raised, with the reason; the status of a `Failed` tells an error of ours."""
    detail = f"{error.outcome.status}: {error}" if isinstance(error, Failed) else str(error)
    return replace(found, verdict=FAILED, detail=detail[:1000])


def write(path: Path, answer: Any) -> None:
    """Write an answer, or a part of one, as JSON."""
    documents.write(path, asdict(answer))


def read(kind: type[T], path: Path) -> T:
    """Return what `write` wrote.

    :raises ValueError: if the file holds something else, naming the key.
    """
    return parse(kind, documents.read(path))


def parse(kind: type[T], document: Any) -> T:
    """Return the answer, or the part of one, that is JSON.

    :raises ValueError: if it is something else, naming the key.
    """
    from pydantic import TypeAdapter

    return TypeAdapter(kind).validate_python(document)
