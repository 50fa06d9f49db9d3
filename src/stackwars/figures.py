"""The paper's figures from the results: ``python -m stackwars.figures``.

Vector PDF, one style, the same bytes from the same input. Frameworks differ in marker and line as
well as in colour, and the colours in luminance, so the figures survive a grey printer.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("pdf")  # no display, and no second backend to differ by

import matplotlib.pyplot as plt

from stackwars.call_figure import draw_calls
from stackwars.row_figures import draw_memory, draw_ratios
from stackwars.sources import read_calls, read_frame, read_ratios
from stackwars.stack_diagram import draw_stacks
from stackwars.style import RC


def write_figures(frame_path: Path, calls_path: Path, ratios_path: Path, output: Path) -> None:
    """Write stacks.pdf, calls.pdf, ratio.pdf and memory.pdf into the folder ``output``."""
    frame = read_frame(frame_path)
    output.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(RC):
        drawn = {
            "stacks": draw_stacks(),
            "calls": draw_calls(frame, read_calls(calls_path)),
            "ratio": draw_ratios(frame, read_ratios(ratios_path)),
            "memory": draw_memory(frame),
        }
        for name, figure in drawn.items():
            # No date in the file: the same results give the same bytes.
            figure.savefig(output / f"{name}.pdf", metadata={"CreationDate": None})
            plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("frame", "calls", "ratios", "output-dir"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    a = parser.parse_args()
    write_figures(a.frame, a.calls, a.ratios, a.output_dir)


if __name__ == "__main__":
    main()
