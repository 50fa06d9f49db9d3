"""The answer in files: explain.json, explain.html (one page that fetches nothing) and explain.md (for an issue).

Its exit status, and its headline: its most important true sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath

from stackwars.core import machine
from stackwars.core.lines import wrote
from stackwars.core.numbers import milliseconds, percent, ratio, ratio_interval, significant, size
from stackwars.core.outcome import Status
from stackwars.explain import answer as answers
from stackwars.explain import console
from stackwars.explain import table as tables
from stackwars.explain.answer import Answer, CallSequence, Cause, Cell, Fault, Parting, Question, Region, Table
from stackwars.explain.reproducer import PROGRAM, REPRODUCER
from stackwars.explain.table import CALL_MS, COMPILE_S, LONG_S, PAGE
from stackwars.explain.task import COMPILE, MEMORY

OK, NOT_RIGHT, SLOWER = 0, 1, 2
"""Exit statuses of `stackwars explain`."""
MOST_LINES = 60
MOST_REGIONS = 2
MOST_CHARACTERS = 180
"""Lines of explain.md, regions of a cause in it, and characters of an operation's text."""
BAD = (Status.WRONG, Status.CRASH, Status.TIMEOUT)
"""Outcomes that accuse a compiler or a program, most urgent first."""
STATES = {Status.WRONG: "is wrong", Status.CRASH: "crashes", Status.TIMEOUT: "does not end in time"}
UNJUDGED = "values are not judged"
MOST_DETAIL = 160
"""Characters of a detail."""


def write(folder: Path, answer: Answer) -> None:
    """Write the files of an answer, and the first reproducer and reduced program, of faults before causes."""
    answers.write(folder / "explain.json", answer)
    (folder / "explain.md").write_text(markdown(answer))
    (folder / "explain.html").write_text(html(answer))
    found = (*answer.faults, *answer.causes)
    for name, texts in ((REPRODUCER, [one.script for one in found]), (PROGRAM, [one.reduced for one in found])):
        (folder / name).unlink(missing_ok=True)
        if text := next(filter(None, texts), ""):
            (folder / name).write_text(text)


def written(folder: Path) -> list[str]:
    """Return a line for each file that a reader wants to open."""
    looks = {
        "explain.html": "the outcomes, then the cause of each gap and fault",
        "explain.md": "the same as text, to paste into an issue",
        REPRODUCER: "shows the first fault by itself",
    }
    return [wrote(folder / name, look) for name, look in looks.items() if (folder / name).exists()]


def gaps(table: Table, causes: Sequence[Cause]) -> list[Question]:
    """Return the gaps beyond the bound, without those that fresh processes did not show, the largest first."""
    absent = {cause.gap_id for cause in causes if has_no_gap(cause)}
    return [gap for gap in tables.gaps(table.cells, table.bound) if gap.id not in absent]


def exit_status(table: Table, causes: Sequence[Cause], is_pair: bool = True) -> int:
    """Return NOT_RIGHT if a program is not right or they compute different things, SLOWER if there is a gap, else OK.

    is_pair: only a gap counts by which the first of two programs is slower than the second. A program that compiles
    long counts as a gap.
    """
    cells = [cell for cell in table.cells if cell.compiler != answers.NATIVE]
    if table.differ or any(cell.status is not Status.OK for cell in cells):
        return NOT_RIGHT
    slower: list[Question | Cause] = gaps(table, causes)
    if is_pair:
        slower = [gap for gap in slower if gap.a == table.programs[0] and gap.b]
    long = [one for one in causes if one.ask == COMPILE and not one.b]
    slower += [one for one in long if one.verdict not in (answers.FAILED, answers.NO_CAUSE)]
    return SLOWER if slower or (not is_pair and tables.native_gaps(table.cells, table.bound)) else OK


def has_no_gap(cause: Cause) -> bool:
    """Return whether fresh processes showed no difference in time: the cause of a clear one can be uncertain too."""
    if cause.verdict != answers.NOT_SEPARABLE:
        return cause.verdict == answers.NO_GAP
    ratio = cause.ratio
    return ratio is None or ratio.low is None or ratio.low <= 1 <= ratio.high


