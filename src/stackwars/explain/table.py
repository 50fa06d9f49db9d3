"""The table of every program in every compiler, and the questions that it raises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from stackwars.core.check import Checked
from stackwars.core.client import CompilerSpec
from stackwars.core.judge import Expected
from stackwars.core.outcome import Status
from stackwars.explain.answer import Cell, Question
from stackwars.explain.task import Settings

NATIVE = "itself"
"""In the place of a compiler, for what has no StableHLO: eager PyTorch, TorchInductor and NumPy."""
FAULTS = (Status.CRASH, Status.WRONG, Status.TIMEOUT, Status.UNSUPPORTED)
"""Outcomes that a search explains, most urgent first."""
CALL_MS = 0.05
"""Times that differ by less may differ in the cost of a call alone."""
_VERDICT = ("wrong", "total", "l2", "largest", "where", "limit", "flaky")


def cell(program: str, compiler: str, checked: Checked) -> Cell:
    """Return the cell of a program in a compiler."""
    verdict = checked.verdict or {}
    return Cell(
        *(program, compiler, checked.outcome.status, checked.outcome.detail),
        operation=checked.operation,
        is_emitted=checked.is_emitted,
        **{name: verdict.get(name) for name in _VERDICT},
        compile_s=checked.compile_s,
        timing=checked.timing,
    )


def with_ratios(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells with the ratio of each time to the best."""
    best = min((one.ms for one in cells if one.timing), default=1.0)
    return [replace(one, ratio=one.ms / best) if one.timing else one for one in cells]


def difference(expected: Mapping[str, Expected]) -> str:
    """Return how programs that are judged by their own operations compute different things; "" if they do not.

    All may be right and still not be one computation. expected: by program.
    """
    known = [(label, found) for label, found in expected.items() if not found.reason]
    for label, found in known[1:]:
        first_label, first = known[0]
        for key, limit in first.limits.items():
            if key not in found.values:
                how = f"no result {key}"
            else:
                limit = 2 * max(limit, found.limits[key])
                how = replace(first, limits={key: limit}).compare(key, found.values[key])
                if how.right:
                    continue
            return f"{label} and {first_label} compute different things: {key}: {how}"
    return ""


def joined(texts: Iterable[str]) -> str:
    """Return the different texts in one line."""
    return "; ".join(dict.fromkeys(text for text in texts if text))


def is_gap(slow_ms: float, fast_ms: float, bound: float) -> bool:
    """Return whether two times differ by more than the bound, and by more than calls can."""
    return slow_ms > (1 + bound) * fast_ms and slow_ms - fast_ms > CALL_MS


def questions(cells: Sequence[Cell], compilers: Sequence[CompilerSpec], settings: Settings) -> list[Question]:
    """Return what is worth explaining: the largest gaps, and the faults of each family of compilers."""
    gaps = sorted(
        _program_gaps(cells, settings.bound) + _compiler_gaps(cells, settings.bound),
        key=lambda question: -question.gap,
    )
    return gaps[: settings.questions] + _faults(cells, compilers)[: settings.questions]


def _timed(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells that have a time and a compiler, the fastest first."""
    return sorted((one for one in cells if one.timing and one.compiler != NATIVE), key=lambda one: one.ms)


def _program_gaps(cells: Sequence[Cell], bound: float) -> list[Question]:
    """Return for every compiler its slowest program against its fastest, if that is over the bound."""
    result = []
    for compiler in dict.fromkeys(one.compiler for one in cells):
        timed = _timed(one for one in cells if one.compiler == compiler)
        if timed and is_gap(timed[-1].ms, timed[0].ms, bound):
            result.append(_gap(timed[-1].ms / timed[0].ms, timed[-1], b=timed[0].program))
    return result


def _compiler_gaps(cells: Sequence[Cell], bound: float) -> list[Question]:
    """Return for every program its slowest compiler against its fastest, if that is over the bound.

    Of the programs with the same two compilers, the one with the largest gap.
    """
    result: dict[tuple[str, str], Question] = {}
    for program in dict.fromkeys(one.program for one in cells):
        timed = _timed(one for one in cells if one.program == program)
        if timed and is_gap(timed[-1].ms, timed[0].ms, bound):
            pair, gap = (timed[-1].compiler, timed[0].compiler), timed[-1].ms / timed[0].ms
            if pair not in result or gap > result[pair].gap:
                result[pair] = _gap(gap, timed[-1], other=timed[0].compiler)
    return list(result.values())


def _gap(gap: float, slow: Cell, b: str | None = None, other: str | None = None) -> Question:
    name = ".".join(filter(None, (slow.compiler, slow.program, b, other)))
    return Question("cause", name, slow.compiler, slow.program, b, other, gap)


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
