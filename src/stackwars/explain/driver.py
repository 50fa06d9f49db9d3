"""Explain programs: try each in each compiler, tell the table, search the causes of gaps and faults, write the answer.

A finished step is kept by its content, so that an explanation that was killed goes on where it was, and an edit redoes
what depends on it.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from stackwars.core import check, documents, judge, machine
from stackwars.core.check import Checked
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.judge import Expected
from stackwars.core.outcome import Failed, Outcome, Status, of_exception
from stackwars.core.program import GraphError, Program
from stackwars.core.program_text import refusal
from stackwars.explain import answer as answers
from stackwars.explain import cause, console, fault, page
from stackwars.explain import table as tables
from stackwars.explain.answer import FAILED, Answer, Cause, Cell, Fault, Question, Table
from stackwars.explain.headline import headline
from stackwars.explain.kept import Kept, digest
from stackwars.explain.table import NATIVE
from stackwars.explain.task import Lower, Settings, Task

VERSION = 2
"""Number of the protocol by which steps are done; another one redoes all of them."""
LOG = "search.txt"
CERTAIN = "certain.npz"
BROKEN = "the search failed: "
"""Begins the detail of an answer whose search raised: a fault of the harness."""
T = TypeVar("T")


@dataclass(frozen=True)
class Column:
    """The cells of one compiler or one native framework, and the versions of its packages."""

    cells: list[Cell]
    versions: dict[str, str]


def explain(
    programs: Sequence[Program],
    compilers: Sequence[CompilerSpec],
    *,
    name: str,
    title: str,
    command: str,
    evaluator: CompilerSpec,
    output: Path,
    expected: Mapping[str, Expected] | None = None,
    natives: Mapping[str, Worker] | None = None,
    lower: Mapping[str, Lower] | None = None,
    unavailable: Mapping[str, Outcome] | None = None,
    settings: Settings | None = None,
    say: Callable[[str], None] = print,
    not_tried: Mapping[str, list[str]] | None = None,
    workload: str = "",
    sizes: Mapping[str, int] | None = None,
    seed: int = 0,
    inputs: str = "",
    source: str = "",
) -> Answer:
    """Return the answer about programs of one computation, and write it to a folder as it becomes known.

    evaluator: an XLA that computes expected values and parses programs. expected: the values of each program and
    native by name; None for programs that are judged by their own operations. natives: workers of frameworks without
    StableHLO, with a `program`. lower: makes a program with other sizes. unavailable: why a compiler, a program or a
    native cannot be tried, by name. say: takes a line of progress or of the answer. inputs: the .npz that the
    arguments are from. source: what decides the natives' computation.
    """
    run = _Run(
        list(programs), list(compilers), evaluator, output, dict(natives or {}), dict(lower or {}),
        dict(unavailable or {}), settings or Settings(), say, seed, inputs, source,
    )  # fmt: skip
    versions: dict[str, dict[str, str]] = {}
    judges = dict(expected) if expected is not None else run.expected_values()
    cells: list[Cell] = []
    for label, column in run.columns(judges):
        versions[label] = column.versions
        cells += column.cells
        say(f"{label}: {', '.join(f'{cell.program} {console.cell_text(cell)}' for cell in column.cells)}")
    cells = tables.with_ratios(cells)
    # No compiler is asked about these.
    refused = [one.label for one in programs if isinstance(one.text, str) and refusal(one.text)]
    table = Table(
        name=name,
        title=title,
        programs=[*(program.label for program in programs), *run.natives],
        compilers=[spec.name for spec in compilers],
        judge=tables.joined(one.judge for one in judges.values() if not one.reason),
        judge_reason=tables.joined(one.reason for one in judges.values()),
        differ=tables.difference(judges)
        if expected is None
        else tables.joined(one.difference for one in judges.values()),
        cells=cells,
        questions=tables.questions(
            [cell for cell in cells if cell.program not in refused], compilers, run.settings
        ),
        not_tried=dict(not_tried or {}),
        bound=run.settings.bound,
        versions=versions,
        machine=machine.record(),
        source=machine.revision(),
    )
    answers.write(output / "table.json", table)
    say("\n" + console.wrapped(console.lines(table)))
    known = Answer(
        *(name, title, command, workload, dict(sizes or {}), seed, inputs, run.write_programs()),
        headline="",
        exit_status=0,
        table=table,
    )
    for question in (None, *table.questions):
        if question:
            found = run.search(question, is_plain=expected is None)
            part = "faults" if isinstance(found, Fault) else "causes"
            known = replace(known, **{part: [*getattr(known, part), found]})
            say("\n" + console.wrapped([console.paragraph(found)]))
        # A reader can open the page before the last search has ended.
        known = replace(
            known,
            exit_status=page.exit_status(table, known.causes, is_pair=not workload and len(programs) == 2),
        )
        known = replace(known, headline=headline(known))
        page.write(output, known)
    say("\n" + console.wrapped([known.headline, *page.written(output)]))
    return known


@dataclass
class _Run:
    """The steps of one explanation."""

    programs: list[Program]
    compilers: list[CompilerSpec]
    evaluator: CompilerSpec
    output: Path
    natives: dict[str, Worker]
    lower: dict[str, Lower]
    unavailable: dict[str, Outcome]
    settings: Settings
    say: Callable[[str], None]
    seed: int
    inputs: str
    source: str

    def __post_init__(self) -> None:
        self._kept = Kept(self.output)
        self._given = file_digest(Path(self.inputs)) if self.inputs else ""
        self._keys = {program.label: self._program_key(program) for program in self.programs}

    def _program_key(self, program: Program) -> str:
        keys = [argument.key for argument in program.arguments]
        return digest(
            *(program.label, program.text or program.missing, keys, sorted(program.sizes.items())),
            *(self.seed, self._given),
        )

    def _once(self, kind: type[T], key: str, make: Callable[[], T], is_ours: Callable[[T], bool]) -> T:
        """Return what a step found before, or finds now. is_ours: whether an outcome is an error of the harness."""
        if (value := self._kept.get(key)) is not None:
            return answers.parse(kind, value)
        found = make()
        if not is_ours(found):
            self._kept.put(key, asdict(found))
        return found

    # Expected values

    def expected_values(self) -> dict[str, Expected]:
        """Return the expected values of each program, by its own operations in float64."""
        result = {}
        for program in self.programs:
            key = digest(VERSION, self._keys[program.label], self.evaluator)
            folder = self.output / "expected" / program.label
            found = read_expected(folder, key)
            if found is None:
                self.say(f"expected values of {program.label}")
                found, is_ours = self._evaluated(program)
                write_expected(folder, found, "" if is_ours else key)
            result[program.label] = found
        return result

    def _evaluated(self, program: Program) -> tuple[Expected, bool]:
        """Return (the expected values of a program, whether it has none by an error of the harness)."""
        if program.missing:
            return Expected(reason=f"no program to evaluate: {program.missing}"), False
        if outcome := self.unavailable.get(self.evaluator.name):
            return Expected(reason=outcome.detail), True
        limits = self.settings.limits | {"timeout_s": self.settings.budget_s}
        try:
            with Worker(self.evaluator, **limits) as worker:
                graph = worker.graph(program.text)
                return judge.expected_values(worker, graph, program.arguments, text=program.text), False
        except (Failed, GraphError, MemoryError) as error:
            is_ours = isinstance(error, Failed) and error.outcome.status is Status.ERROR
            said = " ".join(str(error).split())[:300]
            return Expected(reason=f"the reference evaluation failed: {said}"), is_ours

    # Outcomes

    def columns(self, expected: Mapping[str, Expected]) -> Iterator[tuple[str, Column]]:
        """Yield the cells of each compiler, then those of each native."""
        judged_by = {label: expected_digest(found) for label, found in expected.items()}
        shared = (self.settings.seconds, self.settings.timeout_s, self.settings.memory_cap_gib)
        for spec in self.compilers:
            programs = [(self._keys[program.label], judged_by[program.label]) for program in self.programs]
            key = digest(VERSION, spec, programs, shared)
            yield spec.name, self._once(Column, key, partial(self._column, spec, expected), _has_error)
        for name, worker in self.natives.items():
            key = digest(VERSION, name, worker.spec, self.source, judged_by[name], self.seed, shared)
            yield name, self._once(Column, key, partial(self._native, name, worker, expected[name]), _has_error)

    def _column(self, spec: CompilerSpec, expected: Mapping[str, Expected]) -> Column:
        """Try every program in a compiler."""
        excused = {
            program.label: Checked(outcome, is_emitted=program.label not in self.unavailable)
            for program in self.programs
            if (outcome := self.unavailable.get(program.label) or self.unavailable.get(spec.name))
        }
        programs = [program for program in self.programs if program.label not in excused]
        found, versions = {}, {}
        if programs:
            with Worker(spec, **self.settings.limits) as worker:
                found = outcomes(worker, programs, expected, self.settings.seconds)
                versions = _versions(worker)
        found |= excused
        cells = [tables.cell(program.label, spec.name, found[program.label]) for program in self.programs]
        return Column(cells, versions)

    def _native(self, name: str, worker: Worker, expected: Expected) -> Column:
        """Try a framework without StableHLO."""
        if outcome := self.unavailable.get(name):
            return Column([tables.cell(name, NATIVE, Checked(outcome))], {})
        with worker:
            program = worker.program
            found = outcomes(worker, [program], {program.label: expected}, self.settings.seconds)
            versions = _versions(worker)
        return Column([tables.cell(name, NATIVE, found[program.label])], versions)

    # Searches

    def search(self, question: Question, is_plain: bool) -> Cause | Fault:
        """Return the answer to a question of the table; a search that fails is an answer too."""
        specs = {spec.name: spec for spec in self.compilers}
        programs = {program.label: program for program in self.programs}
        task = Task(
            question.id,
            programs[question.a],
            specs[question.compiler],
            self.evaluator,
            programs.get(question.b),
            specs.get(question.other),
            is_plain=is_plain,
            suspect=question.status,
            gap=question.gap,
            settings=self.settings,
            lower=self.lower.get(question.a),
        )
        sides = [program and (self._keys[program.label], program.sources) for program in (task.a, task.b)]
        # How many questions there are changes no answer.
        settings = replace(self.settings, questions=0)
        content = (*sides, task.compiler, task.other, self.evaluator, is_plain, question.status, settings)
        key = digest(VERSION, question.kind, question.id, content)
        folder = self.output / f"{question.kind}s" / question.id
        kind = Fault if question.kind == "fault" else Cause
        found = self._once(kind, key, partial(self._searched, question, task, folder), _is_broken)
        answers.write(folder / f"{question.kind}.json", found)
        return found

    def _searched(self, question: Question, task: Task, folder: Path) -> Cause | Fault:
        self.say(f"\nsearching {question.id}, log: {folder / LOG}")
        return search(question.kind, task, folder, self.unavailable.get(self.evaluator.name))

    def write_programs(self) -> dict[str, str]:
        """Write the programs that do not lie in the output folder; return {label: path}."""
        result = {}
        for program in self.programs:
            folder, file = self.output / "programs" / program.label, program.file or f"{program.label}.mlir"
            packed = folder / f"{file}.gz"
            path = packed if packed.exists() else folder / file
            if program.text and path != packed:
                folder.mkdir(parents=True, exist_ok=True)
                path.write_bytes(program.text.encode() if isinstance(program.text, str) else program.text)
            result[program.label] = str(path)
        return result


def search(kind: str, task: Task, folder: Path, unavailable: Outcome | None = None) -> Cause | Fault:
    """Return the cause of a gap or of a fault, with what the search says in a log; one that fails is an answer too.

    kind: cause or fault. unavailable: why there is no evaluator.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOG).open("w") as log:
        say = partial(print, file=log, flush=True)
        try:
            if unavailable:
                raise Failed(unavailable)
            return fault.find(task, folder, say) if kind == "fault" else cause.find(task, say, Kept(folder))
        except Exception as error:
            traceback.print_exc(file=log)
            detail = f"{BROKEN}{type(error).__name__}: {' '.join(str(error).split())}"[:500]
    if kind == "fault":
        return Fault(task.name, task.a.label, task.compiler.name, task.suspect, FAILED, detail)
    other = task.other and task.other.name
    return Cause(task.name, task.compiler.name, task.a.label, task.b and task.b.label, other, FAILED, detail)