def html(answer: Answer) -> str:
    """Return the page of an answer."""
    import jinja2

    jinja = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    formats = {"ms": milliseconds, "ratio": ratio, "percent": percent, "size": size, "significant": significant}
    jinja.filters |= formats | {"width": lambda share: min(100, max(0, 100 * share))}
    table = answer.table
    return jinja.get_template("page.html.j2").render(
        answer=answer,
        table=table,
        columns=console.columns(table),
        cells={(cell.program, cell.compiler): cell for cell in table.cells},
        console=console,
        native=answers.NATIVE,
        most=12,  # operations of a region
        slowest=slowest(table),
        machine=machine.described(table.machine),
        issue=markdown(answer),
    )


def slowest(table: Table) -> float:
    """Return the largest cost in a compiler, of which the bars are shares: eager PyTorch's can be far above."""
    timed = [cell for cell in table.cells if cell.cost]
    compiled = [cell for cell in timed if cell.compiler != answers.NATIVE]
    return max((cell.cost for cell in compiled or timed), default=1.0)


def markdown(answer: Answer) -> str:
    """Return the text of explain.md: the question, the table, the causes and how to repeat it."""
    table = answer.table
    sizes = ", ".join(f"{name} {value}" for name, value in answer.sizes.items())
    inputs = f", with the values of {answer.inputs}" if answer.inputs else ""
    outcomes = [*console.grids(table), *_wrapped(console.below(table))]
    if answer.sequences:
        outcomes = _wrapped(console.calls_lines(answer))
    body = [
        escaped(f"# {answer.name}: {answer.headline}"),
        "",
        escaped(f"{answer.title}{f' ({sizes})' if sizes else ''}{inputs}"),
        "",
        *fenced([f"$ {answer.command}", *outcomes]),
    ]
    for result in filter(None, (answer.parting, *answer.causes, *answer.faults)):
        body += ["", *fenced([*_wrapped([console.paragraph(result)]), *_regions(result)])]
    versions = "; ".join(
        f"{name}: {', '.join(f'{package} {version}' for package, version in packages.items())}"
        for name, packages in table.versions.items()
    )
    end = [
        "",
        f"Versions: {versions}; stackwars {table.source['git_revision']}",
        f"Machine: {machine.described(table.machine)}",
    ]
    found = (*answer.faults, *answer.causes)
    if any(one.script for one in found):
        end.append(f"`python {REPRODUCER}` exits 1 while the fault is there.")
    reduced = next((one.reduced for one in found if one.reduced), "")
    listing = ["", *fenced(reduced.strip().splitlines(), "mlir")] if reduced else []
    shown = listing if len(body) + len(listing) + len(end) <= MOST_LINES else []
    return "\n".join([*body, *shown, *end]) + "\n"


def escaped(text: str) -> str:
    """Return text in which Markdown and HTML have no meaning, in one line."""
    return re.sub(r"([\\`*<>\[\]~])", r"\\\1", " ".join(text.split()))


def fenced(lines: Sequence[str], language: str = "") -> list[str]:
    """Return lines in a fence that none of them ends: a compiler's message may have one."""
    runs = [len(run) for line in lines for run in re.findall("`+", line)]
    fence = "`" * max([3, *(run + 1 for run in runs)])
    return [f"{fence}{language}", *lines, fence]


def _wrapped(texts: list[str]) -> list[str]:
    return console.wrapped(texts).splitlines()


def _regions(answer: Cause | Fault | Parting) -> list[str]:
    """Return the operations of a cause's first regions side by side."""
    if not isinstance(answer, Cause) or not answer.regions:
        return []
    result = [""]
    for region in answer.regions[:MOST_REGIONS]:
        sides = [(answer.a, region.a, region.line_a)]
        if answer.other != answers.NATIVE and (answer.b or answer.other):
            sides.append((answer.b or answer.a, region.b, region.line_b))
        for label, operations, line in sides:
            text = _short("; ".join(operations), MOST_CHARACTERS)
            result.append(f"{label}: {text}{f'  # {line}' if line else ''}")
    more = len(answer.regions) - MOST_REGIONS
    return [*result, *([f"and {more} more kinds, in explain.html"] if more > 0 else [])]


