"""Print programs: listings from the StableHLO of cells, and drawings as text for Graphviz.

``python -m stackwars.publish.paper.listings`` runs in the jax environment, whose MLIR bindings the drawings need. A
cell without a program gives a listing that says so: the paper is built either way.
"""

from __future__ import annotations

from pathlib import Path

from stackwars.core import layout, program_text
from stackwars.measure import workloads
from stackwars.measure.frameworks import title
from stackwars.publish.paper import listing_text
from stackwars.setup.environments import why_unavailable
from stackwars.study import printed
from stackwars.study.cells import Cell
from stackwars.study.programs import Program
from stackwars.study.results.folder import REFERENCE, Folder, command, form

if not why_unavailable():
    from stackwars.core.ir import drawing

CHARACTERS = 76  # in a line: about 6.3 pt in half the width of IEEEtran's page
IN_ORIGINAL = ("gemm", "ffn_relu")
"""The workloads whose programs the original's slides show."""
NOTE = "StableHLO as each framework emits it, from the programs of {}. A comment marks what is left out."
FORMS_NOTE = (
    "what each compiler makes of it in {}, in excerpts. A comment marks what is left out. The HLO is shown without "
    "layouts, metadata, parameters, constants, broadcasts and bitcasts, the C++ without checks of bounds and types of "
    "indices. The C++ kernel is named after the nodes that it computes."
)


def lines(path: Path, limit: int) -> list[str]:
    """Return the lines of one program's listing; a comment if there is no program.

    :raises OSError: if the file cannot be read.
    """
    text = program_text.read(path)
    if reason := program_text.missing_reason(text):
        return layout.wrap(f"// no program: {reason}", CHARACTERS, 0)
    return layout.listing(listing_text.stablehlo(text), CHARACTERS, limit)


def listing(workload: str, row: list[Cell], root: Path, source: str) -> str:
    """Return the figure of a workload's listings, frameworks beside each other; source: whose programs they are.

    :raises OSError: if a program cannot be read.
    """
    # Half a page: two figures stand on one.
    limit = listing_text.page_lines(CHARACTERS) // 2 // -(-len(row) // 2)
    parts = [(title(cell.framework), lines(root / cell.path / printed.PROGRAM, limit)) for cell in row]
    is_cut = any(text and text[-1].endswith(layout.LEFT_OUT) for _, text in parts)
    shown = "the beginning of the program" if is_cut else "the whole program"
    also = ", which the original shows too" if workload in IN_ORIGINAL else ""
    caption = f"{workloads.load(workload).TITLE}{also}: {shown}. {NOTE.format(source)}"
    return listing_text.figure([parts[::2], parts[1::2]], caption, workload)


def made_of(workload: str, row: list[Cell], root: Path, source: str) -> str:
    """Return the figure of what two compilers make of a workload: a column for JAX's, beside it TorchInductor's.

    :raises OSError: if a form cannot be read.
    """
    jax, inductor = (root / cell.path for cell in row)
    limit = listing_text.page_lines(CHARACTERS) // 2

    def text(folder: Path, name: str) -> list[str]:
        return layout.listing(getattr(listing_text, name)(form(folder, name)), CHARACTERS, limit)

    columns = [
        [
            ("JAX: jaxpr", text(jax, "jaxpr")),
            ("JAX: StableHLO", lines(jax / printed.PROGRAM, limit)),
            ("JAX: HLO, optimised by XLA", text(jax, "optimised_hlo")),
        ],
        [
            ("TorchInductor: FX graph", text(inductor, "fx_graph")),
            ("TorchInductor: C++", text(inductor, "generated_code")),
        ],
    ]
    caption = f"{workloads.load(workload).TITLE}: {FORMS_NOTE.format(source)}"
    return listing_text.figure(columns, caption, f"forms-{workload}")


def drawings(config: dict, measured: Path) -> dict[str, str]:
    """Return, by workload, the text for Graphviz of every program that is drawn."""
    result: dict[str, str] = {}
    if why_unavailable():
        return result
    for workload in config["paper"]["graphs"]:
        row = [Program(name, workload) for name in printed.compared(config)]
        root = measured if set(row) <= set(printed.drawn(config)) else REFERENCE
        paths = {title(one.framework): root / one.path / "program.mlir.gz" for one in row}
        programs = {name: drawing.read(path) for name, path in paths.items() if path.exists()}
        if programs:
            result[workload] = drawing.side_by_side(programs)
    return result


def write(config: dict, folder: Folder) -> None:
    """Write style.tex, <workload>.tex and forms-<workload>.tex to the listings, and <workload>.dot to the graphs.

    A figure is made from this run if it measured all of its cells, else from the reference, and is left out if that
    has not all of them.
    """
    output = folder["listings"]
    output.mkdir(parents=True, exist_ok=True)
    (output / "style.tex").write_text(listing_text.style(CHARACTERS))
    for prefix, rows, figure in (
        ("", printed.listings(config), listing),
        ("forms-", printed.forms(config), made_of),
    ):
        for workload, row in rows.items():
            is_here = config["source"] != "reference" and printed.is_measured(config, row)
            root, source = (folder.measured, "this run") if is_here else (REFERENCE, "the reference")
            try:
                text = figure(workload, row, root, source)
            except FileNotFoundError:
                continue
            (output / f"{prefix}{workload}.tex").write_text(text)
    folder["graphs"].mkdir(parents=True, exist_ok=True)
    for workload, text in drawings(config, folder.measured).items():
        (folder["graphs"] / f"{workload}.dot").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    command(write)
