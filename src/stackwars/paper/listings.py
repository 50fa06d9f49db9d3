"""Appendix listings from the StableHLO of a run's cells.

Runs in the jax environment, whose MLIR bindings read the text of every framework. A cell without a
program gives a listing that says so, and so does one whose structure is not the expected one: the
paper is built either way.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from stackwars.ir import excerpt, layout, module
from stackwars.paper import listing_figure

COLUMNS = 76  # characters in a line: about 6.3 pt in half the width of IEEEtran's page
TITLES = ("JAX", "PyTorch through torch_xla")
Cut = Callable[[module.ir.Module], excerpt.Excerpt]
EXCERPTS: dict[str, tuple[Cut, str]] = {
    "ffn": (excerpt.whole, "Feed-forward block with GELU: the whole program"),
    "mha": (
        excerpt.projection,
        "Multi-head attention: the combined projection of the activations and the parts q, k and v",
    ),
    "layernorm": (
        excerpt.normalisation,
        "Layer normalisation: from the input through scale and shift",
    ),
}
NOTE = (
    "StableHLO as each framework emits it, excerpted from the programs of this run. A comment marks what "
    "is left out; names are those of the full program."
)


def lines(workload: str, path: Path, columns: int, limit: int) -> list[str]:
    """The listing's lines for one program; a comment where there is nothing to show.

    Raises OSError where the file cannot be read.
    """
    text = module.read(path)
    reason = module.missing(text)
    if reason is not None:
        return layout.wrap(f"// no program: {reason}", columns, 0)
    try:
        found = EXCERPTS[workload][0](module.parse(text))
    except module.ProgramError as error:
        print(f"[listings] {path}: {error}", file=sys.stderr)
        return layout.wrap(f"// nothing to show: {error}", columns, 0)
    return layout.listing(found.lines(), columns, limit)


def write(workload: str, paths: tuple[Path, Path], folder: Path, columns: int, limit: int) -> None:
    """Write `<workload>.tex`, the figure of both frameworks' listings."""
    bodies = [lines(workload, path, columns, limit) for path in paths]
    left, right = zip(TITLES, bodies, strict=True)
    text = listing_figure.figure(left, right, f"{EXCERPTS[workload][1]}. {NOTE}", workload)
    (folder / f"{workload}.tex").write_text(text)


def _workload(text: str) -> tuple[str, tuple[Path, Path]]:
    name, _, files = text.partition("=")
    paths = [Path(path) for path in files.split(",")]
    if name not in EXCERPTS or len(paths) != 2:
        raise argparse.ArgumentTypeError(
            f"expected WORKLOAD=JAXFILE,TORCHFILE with a workload of {', '.join(EXCERPTS)}; "
            f"came {text}"
        )
    return name, (paths[0], paths[1])


def main() -> None:
    """`python -m stackwars.paper.listings --workload ffn=JAXFILE,TORCHFILE ... --output-dir DIR`."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--workload", action="append", type=_workload, default=[])
    parser.add_argument("--output-dir", type=Path, required=True)
    parser.add_argument("--columns", type=int, default=COLUMNS, help="characters in a line")
    parser.add_argument("--limit", type=int, help="lines in a listing; default: a page")
    arguments = parser.parse_args()
    folder = arguments.output_dir
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "style.tex").write_text(listing_figure.style(arguments.columns))
    limit = arguments.limit or listing_figure.page_lines(arguments.columns)
    for workload, paths in arguments.workload:
        write(workload, paths, folder, arguments.columns, limit)


if __name__ == "__main__":
    main()
