"""The headline of an answer: its most important true sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from stackwars.core.numbers import percent, ratio_interval, size
from stackwars.core.outcome import Status
from stackwars.explain import console
from stackwars.explain.answer import (
    CAUSE,
    LAYOUT,
    NATIVE,
    NOT_SEPARABLE,
    OPERATIONS,
    REDUCED,
    RIGHT,
    Answer,
    CallSequence,
    Cause,
    Cell,
    Fault,
    Region,
)
from stackwars.explain.page import gaps, has_no_gap
from stackwars.explain.table import CALL_MS, COMPILE_S, LONG_S, PAGE
from stackwars.explain.task import COMPILE, MEMORY

BAD = (Status.WRONG, Status.CRASH, Status.TIMEOUT)
"""Outcomes that accuse a compiler or a program, most urgent first."""
STATES = {Status.WRONG: "is wrong", Status.CRASH: "crashes", Status.TIMEOUT: "does not end in time"}
UNJUDGED = "values are not judged"
MOST_DETAIL = 160
"""Characters of a detail."""


def headline(answer: Answer) -> str:
    """Return the first of these that holds: in how many calls frameworks compile; programs compute different things;
    a wrong value, crash or timeout; a gap with its cause, or against a framework without StableHLO if that is larger; a
    gap without a cause; a fault that did not show again; right or not judged, with what was tried.
    """
    differ = (answer.parting and console.parting_headline(answer.parting)) or answer.table.differ
    found = _calls(answer) or differ or _bad(answer) or _gap(answer)
    text = found or _seen_once(answer) or _end(answer)
    return f"{text}."


# Calls


def _calls(answer: Answer) -> str:
    """Return the first call that failed, then in how many calls each framework compiles, the most first."""
    bad = [
        f"{console.display_name(one.framework)} {STATES.get(call.status, f'has the outcome {call.status}')} "
        f"in call {call.number}: {_short(call.detail)}"
        for one in answer.sequences
        for call in one.calls
        if call.seconds is None or call.status is Status.WRONG
    ]
    ran = [one for one in answer.sequences if any(call.seconds is not None for call in one.calls)]
    texts = [*bad[:1], *map(_compiling, sorted(ran, key=lambda one: -one.compiling))]
    if any(call.status is Status.NOT_JUDGED for one in answer.sequences for call in one.calls):
        texts.append(UNJUDGED)
    return "; ".join(texts)


def _compiling(sequence: CallSequence) -> str:
    """Return in how many calls a framework compiles, why, and in how many it goes back to Python."""
    calls, name = sequence.calls, console.display_name(sequence.framework)
    causes = list(dict.fromkeys(console.call_cause(call) for call in calls if call.cause))
    split = sum(bool(call.splits) for call in calls)
    back = f", and goes back to Python in {split}" if split else ""
    why = f": {'; '.join(causes)}" if causes else ""
    return f"{name} compiles in {sequence.compiling} of {len(calls)} calls{back}{why}"


# Faults


def _bad(answer: Answer) -> str:
    """Return the most urgent fault, and how many other outcomes are faults."""
    faults = {(fault.program, fault.compiler): fault for fault in answer.faults}

    def fault_of(cell: Cell) -> Fault | None:
        return faults.get((cell.program, cell.compiler))

    def urgency(cell: Cell) -> tuple[bool, int]:
        fault = fault_of(cell)
        return not (fault and (fault.reproduced or fault.verdict == REDUCED)), BAD.index(cell.status)

    bad = [
        cell
        for cell in answer.table.cells
        if cell.status in BAD
        # A frontend that crashed or ran out of time emitted no program that a compiler could fail.
        and (cell.is_emitted or cell.status is Status.WRONG)
        and not ((fault := fault_of(cell)) and fault.verdict == RIGHT)
    ]
    if not bad:
        return ""
    first = min(bad, key=urgency)
    others = sum(not (_is_odd(cell) and cell.program == first.program) for cell in bad) - (not _is_odd(first))
    more = f"; {others} more outcome{'s' * (others > 1)} below" if others else ""
    fault = fault_of(first)
    reduced = ""
    if fault and fault.verdict == REDUCED:
        reduced = f" ({console.reduced_text(fault)})"
    return f"{_fault(answer, first, STATES[first.status])}{reduced}{more}"


def _is_odd(cell: Cell) -> bool:
    """Return whether a program is wrong in every compiler: other programs and the reference agree on other values."""
    return cell.status is Status.WRONG and not cell.is_emitted


def _fault(answer: Answer, cell: Cell, state: str) -> str:
    if _is_odd(cell):
        return f"{_subject(answer, cell.program)} {state} before any compiler has it: {_short(cell.detail)}"
    if cell.status is Status.WRONG and cell.wrong:
        what = f"{cell.wrong:,} of {cell.total:,} elements"
        what += f" ({cell.where})" if cell.where else ""
    else:
        what = _short(cell.detail)
    compiler = "" if cell.compiler == NATIVE else f" in {cell.compiler}"
    return f"{_subject(answer, cell.program)} {state}{compiler}{f': {what}' if what else ''}"


def _seen_once(answer: Answer) -> str:
    once = {(fault.program, fault.compiler) for fault in answer.faults if fault.verdict == RIGHT}
    for cell in answer.table.cells:
        if cell.status in BAD and (cell.program, cell.compiler) in once:
            fault = _fault(answer, cell, {Status.WRONG: "was wrong"}.get(cell.status, f"had a {cell.status}"))
            return f"Seen once: {fault}; it was right when it was tried again"
    return ""


# Gaps


def _gap(answer: Answer) -> str:
    """Return the largest gap that has a cause, after a larger one against a native; else the largest without."""
    causes = sorted(answer.causes, key=lambda cause: -_ratio(cause))
    known = [cause for cause in causes if cause.verdict == CAUSE and not has_no_gap(cause)]
    explained = [cause for cause in known if cause.other != NATIVE]
    texts = [f"{_question(answer, cause)}: {cause_text(cause)}" for cause in explained[:1]]
    least = _ratio(explained[0]) if explained else 1.0
    if native := next((gap for gap in console.native_gaps(answer.table) if gap.ratio > least), None):
        parts = next((f": {cause_text(cause)}" for cause in known if cause.other == NATIVE), "")
        texts = [f"{native.sentence}{parts}", *texts]
    if not texts:
        texts = list(_unexplained(answer))[:1]
    if not texts:
        return ""
    unjudged = any(cell.cost and cell.status is Status.NOT_JUDGED for cell in answer.table.cells)
    return "; ".join([*texts, *([UNJUDGED] if unjudged else [])])


def _ratio(cause: Cause) -> float:
    if cause.ratio:
        return cause.ratio.value
    return cause.a_ms / cause.b_ms if cause.a_ms and cause.b_ms else 1.0


def _question(answer: Answer, cause: Cause) -> str:
    return _takes(answer, cause.compiler, cause.program, cause.b, cause.other, _ratio(cause))


def _takes(answer: Answer, compiler: str, program: str, b: str | None, other: str | None, factor: float) -> str:
    return console.gap_text(
        _subject(answer, program), compiler, _other(answer, b), other, factor, answer.table.ask
    )


def cause_text(cause: Cause) -> str:
    """Return the regions of a cause in words, and the share of the gap that they close."""
    if not cause.regions:
        return cause.detail
    shown = ", ".join(map(_region, cause.regions[:2]))
    more = len(cause.regions) - 2
    rest = f" and {more} more kinds" if more > 0 else ""
    return f"{shown}{rest}{f' {console.closed_text(cause)}' if cause.closed else ''}"


def _region(region: Region) -> str:
    names = console.operations(region.a)
    what = "layout of an argument" if region.what == LAYOUT else region.what
    return console.place_text(region, names if what == OPERATIONS else f"{what}, {names}")


def _unexplained(answer: Answer) -> Iterator[str]:
    """Yield the gaps of the table that have no cause, the largest first."""
    causes = {cause.gap_id: cause for cause in answer.causes}
    for gap in gaps(answer.table, answer.causes):
        if cause := causes.get(gap.id):
            yield f"{_question(answer, cause)}; no cause found: {_short(cause.detail) or cause.verdict}"
            continue
        state = "is being" if gap.id in {question.id for question in answer.table.questions} else "was not"
        yield f"{_takes(answer, gap.compiler, gap.a, gap.b, gap.other, gap.gap)}; its cause {state} searched"


# No fault and no gap


def _end(answer: Answer) -> str:
    table = answer.table
    ran = [
        cell
        for cell in table.cells
        if cell.compiler != NATIVE
        and (cell.cost or cell.status in (Status.OK, Status.NOT_JUDGED, Status.INVALID))
    ]
    right = [cell for cell in ran if cell.status is Status.OK]
    others = _others(cell for cell in table.cells if cell not in ran and cell.status is not Status.OK)
    if not ran:
        said = next((f" ({_short(cell.detail)})" for cell in table.cells if cell.detail), "")
        return f"Nothing ran in a compiler: {others}{said}" if others else "Nothing was tried"
    timed = [cell for cell in ran if cell.cost]
    gap = _no_gap(answer) if len(timed) > 1 else ""
    if table.ask == COMPILE and timed and max(cell.cost for cell in timed) < LONG_S:
        gap += f", no compilation of {LONG_S:g} s"
    rest = f"; {others}" if others else ""
    if len(right) < len(ran):
        reason = table.judge_reason or next(
            (cell.detail for cell in ran if cell.status is Status.NOT_JUDGED), ""
        )
        unjudged = ", ".join(dict.fromkeys(cell.program for cell in ran if cell.status is not Status.OK))
        who = f" ({unjudged})" if right else ""
        return f"Not judged{who}: {_short(reason)}; with {inputs_text(answer)}{gap}{rest}"
    places = console.listed(list(dict.fromkeys(cell.compiler for cell in right)))
    return f"Right in {places} with {inputs_text(answer)}{gap}{rest}"


def _no_gap(answer: Answer) -> str:
    """Return that there is no gap, or the one that could not be told from noise."""
    noisy = (cause for cause in answer.causes if cause.verdict == NOT_SEPARABLE and has_no_gap(cause))
    if (cause := next(noisy, None)) and cause.ratio:
        ratio = ratio_interval(cause.ratio.value, cause.ratio.low, cause.ratio.high)
        programs = _takes(answer, cause.compiler, cause.program, cause.b, cause.other, cause.ratio.value)
        return f"; not separable from noise: {programs}, {ratio}"
    beyond = f"beyond {percent(answer.table.bound)} and"
    least = {MEMORY: f"of memory {beyond} {size(PAGE)}", COMPILE: f"of compiling {beyond} {COMPILE_S} s"}
    return f", no gap {least.get(answer.table.ask, f'{beyond} {CALL_MS} ms')}"


def _others(cells: Iterable[Cell]) -> str:
    """Return which programs did not run where, and how they ended."""
    ended: dict[str, dict[str, None]] = {}
    for cell in cells:
        ended.setdefault(console.status_text(cell), {})[console.place(cell)] = None
    return "; ".join(f"{status}: {', '.join(places)}" for status, places in ended.items())


def inputs_text(answer: Answer) -> str:
    """Return which inputs were tried."""
    if answer.inputs:
        return f"the inputs of {PurePath(answer.inputs).name}"
    if answer.workload.endswith(".py"):
        return f"the inputs of {PurePath(answer.workload).name} at seed {answer.seed}"
    return f"inputs drawn at seed {answer.seed}"


# Names


def _subject(answer: Answer, label: str) -> str:
    is_native = any(cell.program == label and cell.compiler == NATIVE for cell in answer.table.cells)
    name = console.display_name(label)
    return f"{name}'s program" if answer.workload and not is_native else name


def _other(answer: Answer, label: str | None) -> str:
    name = console.display_name(label or "")
    return f"{name}'s" if answer.workload and label else name


def _short(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= MOST_DETAIL else f"{line[: MOST_DETAIL - 2]}.."
