"""Write every table of the paper as a LaTeX float: ``python -m stackwars.publish.paper.tables.write``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import pandas as pd

from stackwars.publish.paper.latex import escape
from stackwars.publish.paper.tables import (
    audits,
    causes,
    claims,
    compilers,
    faults,
    latency,
    products,
    programs,
    stacks,
    targets,
)
from stackwars.publish.paper.tables.formats import FORMATS, Cell, marks_note, shown
from stackwars.publish.paper.tables.spec import SKIPPED, Column, Span, Table
from stackwars.study.results.dataset import Sources, sources
from stackwars.study.results.folder import Folder, command

REGISTRY: tuple[Table, ...] = tuple(
    table
    for module in (
        latency,
        compilers,
        causes,
        products,
        programs,
        targets,
        stacks,
        faults,
        audits,
        claims,
    )
    for table in module.TABLES
)
"""Every table of the paper."""
GAP = r"\addlinespace[2pt]"


def write(config: dict, folder: Folder) -> None:
    """Write tables/<name>.tex for every table into the folder."""
    datasets = sources(config, folder)
    folder["tables"].mkdir(parents=True, exist_ok=True)
    for table in REGISTRY:
        (folder["tables"] / f"{table.name}.tex").write_text(render(table, datasets), encoding="utf-8")


def render(table: Table, sources: Sources) -> str:
    """Return the float of a table; more rows than a page has continue in further floats of the same number."""
    frame = table.rows(sources)
    columns = table.columns if isinstance(table.columns, tuple) else table.columns(sources)
    if missing := [column.value for column in columns if len(frame) and column.value not in frame]:
        raise ValueError(
            f"table {table.name}: expected rows with {', '.join(missing)}, which its columns show, got "
            f"{', '.join(frame.columns)}; fix: the function rows of the table"
        )
    body = _body(table, columns, frame)
    groups = list(frame[table.group_by]) if table.group_by and len(frame) else [""] * len(body)
    pages = list(_pages(groups, table.max_rows)) or [range(0)]
    origin = escape(sources.origin(table.study)) if table.study else ""
    marks = marks_note(" ".join(map(" ".join, body)))
    note = " ".join(" ".join([table.note, frame.attrs.get("note", ""), marks, origin]).split())
    floats = []
    for number, page in enumerate(pages):
        lines = [body[place] for place in page]
        gaps = [place - page.start for place in page[1:] if table.loose or groups[place] != groups[place - 1]]
        tabular = _tabular(columns, lines, gaps, table.empty)
        floats.append(_float(table, tabular, note if number == len(pages) - 1 else "", number))
    return "\n".join(floats)


def _pages(groups: Sequence[object], most: int) -> Iterator[range]:
    """Yield the rows of each page; a group is divided only if it is longer than a page."""
    start = end = 0
    for _, members in groupby(groups):
        size = len(list(members))
        if end > start and end + size - start > most:
            yield range(start, end)
            start = end
        end += size
        while end - start > most:
            yield range(start, start + most)
            start += most
    if end > start:
        yield range(start, end)


def _body(table: Table, columns: Sequence[Column], frame: pd.DataFrame) -> list[list[str]]:
    """Return the cells of every row as LaTeX."""
    if frame.empty:
        return []
    texts = []
    for column in columns:
        values = list(frame[column.value])
        if column.value == table.group_by:
            pairs = zip(values, [None, *values], strict=False)
            values = ["" if value == before else value for value, before in pairs]
        texts.append(_aligned([_cell(column, value) for value in values]))
    return [list(row) for row in zip(*texts, strict=True)]


def _cell(column: Column, value: object) -> Cell:
    if isinstance(value, Span):
        return Cell(text=rf"\multicolumn{{{value.width}}}{{c}}{{{escape(value.text)}}}")
    if isinstance(value, str) and value == SKIPPED:
        return Cell(text=SKIPPED)
    return shown(column.format, value)


def _aligned(cells: Sequence[Cell]) -> list[str]:
    """Return the cells with their numbers aligned at the decimal point."""
    parts = [cell.number.partition(".") for cell in cells if cell.number]
    left = max((integer for integer, _, _ in parts), key=len, default="")
    right = max((point + decimals for _, point, decimals in parts), key=len, default="")
    texts = [(_padded(cell.number, left, right) if cell.number else "") + cell.text for cell in cells]
    return [rf"\textbf{{{text}}}" if cell.is_bold else text for cell, text in zip(cells, texts, strict=True)]


def _padded(number: str, left: str, right: str) -> str:
    """Return a number in a box as wide as `left` before its decimal point and `right` from it on."""
    integer, point, decimals = number.partition(".")
    head = integer if len(integer) == len(left) else rf"\hphantom{{{left}}}\llap{{{integer}}}"
    tail = point + decimals
    result = head + (tail if len(tail) == len(right) else rf"\rlap{{{tail}}}\hphantom{{{right}}}")
    return result.replace("-", r"\textminus{}")


def _tabular(columns: Sequence[Column], lines: list[list[str]], gaps: list[int], empty: str) -> str:
    """Return the tabular of these rows, by pandas; gaps: the rows before which there is a space."""
    nothing = [_cell(columns[0], Span(empty, len(columns))).text, *[SKIPPED] * (len(columns) - 1)]
    heads = [(escape(column.group), escape(column.head)) for column in columns]
    is_grouped = any(group for group, _ in heads)
    labels = pd.MultiIndex.from_tuples(heads) if is_grouped else [head for _, head in heads]
    # Two heads may be the same, which pandas allows unless it formats the values itself.
    styler = pd.DataFrame(lines or [nothing], columns=labels).style.hide(axis="index")
    preamble = "".join(column.align or FORMATS[column.format][0] for column in columns)
    text = styler.to_latex(column_format=f"@{{}}{preamble}@{{}}", hrules=True, multicol_align="c")
    result = text.replace(f" & {SKIPPED}", "").strip().split("\n")
    first = result.index(r"\midrule") + 1
    for place in reversed(gaps):
        result.insert(first + place, GAP)
    if is_grouped:
        result.insert(first - 2, _rules([group for group, _ in heads]))
    return "\n".join(result)


def _rules(groups: list[str]) -> str:
    """Return the rules below the heads that several columns share."""
    rules, start = "", 1
    for group, members in groupby(groups):
        end = start + len(list(members)) - 1
        rules += rf"\cmidrule(lr){{{start}-{end}}}" if group else ""
        start = end + 1
    return rules


def _float(table: Table, tabular: str, note: str, number: int) -> str:
    """Return a float with the tabular; number: 0 for the first of a table, which has the label."""
    environment = "table*" if table.wide else "table"
    # A later float keeps the number of the first; hyperref needs another name for it.
    again = rf"\addtocounter{{table}}{{-1}}\def\theHtable{{\thetable.{number}}}%"
    below = rf"\par\vspace{{2pt}}\parbox{{\linewidth}}{{\scriptsize {note}}}"
    return "\n".join(
        [
            rf"\begin{{{environment}}}[tbp]",
            r"\centering",
            *([again] if number else []),
            rf"\caption{{{escape(table.caption)}{' (continued)' if number else ''}}}",
            *([] if number else [rf"\label{{tab:{table.name}}}"]),
            rf"\scriptsize\setlength{{\tabcolsep}}{{{table.separation}}}%",
            # A long status or an unusual number may make a row wider than the column: only then the whole
            # tabular is set smaller.
            r"\setbox0=\hbox{%",
            tabular + "}%",
            r"\leavevmode\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\box0}\else\box0\fi",
            *([below] if note else []),
            rf"\end{{{environment}}}",
            "",
        ]
    )


if __name__ == "__main__":
    command(write)
