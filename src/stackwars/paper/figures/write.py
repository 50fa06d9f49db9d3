"""The paper's figures from the results: ``python -m stackwars.paper.figures.write``.

Vector PDF, one style, the same bytes from the same input. Frameworks differ in marker and line as
well as in colour, and the colours in luminance, so the figures survive a grey printer.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("pdf")  # no display, and no second backend to differ by

import matplotlib.pyplot as plt
import pandas

from stackwars.claims.output import read_claims
from stackwars.paper.figures import graph
from stackwars.paper.figures.calls import draw_calls
from stackwars.paper.figures.growth import draw_growth
from stackwars.paper.figures.headline import draw_headline
from stackwars.paper.figures.matrix import draw_matrix
from stackwars.paper.figures.op_times import draw_op_times
from stackwars.paper.figures.rows import draw_memory, draw_ratios
from stackwars.paper.figures.split import draw_split
from stackwars.paper.figures.stack import draw_stacks
from stackwars.paper.figures.stacks import draw_stacks_over_best
from stackwars.paper.figures.verdicts import draw_verdicts
from stackwars.paper.style import RC
from stackwars.results.folder import Folder, command
from stackwars.results.read_cells import of_study, read_calls, read_frame, read_json, read_ratios
from stackwars.results.read_compilers import read_op_times, read_split
from stackwars.results.whole_study import newest, read_whole, sources, that_ran
from stackwars.study.comparisons import told, with_programs

READ = {"frame": read_frame, "calls": read_calls, "ratios": read_ratios, "split": read_split}
"""The tables that figures are made from, each with its reader."""


MOST = 0.5
"""A workload has a panel of the matrix where more than this share of its cells was run."""


def write_figures(config: dict, files: Folder) -> None:
    """Write every figure but the graphs of programs into the folder's ``figures``; of each further comparison
    of programs split-<subject>.pdf.
    """
    context = read_json(files["context"])
    main, *others = told(context)
    frame, calls, ratios, split = (
        literal(of_study(read(files[name]), context)) for name, read in READ.items()
    )
    matrix, effects, stacks, beyond = (
        literal(read_whole(files[name], context))
        for name in ("matrix", "matrix_effects", "stacks", "beyond")
    )
    titles = dict(zip(matrix["workload"], matrix["title"], strict=True))
    chosen = shown(config, frame)
    profiled = literal(_profiled(files))
    stacks = that_ran(stacks, "framework")
    beyond = that_ran(that_ran(beyond, "framework"), "workload")
    files["figures"].mkdir(parents=True, exist_ok=True)
    with plt.rc_context(RC):
        drawn = {
            "headline": draw_headline(effects, titles),
            "stacks": draw_stacks(),
            "calls": draw_calls(frame, calls, config["workloads"]),
            "calls_chosen": draw_calls(frame, calls, chosen),
            "ratio": draw_ratios(frame, ratios),
            "memory": draw_memory(frame),
            "op_times": draw_op_times(profiled, with_programs(context)),
            "op_times_chosen": draw_op_times(
                profiled[profiled["workload"].isin(chosen)], with_programs(context)
            ),
            "matrix": draw_matrix(that_ran(matrix, "workload", MOST)),
            "stacks_over_best": draw_stacks_over_best(stacks),
            "stacks_steady": draw_stacks_over_best(stacks, ("steady",)),
            "beyond_over_best": draw_stacks_over_best(beyond),
            "beyond_steady": draw_stacks_over_best(beyond, ("steady",)),
            "verdicts": draw_verdicts(*_verdicts(files, context)),
            "growth": draw_growth(literal(newest(files, "growth", context))),
            "split": draw_split(split, main),
            **{f"split-{pair.subject}": draw_split(split, pair) for pair in others},
        }
        for name, figure in drawn.items():
            # No date in the file: the same results give the same bytes.
            figure.savefig(files["figures"] / f"{name}.pdf", metadata={"CreationDate": None})
            plt.close(figure)


def shown(config: dict, frame: pandas.DataFrame) -> list[str]:
    """The workloads that the text shows: those of paper.calls that this run has, or else its first four."""
    here = list(frame["workload"].drop_duplicates())
    return [name for name in config["paper"].get("calls", here) if name in here] or here[:4]


def _verdicts(files: Folder, context: dict) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """{claim: its origin}, and {run: {claim: verdict}}: this build, then the accepted runs, newest first."""
    claims = read_claims(files["claims"])
    here = {claim["id"]: claim["verdict"] for claim in claims}
    label = "all runs together" if context["origin"] == "reference" else "this build"
    rows = {label: here}
    for source in sources(files)[1:]:
        path = source.folder / files["claims"].name
        if path.exists():
            rows[source.run] = {claim["id"]: claim["verdict"] for claim in read_claims(path)}
    return {claim["id"]: claim["origin"] for claim in claims}, rows


def literal(table: pandas.DataFrame) -> pandas.DataFrame:
    """The table with titles that Matplotlib draws as they are: between two dollars it reads mathematics."""
    if "title" not in table.columns:
        return table
    return table.assign(title=[str(title).replace("$", r"\$") for title in table["title"]])


def _profiled(files: Folder) -> pandas.DataFrame:
    """op_times.csv of this run or, where it has no profile, of the accepted run with most workloads, the newest
    of those that have as many.
    """
    paths = [source.folder / files["op_times"].name for source in sources(files)]
    own, *tables = [read_op_times(path) for path in paths if path.exists()]
    return own if len(own) else max([own, *tables], key=lambda table: table["workload"].nunique())


def write(config: dict, files: Folder) -> None:
    """Write every figure, and the graphs of programs."""
    write_figures(config, files)
    graph.write_all(files["graph_data"], files["graphs"])


if __name__ == "__main__":
    command(write)
