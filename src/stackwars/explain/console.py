"""The answer as text for a terminal of 80 columns: the table of outcomes, then a paragraph for each cause or fault."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from stackwars.explain.outcomes import NATIVE, REFUSED, RIGHT
from stackwars.measure.contention import MAX_OTHER_PROCESSES_SHARE

WIDTH = 76
"""Columns: a run of the workflow indents by four."""
GAP = "  "
MOST_NAMES = 3
MOST_REGIONS = 4
"""Operations of a region that are named."""
ARGUMENT, CONSTANT = "argument :", "stablehlo.constant"


def lines(table: dict) -> list[str]:
    """Return the lines of a table, each of at most WIDTH columns or a sentence that is to be wrapped."""
    return [f"{table['name']}: {table['title']}", *grid(table), *below(table)]


def below(table: dict) -> list[str]:
    """Return the sentences that stand below the table."""
    apart = [f"{table['apart']}."] if table["apart"] else []
    return [judged(table), *busy(table), *apart, *notes(table), *not_tried(table)]


def busy(table: dict) -> list[str]:
    """Return a warning if other processes had much of the cores while programs were timed."""
    largest = max((cell["others_share"] or 0.0 for cell in table["cells"]), default=0.0)
    if largest <= MAX_OTHER_PROCESSES_SHARE:
        return []
    return [
        f"Other processes had up to {largest:.0%} of the cores while these were timed, so times may be several times "
        "too long: repeat it with nothing else running."
    ]


def wrapped(texts: Iterable[str]) -> str:
    """Return the lines with sentences wrapped."""
    return "\n".join(
        textwrap.fill(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False) for text in texts
    )


def logged(texts: Iterable[str]) -> str:
    """Return lines as the workflow's terminal prints them from the log of a job (`stackwars.workflow.terminal`)."""
    return "\n".join(f"[stackwars] {text}" for text in ["result:", *texts])


def cell_text(cell: dict | None) -> str:
    """Return what a cell of the table shows."""
    if cell is None:
        return "-"
    if cell["ms"] is not None:
        ratio = f" {format_ratio(cell['ratio'])}x" if cell["ratio"] is not None else ""
        return f"{format_ms(cell['ms'])} ms{ratio}{'' if cell['status'] == RIGHT else '?'}"
    if cell["status"] == "wrong" and cell["wrong"]:
        return f"wrong {format_count(cell['wrong'])}/{format_count(cell['total'])}"
    if not cell["emitted"]:
        return "no program"
    if cell["status"] == REFUSED and cell["operation"]:
        return f"refused {cell['operation'].rpartition('.')[2]}"
    return cell["status"]


def format_ms(value: float) -> str:
    """Return milliseconds with three significant digits.

    >>> [format_ms(value) for value in (0.01234, 1.2, 123.4, 4321)]
    ['0.0123', '1.20', '123', '4,321']
    """
    if value >= 100:
        return f"{value:,.0f}"
    digits = 1 if value >= 10 else 2 if value >= 1 else 3 if value >= 0.1 else 4
    return f"{value:.{digits}f}"


def format_count(value: int) -> str:
    """Return a count in at most five characters; the notes have it whole.

    >>> [format_count(value) for value in (300, 32769, 523964, 38_597_376)]
    ['300', '32769', '524k', '39M']
    """
    if value < 100_000:
        return str(value)
    return f"{value / 1000:.0f}k" if value < 10_000_000 else f"{value / 1e6:.0f}M"


def format_ratio(value: float) -> str:
    """Return a ratio with two digits after the point, or none if it is large.

    >>> [format_ratio(value) for value in (1, 2.345, 48.12)]
    ['1.00', '2.35', '48']
    """
    return f"{value:.2f}" if value < 9.995 else f"{value:,.0f}"


def judged(table: dict) -> str:
    """Return what the outcomes were compared with."""
    if table["judge"]:
        ms = "A time means that all elements are right; the ratio is to the best of the table."
        return f"Judged by {table['judge']}. {ms}"
    return f"Not judged: {table['judge_reason']}. Times with a ? are of values that nothing vouches for."


