"""The answer as text for a terminal of 80 columns: the table of outcomes, then a paragraph for each cause or fault."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stackwars.core.contention import MAX_OTHER_PROCESSES_SHARE
from stackwars.core.lines import fold
from stackwars.core.numbers import count, milliseconds, percent, percent_interval, ratio, significant, size
from stackwars.core.outcome import Status
from stackwars.explain.answer import (
    CAUSE,
    CAUSES,
    CLASSIFIED,
    NATIVE,
    NOT_CLASSIFIED,
    REDUCED,
    Answer,
    Buffer,
    Call,
    CallSequence,
    Cause,
    Cell,
    Fault,
    Option,
    Parting,
    Region,
    Share,
    Table,
)
from stackwars.explain.search import MOST_SHARE
from stackwars.explain.table import native_gaps
from stackwars.explain.task import COMPILE, MEMORY, TIME

WIDTH = 76
"""Columns: a run of the workflow indents by four."""
GAP = "  "
MOST_NAMES = 3
MOST_REGIONS = 4
"""Operations of a region that are named."""
MOST_BUFFERS = 3
"""Buffers of a peak that are named."""
NAMES = {"jax": "JAX", "torch_eager": "eager PyTorch", "numpy": "NumPy", "torch_inductor": "TorchInductor"}
"""Names of frameworks in sentences."""
ARGUMENT, CONSTANT = "argument :", "stablehlo.constant"


def lines(table: Table) -> list[str]:
    """Return the lines of a table, each of at most WIDTH columns or a sentence that is to be wrapped."""
    return [f"{table.name}: {table.title}", *grids(table), *below(table)]


def grids(table: Table) -> list[str]:
    """Return the table, the bytes of each program if they were asked for, and the seconds until it can be called."""
    return [*grid(table), *bytes_grid(table), *seconds_grid(table)]


def below(table: Table) -> list[str]:
    """Return the sentences that stand below the table."""
    differ = [f"{table.differ}."] if table.differ else []
    natives = [f"{native_text(*pair)}." for pair in native_gaps(table.cells, table.bound)]
    return [
        *(judged(table), *busy(table), *differ, *natives),
        *(*peaks(table), *notes(table), *not_tried(table)),
    ]


def native_text(best: Cell, native: Cell) -> str:
    """Return that a framework without StableHLO is faster than every program in every compiler."""
    return (
        f"Slow in every StableHLO compiler tried: the fastest takes {ratio(best.ms / native.ms)} times as long as "
        f"{display_name(native.program)} ({milliseconds(best.ms)} and {milliseconds(native.ms)} ms)"
    )


def display_name(label: str) -> str:
    """Return the name of a program's framework in a sentence; of a file's program, its label."""
    return NAMES.get(label, label)


def listed(names: Sequence[str]) -> str:
    """Return names as an English list.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def busy(table: Table) -> list[str]:
    """Return a warning if other processes had much of the cores while programs were timed."""
    largest = max((cell.timing.others_share for cell in table.cells if cell.timing), default=0.0)
    if largest <= MAX_OTHER_PROCESSES_SHARE:
        return []
    return [
        f"Other processes had up to {percent(largest)} of the cores while these were timed, so times may be several "
        "times too long: repeat it with nothing else running."
    ]


def wrapped(texts: Iterable[str]) -> str:
    """Return the lines with sentences wrapped."""
    return "\n".join(fold(" ".join(text.splitlines()), WIDTH) for text in texts)


def cell_text(cell: Cell | None) -> str:
    """Return what a cell of the table shows."""
    if cell is None:
        return "-"
    factor = f" {ratio(cell.ratio)}x" if cell.ratio is not None else ""
    factor += "" if cell.status is Status.OK else "?"
    if cell.memory:
        return f"{size(cell.memory.total)}{factor}"
    if cell.compile_cpu_s is not None:
        return f"{significant(cell.compile_cpu_s)} s{factor}"
    if cell.timing:
        return f"{milliseconds(cell.ms)} ms{factor}"
    if cell.status is Status.WRONG and cell.wrong:
        return f"wrong {count(cell.wrong)}/{count(cell.total)}"
    return f"{status_text(cell)} {cell.operation.rpartition('.')[2]}".strip()


