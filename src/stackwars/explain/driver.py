"""Explain programs: try each in each compiler, tell the table, search the causes of gaps and faults, write the answer.

A finished step is kept by its content, so that an explanation that was killed goes on where it was, and an edit redoes
what depends on it.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from stackwars.core import check, documents, judge
from stackwars.core.check import Checked
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.judge import Expected
from stackwars.core.outcome import Failed, Outcome, Status, of_exception
from stackwars.core.program import GraphError, Program
from stackwars.core.program_text import refusal
from stackwars.explain import answer as answers
from stackwars.explain import bundle, cause, compile_time, console, fault, memory, page, parting
from stackwars.explain import table as tables
from stackwars.explain.answer import Answer, Cause, Cell, Fault, Parting, Question, Table
from stackwars.explain.page import headline
from stackwars.explain.task import COMPILE, MEMORY, TIME, Kept, Lower, Settings, Task, digest

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


def explain(programs: Sequence[Program], compilers: Sequence[CompilerSpec], **options: Any) -> Answer:
    """Return the answer about programs of one computation, and write it to a folder as it becomes known.

    options: fields of an `Explanation`.
    """
    return Explanation(list(programs), list(compilers), **options).answer()


@dataclass
class Explanation:
    """One explanation of programs of one computation.

    evaluator: an XLA that computes expected values and parses programs. output: the folder to write into. expected: the
    values of each program and native by name; None for programs that are judged by their own operations. natives:
    workers of frameworks without StableHLO, with a `program`. lower: makes a program with other sizes. unavailable:
    why a compiler, a program or a native cannot be tried, by name. say: takes a line of progress or of the answer.
    inputs: the .npz that the arguments are from. source: a digest of what decides the natives' computation.
    bundle: PLAIN or ANONYMOUS of `bundle`, to write an archive too.
    """

    programs: list[Program]
    compilers: list[CompilerSpec]
    name: str
    title: str
    command: str
    evaluator: CompilerSpec
    output: Path
    expected: Mapping[str, Expected] | None = None
    natives: Mapping[str, Worker] = field(default_factory=dict)
    lower: Mapping[str, Lower] = field(default_factory=dict)
    unavailable: Mapping[str, Outcome] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    say: Callable[[str], None] = print
    not_tried: dict[str, list[str]] = field(default_factory=dict)
    workload: str = ""
    sizes: dict[str, int] = field(default_factory=dict)
    seed: int = 0
    inputs: str = ""
    source: str = ""
    bundle: str = ""

    def __post_init__(self) -> None:
        if self.settings.ask != TIME:
            # Others assign no buffers that could be read, or compile no StableHLO here.
            is_memory = self.settings.ask == MEMORY
            others = [spec.name for spec in self.compilers if is_memory and not spec.is_xla]
            self.compilers = [spec for spec in self.compilers if spec.name not in others]
            what = f"without {'a buffer assignment' if is_memory else 'StableHLO'}"
            self.not_tried, self.natives = {**self.not_tried, what: [*others, *self.natives]}, {}
        self._kept = Kept(self.output)
        inputs = file_digest(Path(self.inputs)) if self.inputs else ""
        self._keys = {
            program.label: digest(
                *(program.label, program.text or program.missing),
                *([argument.key for argument in program.arguments], sorted(program.sizes.items())),
                *(self.seed, inputs),
            )
            for program in self.programs
        }

    def answer(self) -> Answer:
        """Try all programs, search what the table raises, and print and write each answer when it is known."""
        expected = self._expected_values() if self.expected is None else self.expected
        table = self._table(expected)
        answers.write(self.output / "table.json", table)
        self.say("\n" + console.wrapped(console.lines(table)))
        known = Answer(
            *(self.name, self.title, self.command, self.workload, self.sizes, self.seed, self.inputs),
            *(self._write_programs(), "", 0, table),
        )
        is_pair = not self.workload and len(self.programs) == 2
        # A reader can open the page before the first search has begun.
        for found in chain([None], self._parting(table, expected), map(self._search, table.questions)):
            if isinstance(found, Parting):
                known = replace(known, parting=found)
            elif found:
                part = "faults" if isinstance(found, Fault) else "causes"
                known = replace(known, **{part: [*getattr(known, part), found]})
            if found:
                self.say("\n" + console.wrapped([console.paragraph(found)]))
            known = replace(known, exit_status=page.exit_status(table, known.causes, is_pair=is_pair))
            known = replace(known, headline=headline(known))
            page.write(self.output, known)
        self.say("\n" + console.wrapped([known.headline, *page.written(self.output)]))
        if self.bundle:
            parts = (known, self.output, self.programs, self.compilers, self.evaluator)
            self.say(console.wrapped([bundle.pack(*parts, is_anonymous=self.bundle == bundle.ANONYMOUS)]))
        return known

    def _table(self, expected: Mapping[str, Expected]) -> Table:
        columns: dict[str, Column] = {}
        for label, column in self._columns(expected):
            columns[label] = column
            outcomes = ", ".join(f"{cell.program} {console.cell_text(cell)}" for cell in column.cells)
            self.say(f"{label}: {outcomes}")
        cells = tables.with_ratios([cell for column in columns.values() for cell in column.cells])
        # No compiler is asked about these.
        refused = {one.label for one in self.programs if isinstance(one.text, str) and refusal(one.text)}
        searchable = [cell for cell in cells if cell.program not in refused]
        return Table(
            name=self.name,
            title=self.title,
            programs=[*(program.label for program in self.programs), *self.natives],
            compilers=[spec.name for spec in self.compilers],
            judge=tables.joined(values.judge for values in expected.values() if not values.reason),
            judge_reason=tables.joined(values.reason for values in expected.values()),
            differ=tables.difference(expected)
            if self.expected is None
            else tables.joined(values.difference for values in expected.values()),
            cells=cells,
            questions=tables.questions(searchable, self.compilers, self.settings),
            not_tried=self.not_tried,
            bound=self.settings.bound,
            versions={label: column.versions for label, column in columns.items()},
            ask=self.settings.ask,
            stages={program.label: dict(program.stages) for program in self.programs},
        )

    # Expected values

    def _expected_values(self) -> dict[str, Expected]:
        """Return the expected values of each program, by its own operations in float64."""
        return {
            program.label: kept_expected(
                self.output / "expected" / program.label,
                digest(VERSION, self._keys[program.label], self.evaluator),
                partial(self._evaluated, program),
            )
            for program in self.programs
        }

    def _evaluated(self, program: Program) -> tuple[Expected, bool]:
        """Return (the expected values of a program, whether it has none by an error of the harness)."""
        self.say(f"expected values of {program.label}")
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
            detail = " ".join(str(error).split())[:300]
            return Expected(reason=f"the reference evaluation failed: {detail}"), is_ours

    # Outcomes

    def _columns(self, expected: Mapping[str, Expected]) -> Iterator[tuple[str, Column]]:
        """Yield the cells of each compiler, then those of each native."""
        judged_by = {label: expected_digest(values) for label, values in expected.items()}
        shared = (self.settings.seconds, self.settings.timeout_s, self.settings.memory_cap_gib)
        if self.settings.ask != TIME:
            shared = (*shared, self.settings.ask)
        programs = [(self._keys[program.label], judged_by[program.label]) for program in self.programs]
        for spec in self.compilers:
            key = digest(VERSION, spec, programs, shared)
            yield spec.name, self._kept.answer(Column, key, partial(self._column, spec, expected), _has_error)
        for name, worker in self.natives.items():
            key = digest(VERSION, name, worker.spec, self.source, judged_by[name], self.seed, shared)
            find = partial(self._native, name, worker, expected[name])
            yield name, self._kept.answer(Column, key, find, _has_error)

    def _column(self, spec: CompilerSpec, expected: Mapping[str, Expected]) -> Column:
        """Try every program in a compiler."""
        excused = {
            program.label: Checked(outcome, is_emitted=program.label not in self.unavailable)
            for program in self.programs
            if (outcome := self.unavailable.get(program.label) or self.unavailable.get(spec.name))
        }
        programs = [program for program in self.programs if program.label not in excused]
        checked, versions, costs = excused, {}, {}
        if programs:
            with Worker(spec, **self.settings.limits) as worker:
                is_timed = self.settings.ask == TIME
                checked |= outcomes(worker, programs, expected, self.settings.seconds if is_timed else 0)
                for program in programs:
                    if not is_timed and checked[program.label].ran:
                        try:
                            costs[program.label] = self._cost(worker, program)
                        except Failed as failed:
                            seconds = checked[program.label].compile_s
                            checked[program.label] = check.refused(failed, compile_s=seconds)
                versions = _versions(worker)
        cells = [
            tables.cell(program.label, spec.name, checked[program.label], **costs.get(program.label, {}))
            for program in self.programs
        ]
        return Column(cells, versions)

    def _cost(self, worker: Worker, program: Program) -> dict[str, Any]:
        """Return the field of a cell that has what is compared in place of times."""
        if self.settings.ask == MEMORY:
            return {"memory": memory.use(worker.buffers, program)}
        found = compile_time.compiled(worker.spec, program.text, self.settings.limits)
        return {"compile_cpu_s": found.cpu / 1e9}

    def _native(self, name: str, worker: Worker, expected: Expected) -> Column:
        """Try a framework without StableHLO."""
        if outcome := self.unavailable.get(name):
            return Column([tables.cell(name, answers.NATIVE, Checked(outcome))], {})
        with worker:
            program = worker.program
            checked = outcomes(worker, [program], {program.label: expected}, self.settings.seconds)
            return Column([tables.cell(name, answers.NATIVE, checked[program.label])], _versions(worker))

    # Searches

    def _search(self, question: Question) -> Cause | Fault:
        """Return the answer to a question of the table; a search that fails is an answer too."""
        specs = {spec.name: spec for spec in self.compilers}
        programs = {program.label: program for program in self.programs}
        is_plain = self.expected is None
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

        def made() -> Cause | Fault:
            self.say(f"\nsearching {question.id}, log: {folder / LOG}")
            return search(question.kind, task, folder, self.unavailable.get(self.evaluator.name))

        result = self._kept.answer(kind, key, made, _is_broken)
        if question.other == answers.NATIVE:
            result = replace(result, b=question.b, other=answers.NATIVE)
        answers.write(folder / f"{question.kind}.json", result)
        return result

    def _parting(self, table: Table, expected: Mapping[str, Expected]) -> Iterator[Parting]:
        """Yield where two programs part that are not of one computation by their own operations; nothing if all are.

        A value that a compiler has wrong is not asked about: nothing here looks at what a compiler returned.
        """
        programs = [one for one in self.programs if not one.missing and one.label not in self.unavailable]
        odd = {label for values in expected.values() for label in values.odd}
        others = [one for one in programs if one.label not in odd]
        if self.expected is None:
            is_apart = bool(table.differ)
        else:
            is_apart = bool(odd) or any(values.disputed for values in expected.values())
        found, suspects = None, [one for one in programs if one.label in odd] or others[1:]
        for other in suspects if is_apart and others else ():
            pair = (others[0], other)
            keys = [(self._keys[one.label], one.sources) for one in pair]
            key = digest(VERSION, "parting", keys, self.evaluator, replace(self.settings, questions=0))
            self.say(f"\nsearching where {pair[0].label} and {other.label} part")
            found = self._kept.answer(Parting, key, partial(self._parted, pair), _is_broken)
            if found.verdict != answers.NOT_LOCATED:
                break
        if found:
            yield found

    def _parted(self, pair: tuple[Program, Program]) -> Parting:
        return searched(
            partial(parting.find, pair, self.evaluator, self.settings, self.say),
            Parting(*(program.label for program in pair), answers.FAILED),
            self.unavailable.get(self.evaluator.name),
            self.say,
        )

    def _write_programs(self) -> dict[str, str]:
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
    """Return the cause of a gap or of a fault, with what the search says in a log.

    kind: cause or fault. unavailable: why there is no evaluator.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOG).open("w") as log:
        say = partial(print, file=log, flush=True)
        if kind == "fault":
            failed = Fault(task.name, task.a.label, task.compiler.name, task.suspect, answers.FAILED)
            return searched(partial(fault.find, task, folder, say), failed, unavailable, say)
        b, other = task.b and task.b.label, task.other and task.other.name
        sides = (task.compiler.name, task.a.label, b, other)
        failed = Cause(task.name, *sides, answers.FAILED, "", ask=task.settings.ask)
        find = {MEMORY: memory.find, COMPILE: compile_time.find}.get(task.settings.ask, cause.find)
        return searched(partial(find, task, say, Kept(folder)), failed, unavailable, say)


