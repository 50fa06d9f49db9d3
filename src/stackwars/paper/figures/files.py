"""Figures as files: vector PDF, one style, the same bytes from the same input."""

from __future__ import annotations

import os
import subprocess
import tempfile
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


FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{fonts}</dir><cachedir>{cache}</cachedir></fontconfig>
"""


def draw_graphs(texts: Path, output: Path) -> None:
    """Write graph-<name>.pdf for every <name>.dot of a folder, as Graphviz lays it out.

    The font is that of the other figures, which matplotlib brings: a machine may have no other.
    """
    with tempfile.TemporaryDirectory() as cache:
        settings = Path(cache, "fonts.conf")
        settings.write_text(FONTS.format(fonts=Path(matplotlib.get_data_path(), "fonts", "ttf"), cache=cache))
        for path in sorted(texts.glob("*.dot")):
            subprocess.run(
                ["dot", "-Tpdf", "-o", output / f"graph-{path.stem}.pdf"],
                input=path.read_text(encoding="utf-8").replace("FONT", RC["font.family"][0]),
                text=True,
                env=os.environ | {"FONTCONFIG_FILE": str(settings)},
                check=True,
            )