def status_text(cell: Cell) -> str:
    """Return the word of an outcome: a program that its frontend does not emit fails in no compiler."""
    return cell.status.value if cell.is_emitted or cell.status is Status.WRONG else "no program"


def place(cell: Cell) -> str:
    """Return the program of a cell, and its compiler if that has a part in the outcome."""
    is_alone = cell.compiler == NATIVE or not cell.is_emitted
    return cell.program if is_alone else f"{cell.program} in {cell.compiler}"


def judged(table: Table) -> str:
    """Return what the outcomes were compared with."""
    if table.judge:
        means = {MEMORY: "Bytes mean", COMPILE: "Processor seconds mean"}.get(table.ask, "A time means")
        return f"Judged by {table.judge}. {means} that all elements are right; the ratio is to the best of the table."
    belongs = "Bytes with a ? belong" if table.ask == MEMORY else "A time with a ? belongs"
    return f"Not judged: {table.judge_reason}. {belongs} to values that nothing vouches for."


def notes(table: Table) -> list[str]:
    """Return a sentence for every outcome that is no time; one for compilers in which a program fails alike."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for cell in table.cells:
        if cell.status is not Status.OK and cell.detail:
            compilers = alike.setdefault((status_text(cell), cell.program, cell.detail), [])
            compilers += [cell.compiler] if cell.is_emitted and cell.compiler != NATIVE else []
    return [
        f"{status}: {program}{' in ' * bool(compilers)}{', '.join(compilers)}: {' '.join(detail.split())}"
        for (status, program, detail), compilers in alike.items()
    ]


def not_tried(table: Table) -> list[str]:
    """Return what the configuration has and the table does not."""
    parts = [f"{what} {', '.join(names)}" for what, names in table.not_tried.items() if names]
    return [f"Not tried: {'; '.join(parts)}."] if parts else []


def paragraph(answer: Cause | Fault | Parting) -> str:
    """Return one short paragraph on a cause, a fault or a parting."""
    if isinstance(answer, Parting):
        return parting_text(answer)
    return fault_text(answer) if isinstance(answer, Fault) else cause_text(answer)


def cause_text(cause: Cause) -> str:
    """Return the cause of a difference in time, memory or compiling in sentences."""
    factor = cause.ratio and cause.ratio.value
    head = f"{gap_text(cause.program, cause.compiler, cause.b, cause.other, factor, cause.ask)}: "
    if cause.verdict != CAUSE:
        if cause.detail.startswith(f"{cause.verdict} "):
            return head + cause.detail
        return f"{head}{cause.verdict}. {cause.detail.removeprefix(cause.verdict).lstrip(':. ')}"
    if not cause.regions:
        return " ".join([f"{head}{cause.detail}.", *compiling_text(cause)])
    places, kinds = sum(region.count for region in cause.regions), len(cause.regions)
    moved = f"{ratio(cause.table_ratio)}x in the table, which times one process." if cause.table_ratio else ""
    parts = [
        f"{places} place{'s' * (places > 1)} of {kinds} kind{'s' * (kinds > 1)}{', timed alone,' * bool(cause.other)}",
        f"{closed_text(cause)}.",
        moved,
        *map(region_text, cause.regions[:MOST_REGIONS]),
        f"And {kinds - MOST_REGIONS} more kinds: see the page." * (kinds > MOST_REGIONS),
        *(
            f"With {one.flag} {one.compiler} takes {ratio(one.ratio)}x the time, {option_share(one, cause)}."
            for one in cause.options[:1]
        ),
        *compiling_text(cause),
    ]
    return head + " ".join(filter(None, parts))


def gap_text(
    a: str, compiler: str, b: str | None, other: str | None, factor: float | None, ask: str = TIME
) -> str:
    """Return which program is slower, needs more memory or compiles longer than what, or compiles long.

    b: the better program; None if `other` is the faster compiler, or if the program compiles long.
    """
    if ask == COMPILE:
        if not b:
            return f"{a} compiles long in {compiler}"
        longer = f"{ratio(factor)} times as long as" if factor else "longer than"
        return f"{a} takes {longer} {b} to compile in {compiler}"
    if ask == MEMORY:
        needs = f"{ratio(factor)} times the memory of" if factor else "more memory than"
        return f"{a} needs {needs} {b} in {compiler}"
    # The fastest cell of a framework that has no compiler is the other side.
    if other == NATIVE:
        return f"{a} takes longer in {compiler} than {display_name(b or '')}"
    times, than = (f"{ratio(factor)} times as long", "as") if factor and factor > 1 else ("longer", "than")
    if other:
        return f"{a} takes {times} in {compiler} {than} in {other}"
    return f"{a} takes {times} {than} {b} in {compiler}"


def compiling_text(cause: Cause) -> list[str]:
    """Return sentences on the passes and the growth of a compilation."""
    if cause.ask != COMPILE:
        return []
    longest = [f"{name} {significant(seconds)} s" for name, seconds in cause.passes.items()][:MOST_NAMES]
    passes = "This compiler does not print the times of its passes."
    if longest:
        passes = f"Longest passes by XLA's clock: {', '.join(longest)}"
        if cause.a_ms and sum(cause.passes.values()) < cause.a_ms / 2000:
            passes += (
                f"; the rest of {significant(cause.a_ms / 1000)} s is outside of passes, as code generation is"
            )
        passes += "."
    powers = [
        f"The time grows with {name} to the power of {one.value:.1f} ({one.low:.1f} to {one.high:.1f})."
        for name, one in cause.growth.items()
    ]
    return [passes, *powers]


def verb(cause: Cause) -> str:
    """Return what is worse about the program of a cause."""
    compiles = "takes longer to compile" if cause.b else "compiles long"
    return {MEMORY: "needs more memory", COMPILE: compiles}.get(cause.ask, "is slower")


def share_text(share: Share) -> str:
    """Return a share in percent with its interval, if it has one."""
    return f"{percent(share.share)}{percent_interval(share.low, share.high)}"


def closed_text(cause: Cause) -> str:
    """Return how much of the gap the regions of a cause close, or make up between compilers."""
    verb = "make{} up" if cause.other or not cause.b else "close{}"
    is_one = sum(region.count for region in cause.regions) == 1
    return f"{verb.format('s' * is_one)} {share_text(cause.closed)} of {whole(cause)}"


def place_text(region: Region, what: str) -> str:
    """Return what a region is, behind the number of its places and before the line of the first."""
    line = region.line_a or region.line_b
    return f"{f'{region.count} x ' * (region.count > 1)}{what}{f' ({line})' * bool(line)}"


def region_text(region: Region) -> str:
    """Return a region's place, what it does in each program, and the reason."""
    a, b = operations(region.a), operations(region.b)
    what = a if region.a == region.b else f"{a} against {b}"
    what += f" ({region.differs})" if region.differs else ""
    return f"{place_text(region, region.what)}: {what}.{_sentence(region.reason.sentence)}"