def searched(find: Callable[[], T], failed: T, unavailable: Outcome | None, say: Callable[[str], None]) -> T:
    """Return what a search finds; one that raises is an answer too. unavailable: why there is no evaluator."""
    try:
        if unavailable:
            raise Failed(unavailable)
        return find()
    except Failed as error:
        return answers.failed(failed, error)
    except Exception as error:
        say(traceback.format_exc())
        detail = f"{BROKEN}{type(error).__name__}: {' '.join(str(error).split())}"[:500]
        return replace(failed, detail=detail)


def outcomes(
    worker: Worker, programs: Sequence[Program], expected: Mapping[str, Expected], seconds: float = 0
) -> dict[str, Checked]:
    """Return how each program ends in a worker, by label; those that run are timed together, unless seconds are 0."""
    checked = {program.label: _checked(worker, program, expected[program.label]) for program in programs}
    timed = [program for program in programs if seconds and checked[program.label].ran]
    times = {}
    try:
        times = check.time_together(worker, timed, seconds) if timed else {}
    except Failed:
        # Each alone tells which of them failed.
        for program in timed:
            try:
                times |= check.time_together(worker, [program], seconds)
            except Failed as failed:
                checked[program.label] = check.refused(failed, compile_s=checked[program.label].compile_s)
    return checked | {label: replace(checked[label], timing=timing) for label, timing in times.items()}


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


