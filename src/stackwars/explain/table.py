"""The table of every program in every compiler, and the questions that it raises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations

from stackwars.core.check import Checked
from stackwars.core.client import CompilerSpec
from stackwars.core.judge import Expected
from stackwars.core.outcome import Status
from stackwars.explain.answer import NATIVE, Cell, Memory, Question, gap_id
from stackwars.explain.task import Settings

FAULTS = (Status.CRASH, Status.WRONG, Status.TIMEOUT, Status.UNSUPPORTED)
"""Outcomes that a search explains, most urgent first."""
CALL_MS = 0.05
"""Times that differ by less may differ in the cost of a call alone."""
COMPILE_S, LONG_S = 0.05, 2.0
"""Seconds of the processor: compilations that differ by less do not count, and one that takes less is not long."""
PAGE = 4096
"""Bytes that differ by less do not count."""


def cell(program: str, compiler: str, checked: Checked, **costs: Memory | float) -> Cell:
    """Return the cell of a program in a compiler. costs: its fields that have what was asked for in place of times."""
    verdict = {key: value for key, value in (checked.verdict or {}).items() if key != "judge"}
    return Cell(
        *(program, compiler, checked.outcome.status, checked.outcome.detail),
        operation=checked.operation,
        is_emitted=checked.is_emitted,
        **verdict,
        compile_s=checked.compile_s,
        timing=checked.timing,
        **costs,
    )


def with_ratios(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells with the ratio of each cost to the best."""
    best = min(filter(None, (one.cost for one in cells)), default=1.0)
    return [replace(one, ratio=one.cost / best) if one.cost else one for one in cells]


def difference(expected: Mapping[str, Expected]) -> str:
    """Return how programs that are judged by their own operations compute different things; "" if they do not.

    All may be right and still not be one computation. expected: by program.
    """
    known = [(label, values) for label, values in expected.items() if not values.reason]
    for label, other in known[1:]:
        first_label, first = known[0]
        for key, limit in first.limits.items():
            if key not in other.values:
                how = f"no result {key}"
            else:
                limit = 2 * max(limit, other.limits[key])
                how = replace(first, limits={key: limit}).compare(key, other.values[key])
                if how.right:
                    continue
            return f"{label} and {first_label} compute different things: {key}: {how}"
    return ""


def joined(texts: Iterable[str]) -> str:
    """Return the different texts in one line."""
    return "; ".join(dict.fromkeys(text for text in texts if text))


def is_gap(slow: Cell, fast: Cell, bound: float) -> bool:
    """Return whether two costs differ by more than the bound, and by more than calls, pages or compilations can."""
    least = PAGE if slow.memory else CALL_MS if slow.timing else COMPILE_S
    return slow.cost > (1 + bound) * fast.cost and slow.cost - fast.cost > least


def gaps(cells: Iterable[Cell], bound: float) -> list[Question]:
    """Return all gaps beyond the bound, the largest first: of two programs in a compiler, and of times, of a program in
    two.
    """
    result = []
    known = [one for one in cells if one.cost and one.compiler != NATIVE]
    for slow, fast in permutations(known, 2):
        b = fast.program if fast.compiler == slow.compiler else None
        other = fast.compiler if fast.program == slow.program and slow.timing else None
        if (b or other) and is_gap(slow, fast, bound):
            sides = (slow.compiler, slow.program, b, other)
            result.append(Question("cause", gap_id(*sides), *sides, gap=slow.cost / fast.cost))
    return sorted(result, key=lambda question: -question.gap)


def questions(cells: Sequence[Cell], compilers: Sequence[CompilerSpec], settings: Settings) -> list[Question]:
    """Return what is worth explaining: the largest gaps, long compilations, and the faults of each family of compilers.

    The gaps: the slowest program of each compiler against its fastest, the slowest compiler of each program against its
    fastest, once for programs with the same two compilers, and the fastest of all against the fastest framework without
    StableHLO.
    """
    # Gaps are sorted, so the first is that of the slowest and the fastest.
    first: dict[tuple[str, bool], Question] = {}
    for gap in gaps(cells, settings.bound):
        first.setdefault((gap.a, True) if gap.other else (gap.compiler, False), gap)
    causes: dict[tuple[str, str | None], Question] = {}
    for gap in first.values():
        causes.setdefault((gap.compiler, gap.other), gap)
    natives = [
        Question("cause", gap_id(*sides), *sides, gap=best.ms / native.ms)
        for best, native in native_gaps(cells, settings.bound)[:1]
        for sides in [(best.compiler, best.program, native.program, NATIVE)]
    ]
    largest = sorted([*causes.values(), *natives], key=lambda gap: -gap.gap)
    parts = (largest, _long(cells), _faults(cells, compilers))
    return [question for part in parts for question in part[: settings.questions]]


def _long(cells: Sequence[Cell]) -> list[Question]:
    """Return why programs compile long, if compiling was asked for: one in each compiler, which takes longest there."""
    result: dict[str, Question] = {}
    for one in sorted(cells, key=lambda one: -(one.compile_cpu_s or 0)):
        sides = (one.compiler, one.program, None, None)
        if (one.compile_cpu_s or 0) >= LONG_S:
            result.setdefault(one.compiler, Question("cause", gap_id(*sides), *sides))
    return [*result.values()]


def native_gaps(cells: Iterable[Cell], bound: float) -> list[tuple[Cell, Cell]]:
    """Return the fastest cell of all compilers with each framework without StableHLO that is faster by the bound."""
    timed = sorted((one for one in cells if one.timing), key=lambda one: one.ms)
    best = next((one for one in timed if one.compiler != NATIVE), None)
    natives = [one for one in timed if one.compiler == NATIVE and one.status is Status.OK]
    return [(best, one) for one in natives if best and is_gap(best, one, bound)]


def _faults(cells: Sequence[Cell], compilers: Sequence[CompilerSpec]) -> list[Question]:
    """Return one question for every program and family of compilers in which it fails in one way.

    A family is a compiler's module, and what is tried is its last member: the newest, as the configuration has them.
    """
    modules = {spec.name: spec.module for spec in compilers}
    result: dict[tuple[str, str, str], Question] = {}
    for one in cells:
        # A program that its frontend does not emit is refused by no compiler.
        if one.status in FAULTS and one.compiler in modules and one.is_emitted:
            name = f"{one.compiler}.{one.program}"
            result[one.program, modules[one.compiler], one.status] = Question(
                "fault", name, one.compiler, one.program, status=one.status
            )
    return sorted(result.values(), key=lambda question: FAULTS.index(question.status))
