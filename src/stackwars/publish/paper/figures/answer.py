"""Draw docs/answer.png, the figure of the README, from the committed comparisons of the reference.

`make accept` draws it, and `python -m stackwars.publish.paper.figures.answer`. The file holds the numbers that it
shows.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from stackwars.core.launch import REPOSITORY
from stackwars.publish.paper.figures.ratios import draw_compilers
from stackwars.publish.paper.figures.style import RC
from stackwars.setup.device import CPU
from stackwars.study.comparisons import PROGRAMS, Comparison, comparisons
from stackwars.study.config import load
from stackwars.study.results import schema
from stackwars.study.results.dataset import Dataset
from stackwars.study.results.runs import REFERENCE

PICTURE = Path("docs", "answer.png")
STUDY = "matrix"
NUMBERS = "Comment"
"""The text of the file that holds its numbers."""
DPI = 220


def replays(data: Dataset) -> tuple[pd.DataFrame, Comparison]:
    """Return the replay ratios of the programs that are compared first, and the two sides."""
    pair = comparisons(data.config, PROGRAMS)[0]
    where = {"quantity": schema.REPLAY, "device": CPU, "subject": pair.subject, "baseline": pair.baseline}
    return data.comparisons(STUDY, **where), pair


def draw(data: Dataset) -> plt.Figure:
    """Draw Figure 1 of the paper."""
    rows, pair = replays(data)
    return draw_compilers(rows, pair, list(data.study(STUDY).compilers))


def numbers(data: Dataset) -> str:
    """Return the numbers of the figure as CSV."""
    rows, _ = replays(data)
    shown = rows[["workload", "compiler", "ratio", "low", "high"]].dropna(subset=["ratio"])
    return shown.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def write(repository: Path, reference: Path) -> None:
    """Draw the picture from the tables of the reference in a folder."""
    data = Dataset(load(), reference, is_reference=True)
    with plt.rc_context(RC):
        figure = draw(data)
        (repository / PICTURE).parent.mkdir(exist_ok=True)
        figure.savefig(repository / PICTURE, dpi=DPI, metadata={NUMBERS: numbers(data)})
        plt.close(figure)


if __name__ == "__main__":
    write(REPOSITORY, REFERENCE)