def _sentence(text: str) -> str:
    """Return a clause as a further sentence, behind a space."""
    return f" {text[0].upper()}{text[1:].rstrip('.')}." if text else ""


def option_share(option: Option, cause: Cause) -> str:
    """Return the share of a gap that an option closes; no number beyond the gap, which says nothing."""
    return "more than the gap" if option.share > MOST_SHARE else f"{percent(option.share)} of {whole(cause)}"


def whole(cause: Cause) -> str:
    """Return the whole of which the shares of a cause are: no region of a framework without StableHLO can be timed."""
    if cause.ask == COMPILE and not cause.b:
        return "the time of compiling"
    return "the time of its regions" if cause.other == NATIVE else "the gap"


def fault_text(fault: Fault) -> str:
    """Return the cause of a wrong value, a crash or a refusal in sentences."""
    head = f"{fault.program} in {fault.compiler}: {fault.kind}."
    if fault.verdict != REDUCED:
        return f"{head} {fault.verdict}: {fault.detail}"
    sizes = ", ".join(f"{name} {value}" for name, value in fault.shapes.items())
    reduced = f"{reduced_text(fault, f' at {sizes}' if sizes else '')}."
    reduced = reduced[0].upper() + reduced[1:]
    cures = f" Right with {' or '.join(fault.cures[:2])}." if fault.cures else ""
    alone = "" if fault.reproduced else " reproduce.py did not show it in a fresh process; see reproduce.log."
    return f"{head} {reduced} {fault.error}.{_sentence(fault.detail)}{cures}{alone}"


