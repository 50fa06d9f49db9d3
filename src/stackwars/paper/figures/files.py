"""Figures as files: vector PDF, one style, the same bytes from the same input.

Frameworks differ in marker and line as well as in colour, and the colours in luminance, so the figures survive
a grey printer.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("pdf")  # no display, and no second backend to differ by

import matplotlib.pyplot as plt
import pandas

from stackwars.paper.style import RC


def save(draw: Callable[[], dict[str, plt.Figure]], output: Path) -> None:
    """Write every figure that `draw` makes to <name>.pdf of a folder."""
    output.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(RC):
        for name, figure in draw().items():
            # No date in the file: the same results give the same bytes.
            figure.savefig(output / f"{name}.pdf", metadata={"CreationDate": None})
            plt.close(figure)


def literal(table: pandas.DataFrame) -> pandas.DataFrame:
    """The table with titles that Matplotlib draws as they are: between two dollars it reads mathematics."""
    if "title" not in table.columns:
        return table
    return table.assign(title=[str(title).replace("$", r"\$") for title in table["title"]])
