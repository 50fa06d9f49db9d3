"""Find the cause of a wrong value, a crash, a hang or a refusal of one program in one compiler.

The whole program is tried again; then the sizes of its workload are made as small as the fault allows, then its
operations as few. Flags and passes that cure what is left are listed, and a reproducer is written and run in a fresh
process.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from stackwars.core.client import Worker
from stackwars.core.compilers import INPUT_SETS, iree
from stackwars.core.evaluate import is_interpretable
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.core.program import Graph, GraphError, Op, Program
from stackwars.core.types import ElementTypeError, as_type, dtype, is_float
from stackwars.explain import reproducer
from stackwars.explain.ablation import DISABLE, ablate, cures
from stackwars.explain.answer import NOT_REDUCED, REDUCED, RIGHT, Fault, failed
from stackwars.explain.bench import arguments_of
from stackwars.explain.reduction import WHILE, Reduction, Subset, Trial, Trials, smallest_sizes
from stackwars.explain.regions import MOVES
from stackwars.explain.task import Task

SIZES_SHARE, OPERATIONS_SHARE = 0.4, 0.7
"""Shares of the budget after which sizes, and operations, are no longer made fewer."""


@dataclass(frozen=True)
class FaultyPart:
    """A program, and a part of it with the fault. arrays: of the part's arguments; None for the program's values."""

    program: Program
    trials: Trials
    subset: Subset
    trial: Trial
    arrays: dict[int, np.ndarray] | None = None

    @property
    def operations(self) -> list[Op]:
        return self.trials.subsets.operations(self.subset)

    @property
    def count(self) -> int:
        """Number of operations without constants."""
        return sum(op.name != "stablehlo.constant" for op in self.operations)

    def values(self) -> dict[int, np.ndarray]:
        return self.trials.arguments(self.subset) if self.arrays is None else self.arrays


class FaultSearch:
    """Makes a program with a fault smaller. task: of the program. suspect, evaluator: workers of its compilers."""

    def __init__(self, task: Task, suspect: Worker, evaluator: Worker) -> None:
        self.tries = 0  # of the whole program
        self._task, self._suspect, self._evaluator = task, suspect, evaluator
        self._start = time.monotonic()

    def left(self, share: float = 1.0) -> float:
        """Return the seconds until this share of the budget is spent."""
        return self._start + share * self._task.settings.budget_s - time.monotonic()

    def whole(self, program: Program, judges: Sequence[bool] = (False, True)) -> FaultyPart:
        """Try a whole program, with each set of inputs until one has the fault.

        judges: in turn, whether the interpreter judges it.

        :raises Failed: if its text cannot be read, or it has other arguments.
        """
        graph = self._graph(program.text)
        arguments = arguments_of(program, graph)
        # Single operations judge faster, and a search tries dozens of subsets. The interpreter, which is the table's
        # judge of small programs, finds what an XLA computes wrongly even alone.
        usable = [one for one in judges if not one or is_interpretable(graph, graph.module())]
        for is_interpreted, number in itertools.product(usable or [False], range(INPUT_SETS)):
            values = [as_type(get(number), graph.types[value]) for value, get in arguments.items()]
            trials = Trials(self._suspect, self._evaluator, graph, values, is_interpreted)
            trial = trials.try_subset(trials.subsets.whole())
            self.tries += 1
            if trial.status is not Status.OK:
                break
        return FaultyPart(program, trials, trials.subsets.whole(), trial)

    def smaller(self, part: FaultyPart) -> FaultyPart:
        """Return the program with the smallest sizes that have the fault."""
        best, sizes = part, part.program.sizes
        if not self._task.lower or not sizes:
            return part

        def is_faulty(sizes: dict[str, int]) -> bool:
            nonlocal best
            self._check(SIZES_SHARE)
            program = self._task.lower(sizes)
            if program is None or program.missing:
                return False
            try:
                found = self.whole(replace(program, sizes=sizes), [part.trials.is_interpreted])
            except (Failed, GraphError, ElementTypeError):
                return False
            if is_same := found.trial.has_same_fault(part.trial):
                best = found
            return is_same

        smallest = smallest_sizes(sizes, is_faulty)
        return best if best.program.sizes == smallest else part

    def reduce(self, part: FaultyPart) -> FaultyPart:
        """Return the smallest part with the fault."""
        trials, is_judged = part.trials, part.trial.status is Status.WRONG

        def is_faulty(subset: Subset) -> bool:
            self._check(OPERATIONS_SHARE)
            return trials.try_subset(subset, is_judged=is_judged).has_same_fault(part.trial)

        subset = Reduction(trials.subsets, is_faulty).run()
        arguments = trials.subsets.arguments(subset)
        types = [trials.subsets.graph.types[value] for value in arguments]
        # A reproducer draws values from a seed, if they have the fault too: then it needs no file beside it.
        arrays = dict(zip(arguments, reproducer.seeded(reproducer.array_types(types)), strict=True))
        trial = trials.try_subset(subset, arrays, is_judged=is_judged)
        if not trial.has_same_fault(part.trial):
            arrays, trial = None, trials.try_subset(subset, is_judged=is_judged)
        reduced = FaultyPart(part.program, trials, subset, trial, arrays)
        if trial.expected is None:
            # Once a crash is gone, the reproducer says whether the values are right.
            expected = trials.expected(subset, reduced.values())
            reduced = replace(reduced, trial=replace(trial, expected=None if expected.reason else expected))
        return reduced

    def enter_loop(self, part: FaultyPart) -> FaultyPart:
        """Return the fault in the body of a loop, if the loop is all that is left and its body has the fault alone."""
        ops = [op for op in part.operations if op.operands]
        if len(ops) != 1 or ops[0].name != WHILE:
            return part
        try:
            trials = part.trials.enter_loop(part.subset, ops[0], part.values())
        except (Failed, GraphError):
            return part
        whole = trials.subsets.whole()
        trial = trials.try_subset(whole, is_judged=part.trial.status is Status.WRONG)
        same = trial.has_same_fault(part.trial)
        return self.reduce(FaultyPart(part.program, trials, whole, trial)) if same else part

    def pretty(self, text: str) -> str:
        """Return a program in the short form, by whichever XLA knows all of its operations."""
        for worker in (self._evaluator, self._suspect):
            try:
                if worker.spec.is_xla:
                    return worker.pretty(text)
            except Failed:
                continue
        return text

    def _check(self, share: float) -> None:
        if self.left(share) < 0:
            raise TimeoutError("no time is left")

    def _graph(self, text: str | bytes) -> Graph:
        try:
            return self._evaluator.graph(text)
        except Failed:
            if not self._suspect.spec.is_xla:
                raise
            # Such as an operation that the evaluator's release does not have.
            return self._suspect.graph(text)


def find(task: Task, folder: Path, say: Callable[[str], None] = print) -> Fault:
    """Return the cause of the fault of program a; write reduced.mlir, reproduce.py and reproduce.log into a folder.

    The verdict is FAILED if the program cannot be tried, RIGHT if it has no fault, and NOT_REDUCED if nobody knows, or
    if only its text as it was emitted has the fault.
    """
    start = time.monotonic()
    fault = Fault(task.name, task.a.label, task.compiler.name, task.suspect or Status.WRONG)
    try:
        if task.a.missing:
            raise Failed(Outcome(Status.UNSUPPORTED, task.a.missing))
        fault = _find(task, fault, folder, say)
    except (Failed, GraphError, ElementTypeError) as error:
        fault = failed(fault, error)
    say(f"{fault.kind}, {fault.verdict}: {fault.error} {fault.detail}".rstrip())
    return replace(fault, seconds=round(time.monotonic() - start, 1))


def _find(task: Task, fault: Fault, folder: Path, say: Callable[[str], None]) -> Fault:
    # Each command of a program that hangs takes this long.
    timeout_s = 20.0 if task.suspect == Status.TIMEOUT else task.settings.timeout_s
    cap = task.settings.memory_cap_gib
    with (
        Worker(task.compiler, timeout_s=timeout_s, cap_gib=cap) as suspect,
        Worker(task.evaluator, cap_gib=cap) as evaluator,
    ):
        search = FaultSearch(task, suspect, evaluator)
        part = search.whole(task.a)
        is_in_operations = part.trial.status is not Status.OK
        if not is_in_operations:
            # With the functions, attributes and unused arguments that a subset does not have.
            trial = part.trials.try_subset(part.subset, emitted=task.a.text)
            part = replace(part, trial=trial)
            search.tries += 1
        outcome = part.trial.outcome
        if outcome.status is Status.OK:
            return replace(fault, verdict=RIGHT, detail=f"seen once: right in {search.tries} further tries")
        if outcome.status is Status.NOT_JUDGED:
            return replace(fault, verdict=NOT_REDUCED, detail=outcome.detail)
        if outcome.status is Status.ERROR:
            raise Failed(outcome)
        fault = replace(fault, kind=outcome.status, error=outcome.detail)
        if not is_in_operations:
            parts = "its operations without its functions, attributes and unused arguments are right"
            detail = f"{outcome.status} only as it is emitted: {parts}"
            return replace(fault, verdict=NOT_REDUCED, detail=detail)
        before = part.count
        say(f"{outcome.status}: {outcome.detail}; {before} operations")
        part = search.enter_loop(search.reduce(search.smaller(part)))
        say(f"{part.count} operations are left")
        text = search.pretty(part.trials.text(part.subset))
        versions = {"suspect": suspect.versions(), "evaluator": evaluator.versions()}
        values = list(part.values().values())
        suspect.close()
        fault = _described(task, replace(fault, versions=versions), part, before)
        budget_s = max(search.left(), 30)
        limits = {"budget_s": budget_s, "timeout_s": timeout_s, "cap_gib": cap}
        rows = ablate(task.compiler, text, values, part.trial.expected, seconds=0, **limits)
    fault = replace(fault, ablation=rows, cures=cures(rows))
    if is_contracted(part.operations, part.trials.subsets.graph.types, fault.cures):
        fault = replace(fault, detail="multiplications contracted into fused multiply-adds")
    return _reproduced(task, fault, part, text, folder, timeout_s)


def is_contracted(ops: Sequence[Op], types: Mapping[int, str], flags: Sequence[str]) -> bool:
    """Return whether a fault is of products that a compiler joins with a sum.

    Its region is floating-point products and sums, and it is right if operations are not fused or not optimised.
    """
    names = {op.name.rpartition(".")[2] for op in ops}
    is_separate = any(
        flag == "xla_backend_optimization_level=0"
        or (flag.startswith(f"{DISABLE}=") and flag.endswith("fusion"))
        for flag in flags
    )
    return (
        is_separate
        and "multiply" in names
        and bool(names & {"add", "subtract"})
        and names <= {"multiply", "add", "subtract", "negate", *MOVES}
        and all(is_float(dtype(types[op.results[0]])) for op in ops if op.name.endswith(".multiply"))
    )


def _described(task: Task, fault: Fault, part: FaultyPart, before: int) -> Fault:
    """Return the fault with what is left of the program, which had so many operations before."""
    types, ops = part.trials.subsets.graph.types, part.operations
    places = [part.program.place(op.place) for op in ops if op.place]

    def listed(values: Sequence[int]) -> str:
        return ", ".join(types[value] for value in values)

    return replace(
        fault,
        verdict=REDUCED,
        operations=[before, part.count],
        region=[f"{op.name} : ({listed(op.operands)}) -> {listed(op.results)}" for op in ops],
        lines=list(dict.fromkeys(place for place in places if place)),
        shapes=dict(part.program.sizes) if part.program.sizes != task.a.sizes else {},
        error=part.trial.outcome.detail,
        judge=part.trial.expected.judge if part.trial.expected else "",
    )


def _reproduced(task: Task, fault: Fault, part: FaultyPart, text: str, folder: Path, timeout_s: float) -> Fault:
    """Write the reproducer, run it in a fresh process, and return the fault with its texts and what it showed."""
    spec, subsets = task.compiler, part.trials.subsets
    types = [subsets.graph.types[value] for value in subsets.arguments(part.subset)]
    case = reproducer.Case(
        doc=_doc(fault),
        module=spec.module,
        options=spec.options if spec.is_xla else iree.flags(spec.options),
        program=text if spec.is_xla else iree.rewritten(text),
        types=reproducer.array_types(types),
        arguments=None if part.arrays is not None else list(part.values().values()),
        expected=part.trial.expected,
        results=part.trial.results,
        timeout_s=timeout_s,
    )
    status, printed = reproducer.show(case, folder, spec.python)
    (folder / reproducer.LOG).write_text(f"{printed}\n")
    is_reproduced = status == 1 and "FAULT: " in printed
    script = (folder / reproducer.REPRODUCER).read_text()
    return replace(fault, reproduced=is_reproduced, reduced=case.program, script=script)


def _doc(fault: Fault) -> str:
    packages = " ".join(f"{name}=={version}" for name, version in fault.versions["suspect"].items())
    lines = [
        f"{fault.compiler}: {fault.kind}: {fault.error}",
        "",
        f"{fault.program}, reduced from {fault.operations[0]} to {fault.operations[1]} operations:",
        *(f"    {line}" for line in fault.region),
        f"Seen with: pip install {packages}",
    ]
    if fault.detail:
        lines.append(f"Cause, by the flags under which it is right: {fault.detail}")
    if fault.judge:
        lines.append(f"Right values: {fault.judge}")
    if fault.cures:
        lines.append(f"No fault with: {'; '.join(fault.cures[:4])}")
    return "\n".join(lines)
