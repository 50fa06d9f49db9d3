"""The paper's figures from the results: ``python -m stackwars.paper.figures.write``.

Vector PDF, one style, the same bytes from the same input. Frameworks differ in marker and line as
well as in colour, and the colours in luminance, so the figures survive a grey printer.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("pdf")  # no display, and no second backend to differ by

import matplotlib.pyplot as plt

from stackwars.paper.figures.calls import draw_calls
from stackwars.paper.figures.rows import draw_memory, draw_ratios
from stackwars.paper.figures.split import draw_split
from stackwars.paper.figures.stack import draw_stacks
from stackwars.paper.style import RC
from stackwars.results.read_cells import read_calls, read_frame, read_json, read_ratios
from stackwars.results.read_compilers import read_replay, read_split
from stackwars.study.comparisons import told

FILES = ("frame", "calls", "ratios", "replay", "split", "context")


def write_figures(files: dict[str, Path], output: Path) -> None:
    """Write stacks.pdf, calls.pdf, ratio.pdf, memory.pdf, split.pdf and, for each further comparison of
    programs, split-<subject>.pdf into the folder ``output``; ``files`` has a path for each of FILES."""
    frame = read_frame(files["frame"])
    main, *others = told(read_json(files["context"]))
    replay, split = read_replay(files["replay"]), read_split(files["split"])
    output.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(RC):
        drawn = {
            "stacks": draw_stacks(),
            "calls": draw_calls(frame, read_calls(files["calls"])),
            "ratio": draw_ratios(frame, read_ratios(files["ratios"])),
            "memory": draw_memory(frame),
            "split": draw_split(replay, split, main),
            **{f"split-{pair.subject}": draw_split(replay, split, pair) for pair in others},
        }
        for name, figure in drawn.items():
            # No date in the file: the same results give the same bytes.
            figure.savefig(output / f"{name}.pdf", metadata={"CreationDate": None})
            plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in (*FILES, "output-dir"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    a = vars(parser.parse_args())
    write_figures(a, a["output_dir"])


if __name__ == "__main__":
    main()
