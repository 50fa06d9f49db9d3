"""Print programs: listings from the StableHLO and other forms of cells, and drawings as text for Graphviz.

``python -m stackwars.publish.paper.listings`` writes them; without MLIR's bindings there are no drawings. A cell
without a program gives a listing that says so: the paper is built either way.

A form is cut down to (indent, line) pairs; a comment says how many lines are left out, and where. The font follows
from the number of characters in a line: as large as lets that many fill the column, so a line broken to that number
can never run over, whatever width the column has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase

from stackwars.core import layout, program_text
from stackwars.measure import workloads
from stackwars.measure.frameworks import title
from stackwars.publish.paper.latex import escape
from stackwars.setup.environments import Unavailable
from stackwars.study import printed
from stackwars.study.cells import Cell
from stackwars.study.keys import Config
from stackwars.study.results.folder import REFERENCE, Folder, command, form
from stackwars.study.results.programs import ask

CHARACTERS = 76  # in a line: about 6.3 pt in half the width of IEEEtran's page
NOTE = "StableHLO as each framework emits it, from the programs of {}. A comment marks what is left out."
FORMS_NOTE = (
    "what each compiler makes of it in {}, in excerpts. A comment marks what is left out. The HLO is shown without "
    "layouts, metadata, parameters, constants, broadcasts and bitcasts, the C++ without checks of bounds and types of "
    "indices. The C++ kernel is named after the nodes that it computes."
)
Lines = list[tuple[int, str]]

_LARGE = re.compile(r'dense<("0x[^"]*"|\[[^>]{80,}|[^>]*__elided__)>|dense_resource<[^>]*>')
_LAYOUT = re.compile(r"(?<=\])\{[\d,]+\}")
_METADATA = re.compile(r", metadata=\{[^}]*\}|, backend_config=\{.*$")
_OMITTED = re.compile(r"(?:ROOT )?%\S+ = \S+ (?:parameter|constant|broadcast|bitcast)\(")
_FUSED = re.compile(r" fusion\(.*calls=%([\w.-]+)")
_HEAD = re.compile(r"\(.*\)(?= -> )")
_FREED = re.compile(r";(\s+\w+ =)+ None$")
_KERNEL = re.compile(r"(?ms)^(cpp_fused_\w+) = async_compile\.cpp_pybinding\(.*?'''\n(.*?)^'''\)")
_CALL = re.compile(r"(?m)^ +(cpp_fused_\w+\(.*\))$")
_STEP = re.compile(r"#pragma omp|for\(int64_t x|auto tmp|tmp\w+ = |tmp\w+\.store|out_ptr\d+\[")
_NO_STEP = re.compile(r"[{}]*$|if\(C10_LIKELY|int tid = |#include|extern |(const )?float\* ")
"""Brackets, the check of a loop's bounds, and the signature."""
_CAST = re.compile(r"static_cast<int64_t>\(([^()]*)\)|at::vec::")
"""The type of an index, and a namespace."""
LEADING = 1.13  # line spacing over font size
PAGE_LINES = int(620 / (LEADING * min(8.0, 250 / (0.525 * CHARACTERS))))
"""Lines of a page of IEEEtran above a caption: 620 pt of height over line spacing. CHARACTERS of 0.525 em (txtt) fill
half the width, 250 pt."""
Listing = tuple[str, list[str]]
"""Title and lines."""

_STYLE = r"""% Style of the StableHLO listings, for package listings; CHARACTERS in a line.
% In OT1, braces and angles would come from other fonts, of another width.
\RequirePackage[T1]{fontenc}
\newlength{\stablehlocell}
\newlength{\stablehlosize}
\newcommand{\stablehlofont}{%
  \fontencoding{T1}\fontfamily{txtt}\fontsize{10}{10}\selectfont
  \settowidth{\stablehlocell}{0}%
  \setlength{\stablehlosize}{\dimexpr
    9.99pt*\number\linewidth/\numexpr CHARACTERS*\number\stablehlocell\relax\relax}%
  \ifdim\stablehlosize>8pt \setlength{\stablehlosize}{8pt}\fi
  \fontsize{\stablehlosize}{LEADING\stablehlosize}\selectfont}
\lstdefinestyle{stablehlo}{basicstyle=\stablehlofont,columns=fullflexible,keepspaces=true,
  showstringspaces=false,breaklines=false,morecomment=[l]{//},commentstyle=\itshape,
  xleftmargin=0pt,framesep=0pt,aboveskip=0pt,belowskip=2pt}
"""


