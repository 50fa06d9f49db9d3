"""Appendix listings and facts from the StableHLO of a run's cells.

Runs in the jax environment, whose MLIR bindings read the text of every framework. A cell without a
program gives a listing that says so, and so does one whose structure is not the expected one: the
paper is built either way.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from stackwars.ir import excerpt, figure, layout, module
from stackwars.ir.facts import facts

COLUMNS = 76  # characters in a line: about 6.3 pt in half the width of IEEEtran's page
TITLES = ("JAX", "PyTorch through torch_xla")
FRAMEWORKS = ("jax", "torch_xla")
Cut = Callable[[module.ir.Module], excerpt.Excerpt]
EXCERPTS: dict[str, tuple[Cut, str]] = {
    "gemm": (excerpt.whole, "Matrix product: the whole program"),
    "ffn": (excerpt.whole, "Feed-forward block with GELU: the whole program"),
    "ffn_relu": (excerpt.whole, "Feed-forward block with ReLU: the whole program"),
    "mha": (
        excerpt.projection,
        "Multi-head attention: the combined projection of the activations and the parts q, k and v",
    ),
    "layernorm": (
        excerpt.normalisation,
        "Layer normalisation: from the input through scale and shift",
    ),
    "conv": (excerpt.whole, "Convolution: the whole program"),
}
NOTE = (
    "StableHLO as each framework emits it, cut from the programs of this run. A comment marks what "
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
    """Write `<workload>_<framework>.tex` for both frameworks, and `<workload>.tex`, the figure."""
    bodies = [lines(workload, path, columns, limit) for path in paths]
    for framework, body in zip(FRAMEWORKS, bodies, strict=True):
        (folder / f"{workload}_{framework}.tex").write_text(figure.listing(body))
    left, right = zip(TITLES, bodies, strict=True)
    text = figure.figure(left, right, f"{EXCERPTS[workload][1]}. {NOTE}", workload)
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


def _module(text: str) -> tuple[str, str, Path]:
    cell, _, path = text.partition("=")
    workload, _, framework = cell.partition("/")
    if not (workload and framework and path):
        raise argparse.ArgumentTypeError(f"expected WORKLOAD/FRAMEWORK=FILE; came {text}")
    return workload, framework, Path(path)


def main() -> None:
    """`python -m stackwars.listings --workload ffn=JAXFILE,TORCHFILE ... --output-dir DIR`."""
    parser = argparse.ArgumentParser(description=main.__doc__, fromfile_prefix_chars="@")
    parser.add_argument("--workload", action="append", type=_workload, default=[])
    parser.add_argument("--output-dir", type=Path)
    parser.add_argument("--columns", type=int, default=COLUMNS, help="characters in a line")
    parser.add_argument("--limit", type=int, help="lines in a listing; default: a page")
    parser.add_argument("--module", action="append", type=_module, default=[])
    parser.add_argument("--facts-output", type=Path, help="JSON: workload -> framework -> facts")
    arguments = parser.parse_args()
    if arguments.workload and not arguments.output_dir:
        parser.error("expected --output-dir with --workload; name the folder for the listings")
    if arguments.module and not arguments.facts_output:
        parser.error("expected --facts-output with --module; name the file for the facts")
    if arguments.output_dir:
        arguments.output_dir.mkdir(parents=True, exist_ok=True)
        (arguments.output_dir / "style.tex").write_text(figure.style(arguments.columns))
        limit = arguments.limit or figure.page_lines(arguments.columns)
        for workload, paths in arguments.workload:
            write(workload, paths, arguments.output_dir, arguments.columns, limit)
    if arguments.facts_output:
        found: dict[str, dict[str, object]] = {}
        for workload, framework, path in arguments.module:
            found.setdefault(workload, {})[framework] = facts(module.read(path))
        arguments.facts_output.parent.mkdir(parents=True, exist_ok=True)
        arguments.facts_output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
