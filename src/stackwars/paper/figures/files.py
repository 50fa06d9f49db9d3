"""Figures as files: vector PDF, one style, the same bytes from the same input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("pdf")  # no display, and no second backend to differ by

import matplotlib.pyplot as plt

from stackwars.paper.style import RC


def save(draw: Callable[[], dict[str, plt.Figure]], output: Path) -> None:
    """Write every figure that `draw` returns to <name>.pdf of a folder."""
    output.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(RC):
        for name, figure in draw().items():
            # No date in the file: the same results give the same bytes.
            figure.savefig(output / f"{name}.pdf", metadata={"CreationDate": None})
            plt.close(figure)