def _is_broken(found: Cause | Fault | Parting) -> bool:
    return found.verdict == answers.FAILED and found.detail.startswith((BROKEN, Status.ERROR))


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


def kept_expected(folder: Path, key: str, evaluate: Callable[[], tuple[Expected, bool]]) -> Expected:
    """Return the expected values in a folder if they have this key, or those that are evaluated and written now.

    evaluate: returns them, and whether they are missing by an error of the harness, which is not kept.
    """
    expected = read_expected(folder, key)
    if expected is None:
        expected, is_ours = evaluate()
        write_expected(folder, expected, "" if is_ours else key)
    return expected


def write_expected(folder: Path, expected: Expected, key: str) -> None:
    """Write expected values. key: of their content; "" if they are to be computed again."""
    folder.mkdir(parents=True, exist_ok=True)
    # The document comes last: after a kill none vouches for arrays that are not its own.
    (folder / judge.DOCUMENT).unlink(missing_ok=True)
    np.savez(folder / CERTAIN, **expected.certain)
    judge.write(folder, expected.values, expected.document() | {"key": key})


def read_expected(folder: Path, key: str) -> Expected | None:
    """Return the expected values in a folder; None if it has none, or those of another key."""
    path = folder / judge.DOCUMENT
    if not path.exists() or documents.read(path).get("key") != key:
        return None
    return replace(judge.read(folder), certain=dict(np.load(folder / CERTAIN)))


def file_digest(path: Path) -> str:
    """Return a digest of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