def reduced_text(fault: Fault, at: str = "") -> str:
    """Return which operations of a fault's program have it. at: words on its sizes."""
    (before, after), names = fault.operations, operations(fault.region)
    if after < before:
        return f"{before} operations reduce to {after}{at}: {names}"
    return f"{f'all {before} operations are' if before > 1 else 'its one operation is'} needed{at}: {names}"


def parting_headline(found: Parting) -> str:
    """Return where two programs part and the kind of the difference; "" if that is not known."""
    if found.verdict not in (CLASSIFIED, NOT_CLASSIFIED):
        return ""
    places = [
        f"{line} ({name})" if line else name
        for line, name in ((found.line_a, found.a), (found.line_b, found.b))
    ]
    what = f"{found.kind}: {found.detail}" if found.kind else found.verdict
    return f"{found.a} and {found.b} compute different things from {listed(places)} on: {what}"


def parting_text(found: Parting) -> str:
    """Return where two programs part in sentences."""
    head = parting_headline(found)
    if not head:
        return f"Where {found.a} and {found.b} part: {found.verdict}. {found.detail}"
    names = [text.partition(" ")[0].rpartition(".")[2] for text in (found.value_a, found.value_b)]
    error = f" by {found.error:.1e} of the largest value" if found.error is not None else ""
    parts = [f"{head}.", f"The first values that differ, {listed(names)}, do so{error}."]
    if found.verdict == CLASSIFIED:
        rest = "all results are equal" if found.is_all else "results still differ further on"
        parts.append(f"With this undone {rest}.")
    elif found.detail:
        parts.append(f"{found.detail[0].upper()}{found.detail[1:]}.")
    else:
        parts.append("No hypothesis reproduces the difference.")
    return " ".join(parts)


def operations(texts: list[str]) -> str:
    """Return the names of a region's operations, or the type of an argument that has another layout."""
    if texts and texts[0].startswith(ARGUMENT):
        return texts[0].removeprefix(ARGUMENT).strip()
    named = [text.partition(" = ")[2] if text.startswith("%") else text for text in texts]
    names = [text.partition(":")[0].partition("(")[0].strip(' "') for text in named]
    names = [name for name in names if name != CONSTANT] or names
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(name.rpartition(".")[2] for name in names[:MOST_NAMES]) + more or "nothing"


def columns(table: Table) -> list[str]:
    """Return the columns of the table: its compilers, and one for what has none."""
    has_native = any(cell.compiler == NATIVE for cell in table.cells)
    return [*table.compilers, *([NATIVE] if has_native else [])]


def grid(table: Table) -> list[str]:
    """Return the table of outcomes, in as many blocks of columns as the width needs."""
    cells = {(cell.program, cell.compiler): cell for cell in table.cells}
    texts = {
        column: [column, *(cell_text(cells.get((program, column))) for program in table.programs)]
        for column in columns(table)
    }
    return blocks(["program", *table.programs], texts)