def stablehlo(text: str) -> Lines:
    """Return every line, without the values of large constants."""
    return [
        ((len(line) - len(line.lstrip())) // 2, _LARGE.sub("dense<...>", line))
        for line in text.splitlines()
        if line.strip()
    ]


def jaxpr(text: str) -> Lines:
    return [(1 if line.startswith(" ") else 0, line) for line in text.strip().splitlines()]


def fx_graph(text: str) -> Lines:
    """Return every node, without its source and the values that are freed after it."""
    return [
        ((len(line) - len(line.lstrip())) // 4, _FREED.sub("", line.rstrip()))
        for line in text.splitlines()
        if line.strip() and not line.lstrip().startswith("# File:")
    ]


def optimised_hlo(text: str) -> Lines:
    """Return the entry, then every fused computation, without layouts, metadata and lines that compute nothing."""
    # A computation is the text between a line with its name and one with its closing bracket.
    blocks = re.findall(r"(?ms)^((?:ENTRY )?%([\w.-]+) .*?)^}", text)
    fused = set(_FUSED.findall(text))
    entry = [block for block, _ in blocks if block.startswith("ENTRY")]
    others = [block for block, name in blocks if name in fused]
    return [line for block in [*entry, *others] for line in _computation(block)]


def generated_code(text: str) -> Lines:
    """Return the calls of kernels, then every kernel: its loops, and what they compute and store."""
    lines: Lines = [(0, f"{call};") for call in _CALL.findall(text)]
    for name, body in _KERNEL.findall(text):
        lines += [(0, f"// {name}"), *_steps(body)]
    return lines


def _computation(block: str) -> Iterator[tuple[int, str]]:
    head, *lines = block.splitlines()
    yield 0, _LAYOUT.sub("", _HEAD.sub("(...)", head))
    for line in map(str.strip, lines):
        if not _OMITTED.match(line):
            yield 1, _LAYOUT.sub("", _METADATA.sub("", line))
    yield 0, "}"


def _steps(body: str) -> Iterator[tuple[int, str]]:
    skipped = 0
    for line in map(str.strip, body.splitlines()):
        if _STEP.match(line):
            yield from _left_out(skipped)
            yield 1, _CAST.sub(r"\1", line)
            skipped = 0
        else:
            skipped += not _NO_STEP.match(line)
    yield from _left_out(skipped)


def _left_out(count: int) -> Lines:
    """Return the comment that stands for lines that are not shown; none if there are none."""
    return [(1, f"// ... {count} line{'' if count == 1 else 's'} left out")] if count else []


FORMS = {one.__name__: one for one in (jaxpr, fx_graph, optimised_hlo, generated_code)}
"""Functions that shorten a compiler's form of a program, by the name of its file."""


def environment(lines: list[str]) -> str:
    """Return one lstlisting environment.

    :raises ValueError: for text that would end it early.
    """
    if any("\\end{lstlisting}" in line for line in lines):
        raise ValueError(
            "expected lines of a program, got one with \\end{lstlisting}; fix: rename the function or target that "
            "contains it"
        )
    return "\n".join([r"\begin{lstlisting}[style=stablehlo]", *lines, r"\end{lstlisting}", ""])


def figure(columns: list[list[Listing]], caption: str, key: str) -> str:
    """Return a figure over both columns of the page, labelled `fig:listing-<key>`.

    columns: two, the listings of each below each other. Titles and caption are plain text.
    """

    def titled(lines: list[str], title: str) -> str:
        return rf"{environment(lines)}{{\centering\footnotesize ({next(letters)}) {escape(title)}\par}}"

    letters = iter(ascii_lowercase)
    # The space between the columns is \hfill alone: no line may end without a comment sign.
    halves = "\\hfill%\n".join(
        "\\begin{minipage}[t]{0.485\\textwidth}\n"
        + "\n\n\\medskip\n".join(titled(lines, title) for title, lines in column)
        + "\n\\end{minipage}"
        for column in columns
    )
    label = rf"\caption{{{escape(caption)}}}\label{{fig:listing-{key}}}"
    return "\n".join([r"\begin{figure*}[!tp]", halves, label, r"\end{figure*}", ""])


def lines(path: Path, limit: int) -> list[str]:
    """Return the lines of one program's listing; a comment if there is no program.

    :raises OSError: if the file cannot be read.
    """
    text = program_text.read(path)
    if reason := program_text.missing_reason(text):
        return layout.wrap(f"// no program: {reason}", CHARACTERS, 0)
    return layout.listing(stablehlo(text), CHARACTERS, limit)


def listing(workload: str, row: list[Cell], root: Path, source: str) -> str:
    """Return the figure of a workload's listings, frameworks side by side; source: the origin of the programs.

    :raises OSError: if a program cannot be read.
    """
    rows = -(-len(row) // 2)
    # Two figures stand on a page, those of cut programs with some lines of text.
    for limit in (PAGE_LINES // 2 // rows, 2 * PAGE_LINES // 5 // rows):
        parts = [(title(cell.framework), lines(root / cell.path / printed.PROGRAM, limit)) for cell in row]
        is_cut = any(text and text[-1].endswith(layout.LEFT_OUT) for _, text in parts)
        if not is_cut:
            break
    shown = "the beginning of the program" if is_cut else "the whole program"
    # The original's slides show two of them.
    also = ", which the original shows too" if workload in ("gemm", "ffn_relu") else ""
    caption = f"{workloads.load(workload).TITLE}{also}: {shown}. {NOTE.format(source)}"
    return figure([parts[::2], parts[1::2]], caption, workload)


def made_of(workload: str, row: list[Cell], root: Path, source: str) -> str:
    """Return the figure of two compilers' forms of a workload: a column for JAX's, and one for TorchInductor's.

    :raises OSError: if a form cannot be read.
    """
    jax, inductor = (root / cell.path for cell in row)
    limit = PAGE_LINES // 2

    def text(folder: Path, name: str) -> list[str]:
        return layout.listing(FORMS[name](form(folder, name)), CHARACTERS, limit)

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
    return figure(columns, caption, f"forms-{workload}")


def drawings(config: Config, measured: Path) -> dict[str, str]:
    """Return, by workload, the text for Graphviz of every program that is drawn; nothing without MLIR's bindings."""
    drawn: dict[str, dict[str, str]] = {}
    for workload, row in printed.graphs(config).items():
        root = measured if printed.is_of_run(config, row) else REFERENCE
        paths = {title(one.framework): root / one.path / "program.mlir.gz" for one in row}
        drawn[workload] = {name: str(path) for name, path in paths.items() if path.exists()}
    drawn = {workload: paths for workload, paths in drawn.items() if paths}
    try:
        return dict(zip(drawn, ask("drawn", list(drawn.values())), strict=True))
    except Unavailable:
        return {}


def write(config: Config, folder: Folder) -> None:
    """Write style.tex, <workload>.tex and forms-<workload>.tex to the listings, and <workload>.dot to the graphs.

    A figure is made from this run if it measured all of its cells, else from the reference if that has all of them;
    otherwise it is left out.
    """
    output = folder["listings"]
    output.mkdir(parents=True, exist_ok=True)
    style = _STYLE.replace("CHARACTERS", str(CHARACTERS)).replace("LEADING", str(LEADING))
    (output / "style.tex").write_text(style)
    for prefix, rows, make in (
        ("", printed.listings(config), listing),
        ("forms-", printed.forms(config), made_of),
    ):
        for workload, row in rows.items():
            is_here = printed.is_of_run(config, row)
            root, source = (folder.measured, "this run") if is_here else (REFERENCE, "the reference")
            try:
                text = make(workload, row, root, source)
            except FileNotFoundError:
                continue
            (output / f"{prefix}{workload}.tex").write_text(text)
    folder["graphs"].mkdir(parents=True, exist_ok=True)
    for workload, text in drawings(config, folder.measured).items():
        (folder["graphs"] / f"{workload}.dot").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    command(write)
