"""A tabular: rows of ready LaTeX cells between booktabs rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stackwars.paper.latex import escape

GAP = r"\addlinespace[2pt]"


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
