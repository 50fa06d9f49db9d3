"""What the paper prints of the programs: listings from the StableHLO of a run's cells, and graphs as data.

``python -m stackwars.paper.listings`` runs in the jax environment, whose MLIR bindings read the text of every
framework. A cell without a program gives a listing that says so, and so does one whose structure is not the
expected one: the paper is built either way.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stackwars import workloads
from stackwars.frameworks import title
from stackwars.ir import excerpt, graph, layout, module
from stackwars.paper import forms, listing_figure
from stackwars.results.folder import ACCEPTED, Folder, command
from stackwars.results.forms import form
from stackwars.study import printed
from stackwars.study.cells import Cell

COLUMNS = 76  # characters in a line: about 6.3 pt in half the width of IEEEtran's page
Cut = Callable[[module.ir.Module], excerpt.Excerpt]
WHOLE = "the whole program"
EXCERPTS: dict[str, tuple[Cut, str]] = {
    "ffn": (excerpt.whole, f"Feed-forward block with GELU: {WHOLE}"),
    "ffn_relu": (
        excerpt.whole,
        f"Feed-forward block with ReLU, as the original shows: {WHOLE}",
    ),
    "mha": (
        excerpt.projection,
        "Multi-head attention: the combined projection of the activations and the parts q, k and v",
    ),
    "layernorm": (
        excerpt.normalisation,
        "Layer normalisation: from the input through scale and shift",
    ),
}
"""Of a workload what is cut out of its program, and the caption; of any other the whole program."""
NOTE = (
    "StableHLO as each framework emits it, excerpted from the programs of {}. A comment marks what "
    "is left out; names are those of the full program."
)
HERE, ELSEWHERE = "this run", "a run of the reference"

FORMS_NOTE = (
    "what each compiler makes of it, step by step, in excerpts. A comment marks what is left out, "
    "except for layouts, metadata, parameters, constants, broadcasts and bitcasts of the HLO, checks of bounds "
    "and types of indices of the C++, and what the graph frees. A C++ kernel is named "
    "after the nodes that it computes."
)
FOR_TITLES = 3  # lines of each listing whose height its title and a part of the caption take


def lines(cut: Cut, path: Path, columns: int, limit: int) -> list[str]:
    """The listing's lines for one program; a comment where there is nothing to show.

    Raises OSError where the file cannot be read.
    """
    text = module.read(path)
    reason = module.missing(text)
    if reason is not None:
        return layout.wrap(f"// no program: {reason}", columns, 0)
    try:
        found = cut(module.parse(text))
    except module.ProgramError as error:
        print(f"[listings] {path}: {error}", file=sys.stderr)
        return layout.wrap(f"// nothing to show: {error}", columns, 0)
    return layout.listing(found.lines(), columns, limit)


def listing(workload: str, texts: dict[str, Path], where: str = HERE) -> str:
    """The figure of a workload's listings, by framework; where: whose programs they are."""
    whole = f"{workloads.load(workload).TITLE}: {WHOLE}"
    cut, caption = EXCERPTS.get(workload, (excerpt.whole, whole))
    limit = listing_figure.page_lines(COLUMNS, len(texts))
    parts = [
        (title(framework), lines(cut, path, COLUMNS, limit)) for framework, path in texts.items()
    ]
    if any(text and text[-1].endswith(layout.LEFT_OUT) for _, text in parts):
        caption = caption.replace(WHOLE, "the beginning of the program")
    return listing_figure.figure(parts, f"{caption}. {NOTE.format(where)}", workload)


def made_of(workload: str, cells: list[Cell], measured: Path) -> str:
    """The figure of what two compilers make of a workload: a column for JAX's, beside it TorchInductor's.

    Raises OSError where a form cannot be read.
    """
    jax, inductor = (measured / cell.path for cell in cells)
    cut, _ = EXCERPTS.get(workload, (excerpt.whole, ""))
    limit = listing_figure.page_lines(COLUMNS, 6) - FOR_TITLES

    def text(folder: Path, name: str) -> list[str]:
        return layout.listing(getattr(forms, name)(form(folder, name)), COLUMNS, limit)

    parts = [
        ("JAX: jaxpr", text(jax, "jaxpr")),
        ("TorchInductor: FX graph", text(inductor, "fx_graph")),
        ("JAX: StableHLO", lines(cut, jax / "stablehlo.mlir.gz", COLUMNS, limit)),
        ("TorchInductor: C++", text(inductor, "generated_code")),
        ("JAX: HLO, optimised by XLA", text(jax, "optimised_hlo")),
    ]
    return listing_figure.figure(
        parts, f"{workloads.load(workload).TITLE}: {FORMS_NOTE}", f"forms-{workload}"
    )


def graphs(config: dict, measured: Path) -> dict[str, Any]:
    """The graph of every program that is drawn, by workload and framework."""
    found: dict[str, dict[str, Any]] = {}
    for program in printed.drawn(config):
        path = measured / program.path / "program.mlir.gz"
        if path.exists():
            row = found.setdefault(program.workload, {})
            row[program.framework] = graph.described(path)
    return {"schema": graph.SCHEMA, "workloads": found}


def write(config: dict, folder: Folder) -> None:
    """Write ``listings/style.tex``, ``listings/<workload>.tex``, ``listings/forms-<workload>.tex`` and
    graphs.json: of what the configuration names, what there is.
    """
    folder["listings"].mkdir(parents=True, exist_ok=True)
    (folder["listings"] / "style.tex").write_text(listing_figure.style(COLUMNS))
    for workload, cells in printed.listed(config).items():
        texts = {c.framework: folder.measured / c.path / printed.PROGRAM for c in cells}
        if all(path.exists() for path in texts.values()):
            (folder["listings"] / f"{workload}.tex").write_text(listing(workload, texts))
    for workload, texts in printed.listed_elsewhere(config, ACCEPTED).items():
        (folder["listings"] / f"{workload}.tex").write_text(listing(workload, texts, ELSEWHERE))
    for workload, cells in printed.with_forms(config).items():
        try:
            text = made_of(workload, cells, folder.measured)
        except FileNotFoundError:
            continue
        (folder["listings"] / f"forms-{workload}.tex").write_text(text)
    data = graphs(config, folder.measured)
    folder["graph_data"].write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    command(write)