def outcomes(
    worker: Worker, programs: Sequence[Program], expected: Mapping[str, Expected], seconds: float
) -> dict[str, Checked]:
    """Return how each program ends in a worker, by label; those that run are timed together."""
    found = {program.label: _checked(worker, program, expected[program.label]) for program in programs}
    timed = [program for program in programs if found[program.label].ran]
    try:
        times = check.time_together(worker, timed, seconds) if timed else {}
    except Failed:
        # Each alone tells which of them failed.
        times = {}
        for program in timed:
            try:
                times |= check.time_together(worker, [program], seconds)
            except Failed as failed:
                found[program.label] = check.refused(failed, compile_s=found[program.label].compile_s)
    return found | {label: replace(found[label], timing=timing) for label, timing in times.items()}


def _checked(worker: Worker, program: Program, expected: Expected) -> Checked:
    try:
        return check.check(worker, program, expected)
    except (MemoryError, ValueError) as error:  # of the values of its arguments
        return Checked(of_exception(type(error).__name__, str(error)))


def _versions(worker: Worker) -> dict[str, str]:
    try:
        return worker.versions()
    except Failed:
        return {}


def _has_error(column: Column) -> bool:
    return any(cell.status is Status.ERROR for cell in column.cells)


def _is_broken(found: Cause | Fault) -> bool:
    return found.verdict == FAILED and found.detail.startswith((BROKEN, Status.ERROR))


