"""A tabular: rows of ready LaTeX cells between booktabs rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from stackwars.paper.latex import escape

GAP = r"\addlinespace[2pt]"
NO_VALUE = "---"


@dataclass(frozen=True)
class Float:
    """A table float: where it stands, what it is called and how dense it is."""

    label: str
    caption: str  # LaTeX
    columns: str  # the tabular's preamble
    note: str = ""  # LaTeX below the tabular: how to read it, and the origin of its numbers
    wide: bool = False  # both columns of the page
    separation: str = "3pt"  # half the space between two columns of the tabular
    size: str = r"\footnotesize"


def s_column(numbers: Iterable[str]) -> str:
    """The siunitx column just wide enough for these numbers, aligned at the decimal point."""
    whole, decimals = 1, 0
    for text in numbers:
        head, _, tail = text.partition(".")
        whole, decimals = max(whole, len(head)), max(decimals, len(tail))
    return f"S[table-format={whole}.{decimals}]"


def span(width: int, text: object, align: str = "c") -> str:
    """``text`` across ``width`` columns."""
    return rf"\multicolumn{{{width}}}{{{align}}}{{{escape(text)}}}"


def row(cells: Iterable[object]) -> str:
    """One row. Cells are LaTeX already, except plain numbers' text, which needs no escaping."""
    return " & ".join(str(cell) for cell in cells) + r" \\"


def varying(
    heads: Sequence[str], rows: Sequence[Sequence[str]], names: dict[int, str]
) -> tuple[list[int], str]:
    """The columns that a table keeps, and a line for its note about those that say the same in every row, or
    nothing.

    rows: their cells, as many in each as there are heads, a dash where there is no value; names: {column that
    may go: what the line calls it}. A single row keeps all of them.
    """
    values = {column: {cells[column] for cells in rows} - {NO_VALUE} for column in names}
    same = {column: names[column] for column in names if len(rows) > 1 and len(values[column]) < 2}
    told = ", ".join(f"{name} {''.join(values[c])}" for c, name in same.items() if values[c])
    blank = ", ".join(name for column, name in same.items() if not values[column])
    kept = [column for column in range(len(heads)) if column not in same]
    note = f"The same in every row that has a value: {told}. " if told else ""
    return kept, note + (f"No row has a value of: {blank}. " if blank else "")


def picked(cells: Sequence[str], kept: list[int]) -> list[str]:
    """The cells of these columns."""
    return [cells[column] for column in kept]


def table(spec: Float, header: Iterable[str], lines: Iterable[str]) -> str:
    """The whole float, from \\begin{table} to \\end{table}."""
    environment = "table*" if spec.wide else "table"
    note = rf"\par\vspace{{2pt}}\parbox{{\linewidth}}{{\scriptsize {spec.note}}}"
    return "\n".join(
        [
            rf"\begin{{{environment}}}[tbp]",
            r"\centering",
            rf"\caption{{{spec.caption}}}",
            rf"\label{{{spec.label}}}",
            rf"{spec.size}\setlength{{\tabcolsep}}{{{spec.separation}}}%",
            # A long status or a machine of unusual speed may make a row wider than the column:
            # then, and only then, the whole tabular is set smaller.
            r"\setbox0=\hbox{%",
            rf"\begin{{tabular}}{{@{{}}{spec.columns}@{{}}}}",
            r"\toprule",
            *header,
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}}%",
            r"\leavevmode\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\box0}\else\box0\fi",
            *([note] if spec.note else []),
            rf"\end{{{environment}}}",
            "",
        ]
    )


def tables(spec: Float, header: Iterable[str], blocks: Iterable[list[str]], most: int) -> str:
    """The table on as many pages as its blocks need; between two blocks of one page is a gap.

    most: the lines of a page, which only a single block may exceed. A float that is higher than its page is
    cut off without an error.
    """
    pages: list[list[str]] = [[]]
    for block in blocks:
        if pages[-1] and len(pages[-1]) + len(block) > most:
            pages.append([])
        pages[-1] += [*([GAP] if pages[-1] else []), *block]
    return continued(spec, header, pages)


def continued(spec: Float, header: Iterable[str], pages: Iterable[list[str]]) -> str:
    """A float for each list of lines. The later ones have a number after the label; the first has the note."""
    header = list(header)
    floats = []
    for number, lines in enumerate(pages):
        more = {
            "label": f"{spec.label}{number}",
            "caption": f"{spec.caption} (Continued)",
            "note": "",
        }
        floats.append(table(replace(spec, **more) if number else spec, header, lines))
    return "\n".join(floats)