# The headline


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
        return not (fault and (fault.reproduced or fault.verdict == answers.REDUCED)), BAD.index(cell.status)

    bad = [
        cell
        for cell in answer.table.cells
        if cell.status in BAD
        # A frontend that crashed or ran out of time emitted no program that a compiler could fail.
        and (cell.is_emitted or cell.status is Status.WRONG)
        and not ((fault := fault_of(cell)) and fault.verdict == answers.RIGHT)
    ]
    if not bad:
        return ""
    first = min(bad, key=urgency)
    others = sum(not (_is_odd(cell) and cell.program == first.program) for cell in bad) - (not _is_odd(first))
    more = f"; {others} more outcome{'s' * (others > 1)} below" if others else ""
    fault = fault_of(first)
    reduced = ""
    if fault and fault.verdict == answers.REDUCED:
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
    compiler = "" if cell.compiler == answers.NATIVE else f" in {cell.compiler}"
    return f"{_subject(answer, cell.program)} {state}{compiler}{f': {what}' if what else ''}"


def _seen_once(answer: Answer) -> str:
    once = {(fault.program, fault.compiler) for fault in answer.faults if fault.verdict == answers.RIGHT}
    for cell in answer.table.cells:
        if cell.status in BAD and (cell.program, cell.compiler) in once:
            fault = _fault(answer, cell, {Status.WRONG: "was wrong"}.get(cell.status, f"had a {cell.status}"))
            return f"Seen once: {fault}; it was right when it was tried again"
    return ""


# Gaps


def _gap(answer: Answer) -> str:
    """Return the largest gap that has a cause, after a larger one against a native; else the largest without."""
    causes = sorted(answer.causes, key=lambda cause: -_ratio(cause))
    known = [cause for cause in causes if cause.verdict == answers.CAUSE and not has_no_gap(cause)]
    explained = [cause for cause in known if cause.other != answers.NATIVE]
    texts = [f"{_question(answer, cause)}: {_cause(cause)}" for cause in explained[:1]]
    least = _ratio(explained[0]) if explained else 1.0
    for best, native in tables.native_gaps(answer.table.cells, answer.table.bound):
        if best.ms / native.ms > least:
            parts = next((f": {_cause(cause)}" for cause in known if cause.other == answers.NATIVE), "")
            texts = [f"{console.native_text(best, native)}{parts}", *texts]
            break
    texts = texts or list(_unexplained(answer))[:1]
    if texts and any(cell.cost and cell.status is Status.NOT_JUDGED for cell in answer.table.cells):
        texts.append(UNJUDGED)
    return "; ".join(texts)


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


def _cause(cause: Cause) -> str:
    """Return the regions of a cause in words, and the share of the gap that they close."""
    if not cause.regions:
        return cause.detail
    shown = ", ".join(map(_region, cause.regions[:2]))
    more = len(cause.regions) - 2
    rest = f" and {more} more kinds" if more > 0 else ""
    return f"{shown}{rest}{f' {console.closed_text(cause)}' if cause.closed else ''}"


def _region(region: Region) -> str:
    names = console.operations(region.a)
    what = "layout of an argument" if region.what == answers.LAYOUT else region.what
    return console.place_text(region, names if what == answers.OPERATIONS else f"{what}, {names}")


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
        if cell.compiler != answers.NATIVE
        and (cell.cost or cell.status in (Status.OK, Status.NOT_JUDGED, Status.INVALID))
    ]
    right = [cell for cell in ran if cell.status is Status.OK]
    others = _others(cell for cell in table.cells if cell not in ran and cell.status is not Status.OK)
    if not ran:
        reason = next((f" ({_short(cell.detail)})" for cell in table.cells if cell.detail), "")
        return f"Nothing ran in a compiler: {others}{reason}" if others else "Nothing was tried"
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
    noisy = (cause for cause in answer.causes if cause.verdict == answers.NOT_SEPARABLE and has_no_gap(cause))
    if (cause := next(noisy, None)) and cause.ratio:
        ratio = ratio_interval(cause.ratio.value, cause.ratio.low, cause.ratio.high)
        return f"; not separable from noise: {_question(answer, cause)}, {ratio}"
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
    is_native = any(cell.program == label and cell.compiler == answers.NATIVE for cell in answer.table.cells)
    name = console.display_name(label)
    return f"{name}'s program" if answer.workload and not is_native else name


def _other(answer: Answer, label: str | None) -> str:
    name = console.display_name(label or "")
    return f"{name}'s" if answer.workload and label else name


def _short(text: str, most: int = MOST_DETAIL) -> str:
    """Return a text in one line of at most so many characters."""
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= most else f"{line[: most - 2]}.."