def blocks(names: Sequence[str], texts: dict[str, list[str]]) -> list[str]:
    """Return columns with the names of their rows, in as many blocks as the width needs, without rows of "-" alone."""
    first, left, result = max(map(len, names)), list(texts), []
    taken = {column: len(GAP) + max(map(len, rows)) for column, rows in texts.items()}
    while left:
        fitting = (n for n in range(1, len(left) + 1) if first + sum(taken[name] for name in left[:n]) <= WIDTH)
        most = max(fitting, default=1)
        block, left = left[:most], left[most:]
        rows = [
            row
            for row in zip(names, *(texts[column] for column in block), strict=True)
            if set(row[1:]) != {"-"}
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        result += [
            GAP.join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
    return result


def bytes_grid(table: Table) -> list[str]:
    """Return the bytes of each program by kind, a block for each compiler; nothing if they were not asked for."""
    fields = {"arguments": "argument", "outputs": "output", "donated": "alias"}
    result: list[str] = []
    for compiler in table.compilers:
        if known := [cell for cell in table.cells if cell.compiler == compiler and cell.memory]:
            texts = {
                title: [title, *(size(getattr(cell.memory, fields.get(title, title))) for cell in known)]
                for title in ("arguments", "outputs", "temporary", "constant", "donated")
            }
            result += blocks([compiler, *(cell.program for cell in known)], texts)
    return result


def seconds_grid(table: Table) -> list[str]:
    """Return the seconds by the clock that each program's frontend and compilers took; nothing if none is known."""
    cells = {(cell.program, cell.compiler): cell.compile_s for cell in table.cells}
    known = {
        stage: [table.stages.get(program, {}).get(stage) for program in table.programs]
        for stage in ("tracing", "lowering")
    }
    for compiler in table.compilers:
        known[f"compiling in {compiler}"] = [cells.get((program, compiler)) for program in table.programs]
    texts = {
        title: [title, *("-" if one is None else significant(one) for one in column)]
        for title, column in known.items()
        if any(one is not None for one in column)
    }
    return blocks(["seconds", *table.programs], texts) if texts else []


def peaks(table: Table) -> list[str]:
    """Return a sentence on the buffers that live at the peak of each program, the largest first."""
    result = []
    for cell in table.cells:
        if cell.memory and cell.memory.peak:
            shown = "; ".join(map(buffer_text, cell.memory.peak[:MOST_BUFFERS]))
            more = len(cell.memory.peak) - MOST_BUFFERS
            result.append(f"At the peak of {place(cell)}: {shown}{f'; and {more} more' if more > 0 else ''}.")
    return result


def buffer_text(buffer: Buffer) -> str:
    """Return a buffer's size, what it is, and the operation and line that make it."""
    made = f" of {buffer.operation}" if buffer.operation else ""
    line = f" ({buffer.line})" if buffer.line else ""
    return f"{size(buffer.bytes)} {buffer.kind} {buffer.shape}{made}{line}"


def calls_lines(answer: Answer) -> list[str]:
    """Return the arguments of each call, what each framework did in it, and a sentence for each cause."""
    changed = [
        [f"{name} {text}" for name, text in after.items() if before.get(name) != text]
        for before, after in zip([{}, *answer.calls], answer.calls, strict=False)
    ]
    numbers = range(len(answer.calls))
    texts = {}
    for sequence in answer.sequences:
        made = {call.number: call for call in sequence.calls}
        texts[sequence.framework] = [sequence.framework, *(call_text(made.get(number)) for number in numbers)]
    return [
        f"{answer.name}: {answer.title}",
        *(f"call {number}: {', '.join(names) or 'the same types'}" for number, names in enumerate(changed)),
        *blocks(["call", *map(str, numbers)], texts),
        *(
            text
            for sequence in answer.sequences
            for call in sequence.calls
            if (text := call_note(sequence, call))
        ),
        f"Judged by {answer.table.judge}."
        if answer.table.judge
        else f"Not judged: {answer.table.judge_reason}.",
        *not_tried(answer.table),
    ]


def call_text(call: Call | None) -> str:
    """Return the last stage of a call, how often it went through it, and the time of the call."""
    if call is None or call.seconds is None:
        return call.status.value if call else "-"
    stage = next((stage for stage in ("compiled", "lowered", "traced") if getattr(call, stage)), "reused")
    count = getattr(call, stage, 1)
    mark = {Status.WRONG: " wrong", Status.NOT_JUDGED: "?"}.get(call.status, "")
    return f"{stage}{f' {count}x' if count > 1 else ''} {milliseconds(1e3 * call.seconds)} ms{mark}"


def call_note(sequence: CallSequence, call: Call) -> str:
    """Return why a call compiled again, where it went back to Python, or why it did not run; "" for other calls."""
    head = f"{display_name(sequence.framework)}, call {call.number}"
    if call.seconds is None or call.status is Status.WRONG:
        return f"{head}: {call.status}: {call.detail}"
    split = f" It goes back to Python in {call.splits} place{'s' * (call.splits > 1)}." if call.splits else ""
    if not call.cause:
        return f"{head}:{split}" if split else ""
    reason = (
        f" {display_name(sequence.framework)} says: {call.reasons[0].rstrip(':.')}." if call.reasons else ""
    )
    differ = f" ({'; '.join(call.differences)})" if call.differences else ""
    return f"{head}, against call {call.against}: {call_cause(call)}{differ}.{split}{reason}"


def call_cause(call: Call) -> str:
    """Return why a call compiled again."""
    return CAUSES[call.cause].format(listed(call.parameters))