def notes(table: dict) -> list[str]:
    """Return a sentence for every outcome that is no time; one for compilers in which a program fails alike."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for cell in table["cells"]:
        if cell["status"] != RIGHT and cell["detail"]:
            status = cell["status"] if cell["emitted"] else "no program"
            where = [cell["compiler"]] if cell["emitted"] else []
            alike.setdefault((status, cell["program"], cell["detail"]), []).extend(where)
    return [
        f"{status}: {program}{_in(compilers)}: {' '.join(detail.split())}"
        for (status, program, detail), compilers in alike.items()
    ]


def not_tried(table: dict) -> list[str]:
    """Return what the configuration has and the table does not."""
    missing = table["not_tried"]
    parts = [f"{what} {', '.join(names)}" for what, names in missing.items() if names]
    return [f"Not tried: {'; '.join(parts)}."] if parts else []


def paragraph(kind: str, answer: dict) -> str:
    """Return one short paragraph on a cause or a fault."""
    return fault_text(answer) if kind == "fault" else cause_text(answer)


def cause_text(cause: dict) -> str:
    """Return the cause of a difference in time in sentences."""
    head = f"{question_text(cause)}: "
    if cause["verdict"] != "cause":
        verdict, detail = cause["verdict"], cause["detail"]
        if detail.startswith(f"{verdict} "):
            return head + detail
        return f"{head}{verdict}. {detail.removeprefix(verdict).lstrip(':. ')}"
    more = len(cause["regions"]) - MOST_REGIONS
    parts = [
        closed_text(cause),
        *map(region_text, cause["regions"][:MOST_REGIONS]),
        *([f"And {more} more kinds: see the page."] if more > 0 else []),
        *map(option_text, cause.get("options", [])[:1]),
    ]
    return head + " ".join(parts)


def question_text(cause: dict) -> str:
    """Return which gap was explained."""
    ratio = cause.get("ratio") or {}
    takes = f"takes {format_ratio(ratio['value'])}x the time" if ratio else "takes longer"
    subject = f"{program_of(cause)} in {cause['compiler']}"
    if cause.get("other"):
        return f"{subject} {takes} {'that it takes' if ratio else 'than'} in {cause['other']}"
    return f"{subject} {takes} {'of' if ratio else 'than'} {cause['b']}"


def program_of(cause: dict) -> str:
    """Return the slower program; the sides of a gap between compilers are "program in compiler"."""
    return cause["a"].removesuffix(f" in {cause['compiler']}")


def closed_text(cause: dict) -> str:
    """Return how much of the gap the final set of regions closes, or makes up if they are timed alone."""
    closed = cause["closed"]
    places = sum(region["count"] for region in cause["regions"])
    kinds = len(cause["regions"])
    what = f"{places} place{'s' * (places > 1)} of {kinds} kind{'s' * (kinds > 1)}"
    share = f"{percent(closed['share'])}{interval(closed)} of the gap."
    if cause.get("other"):
        return f"{what}, timed alone, make{'s' * (places == 1)} up {share}"
    return f"{what} close{'s' * (places == 1)} {share}"


def region_text(region: dict) -> str:
    """Return a region's place, what it does in each program, and the reason."""
    count = f"{region['count']} x " if region["count"] > 1 else ""
    line = region.get("line_a") or region.get("line_b")
    place = f" ({line})" if line else ""
    a, b = (_operations(region[side]) for side in "ab")
    what = a if region["a"] == region["b"] else f"{a} against {b}"
    reason = (region.get("reason") or {}).get("sentence", "").rstrip(".")
    return f"{count}{region['what']}{place}: {what}.{f' {reason[0].upper()}{reason[1:]}.' if reason else ''}"


def option_text(option: dict) -> str:
    """Return how much of a gap between compilers an option of one of them closes."""
    took = f"{format_ratio(option['ratio'])}x the time, {percent(option['share'])} of the gap"
    return f"With {option['flag']} {option['compiler']} takes {took}."


def fault_text(fault: dict) -> str:
    """Return the cause of a wrong value, a crash or a refusal in sentences."""
    head = f"{fault['program']} in {fault['compiler']}: {fault['kind']}."
    if fault["verdict"] != "reduced":
        return f"{head} {fault['verdict']}: {fault['detail']}"
    before, after = fault["operations"]
    sizes = ", ".join(f"{name} {value}" for name, value in fault.get("shapes", {}).items())
    shapes = f" at {sizes}" if sizes else ""
    reduced = f"{before} operations reduce to {after}{shapes}: {_operations(fault['region'])}."
    cured = [cure["flag"] for cure in fault.get("cures", []) if cure["outcome"] == "right"]
    cures = f" Right with {' or '.join(cured[:2])}." if cured else ""
    alone = (
        "" if fault["reproduced"] else " reproduce.py did not show it in a fresh process; see reproduce.log."
    )
    return f"{head} {reduced} {fault['error']}.{cures}{alone}"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def interval(value: dict) -> str:
    """Return the 95 % interval of a share; empty if it has none."""
    if value.get("low") is None or value.get("high") is None:
        return ""
    return f" [{100 * value['low']:.0f}, {100 * value['high']:.0f}]"


def _operations(texts: list[str]) -> str:
    """Return the names of a region's operations, or the type of an argument that has another layout."""
    if texts and texts[0].startswith(ARGUMENT):
        return texts[0].removeprefix(ARGUMENT).strip()
    names = [text.partition(":")[0].partition("(")[0].strip(' "') for text in texts]
    names = [name for name in names if name != CONSTANT] or names
    shown = [name.rpartition(".")[2] for name in names[:MOST_NAMES]]
    return (
        ", ".join(shown) + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")
        or "nothing"
    )


def _in(compilers: list[str]) -> str:
    named = [compiler for compiler in compilers if compiler != NATIVE]
    return f" in {', '.join(named)}" if named else ""


def columns(table: dict) -> list[str]:
    """Return the columns of the table: its compilers, and one for what has none."""
    has_native = any(cell["compiler"] == NATIVE for cell in table["cells"])
    return [*table["compilers"], *([NATIVE] if has_native else [])]


def grid(table: dict) -> list[str]:
    """Return the table, in as many blocks of columns as the width needs."""
    found = {(cell["program"], cell["compiler"]): cell for cell in table["cells"]}
    names = ["program", *table["programs"]]
    first = max(map(len, names))
    texts = {
        column: [column, *(cell_text(found.get((program, column))) for program in table["programs"])]
        for column in columns(table)
    }
    result: list[str] = []
    for block in _blocks({column: max(map(len, rows)) for column, rows in texts.items()}, first):
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


def _blocks(widths: dict[str, int], first: int) -> Iterable[list[str]]:
    block: list[str] = []
    for column, width in widths.items():
        used = first + sum(len(GAP) + widths[name] for name in block)
        if block and used + len(GAP) + width > WIDTH:
            yield block
            block = []
        block = [*block, column]
    yield block
