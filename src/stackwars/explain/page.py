"""The answer in files: explain.json, explain.html (one page that fetches nothing) and explain.md (for an issue)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from stackwars.core import machine
from stackwars.core.lines import wrote
from stackwars.core.numbers import milliseconds, percent, ratio, significant, size
from stackwars.core.outcome import Status
from stackwars.explain import answer as answers
from stackwars.explain import console
from stackwars.explain import table as tables
from stackwars.explain.answer import (
    FAILED,
    NATIVE,
    NO_CAUSE,
    NO_GAP,
    NOT_SEPARABLE,
    Answer,
    Cause,
    Fault,
    Parting,
    Question,
    Table,
)
from stackwars.explain.task import COMPILE

OK, NOT_RIGHT, SLOWER = 0, 1, 2
"""Exit statuses of `stackwars explain`."""
TEMPLATE = "page.html.j2"
REPRODUCER, REDUCED = "reproduce.py", "reduced.mlir"
MOST_OPERATIONS = 12
"""Operations of a region that the page shows."""
MOST_LINES = 60
MOST_REGIONS = 2
MOST_CHARACTERS = 180
"""Lines of explain.md, regions of a cause in it, and characters of an operation's text."""


def write(folder: Path, answer: Answer) -> None:
    """Write the files of an answer, and the first reproducer and reduced program, of faults before causes."""
    answers.write(folder / "explain.json", answer)
    (folder / "explain.md").write_text(markdown(answer))
    (folder / "explain.html").write_text(html(answer))
    for name, texts in (
        (REPRODUCER, [found.script for found in (*answer.faults, *answer.causes)]),
        (REDUCED, [found.reduced for found in (*answer.faults, *answer.causes)]),
    ):
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
    cells = [cell for cell in table.cells if cell.compiler != NATIVE]
    if table.differ or any(cell.status is not Status.OK for cell in cells):
        return NOT_RIGHT
    slower: list[Question | Cause] = gaps(table, causes)
    if is_pair:
        slower = [gap for gap in slower if gap.a == table.programs[0] and gap.b]
    slower += [
        one for one in causes if one.ask == COMPILE and not one.b and one.verdict not in (FAILED, NO_CAUSE)
    ]
    return SLOWER if slower or (not is_pair and console.native_gaps(table)) else OK


def has_no_gap(cause: Cause) -> bool:
    """Return whether fresh processes showed no difference in time: the cause of a clear one can be uncertain too."""
    if cause.verdict != NOT_SEPARABLE:
        return cause.verdict == NO_GAP
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
    jinja.filters |= {"ms": milliseconds, "ratio": ratio, "percent": percent, "size": size}
    jinja.filters["significant"] = significant
    table = answer.table
    return jinja.get_template(TEMPLATE).render(
        answer=answer,
        table=table,
        columns=console.columns(table),
        cells={(cell.program, cell.compiler): cell for cell in table.cells},
        console=console,
        native=NATIVE,
        most=MOST_OPERATIONS,
        slowest=slowest(table),
        machine=machine.described(table.machine),
        issue=markdown(answer),
    )


def slowest(table: Table) -> float:
    """Return the largest cost in a compiler, of which the bars are shares: eager PyTorch's can be far above."""
    timed = [cell for cell in table.cells if cell.cost]
    compiled = [cell for cell in timed if cell.compiler != NATIVE]
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
        sides = (
            (answer.a, region.a, region.line_a),
            (answer.b or answer.a, region.b, region.line_b),
        )[: 1 if answer.other == NATIVE or not (answer.b or answer.other) else 2]
        for label, operations, line in sides:
            text = "; ".join(" ".join(operation.split()) for operation in operations)
            short = text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 2]}.."
            result.append(f"{label}: {short}{f'  # {line}' if line else ''}")
    more = len(answer.regions) - MOST_REGIONS
    return [*result, *([f"and {more} more kinds, in explain.html"] if more > 0 else [])]