def expected_digest(expected: Expected) -> str:
    """Return a key of expected values: equal for equal content."""
    document: dict[str, Any] = expected.document()
    arrays = {**expected.values, **{f"certain {key}": mask for key, mask in expected.certain.items()}}
    # A file holds values in float32 if that is enough.
    hashes = {
        key: hashlib.sha256(np.asarray(array, np.float32).tobytes()).hexdigest()
        if array.dtype == np.float64
        else hashlib.sha256(array.tobytes()).hexdigest()
        for key, array in arrays.items()
    }
    return digest(
        *(document["judge"], document["reason"], document["left_open"], sorted(document["odd"].items())),
        *(sorted(document["limits"].items()), sorted(hashes.items())),
    )


def write_expected(folder: Path, expected: Expected, key: str) -> None:
    """Write expected values. key: of their content; "" if they are to be computed again."""
    judge.write(folder, expected.values, expected.document() | {"key": key})
    np.savez(folder / CERTAIN, **expected.certain)


def read_expected(folder: Path, key: str) -> Expected | None:
    """Return the expected values in a folder; None if it has none, or those of another key."""
    path = folder / judge.DOCUMENT
    if not path.exists() or documents.read(path).get("key") != key:
        return None
    return replace(judge.read(folder), certain=dict(np.load(folder / CERTAIN)))


def file_digest(path: Path) -> str:
    """Return a digest of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
