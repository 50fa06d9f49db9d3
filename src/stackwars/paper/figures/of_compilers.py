"""The figures of programs and of what compiles them, and the drawn graphs of programs."""

from __future__ import annotations

from matplotlib.figure import Figure

from stackwars.paper.figures import graph
from stackwars.paper.figures.files import literal, save
from stackwars.paper.figures.headline import draw_headline
from stackwars.paper.figures.matrix import draw_matrix
from stackwars.paper.figures.of_cells import shown
from stackwars.paper.figures.op_times import draw_op_times
from stackwars.paper.figures.split import draw_split
from stackwars.paper.figures.stack import draw_stacks
from stackwars.results.folder import Folder
from stackwars.results.matrix import SHOWN
from stackwars.results.read_cells import of_study, read_frame, read_json
from stackwars.results.read_compilers import read_op_times, read_split
from stackwars.results.whole_study import read_whole, that_ran
from stackwars.study.comparisons import told, with_programs

FOLDER = "compiler_figures"


def figures(config: dict, files: Folder) -> dict[str, Figure]:
    """{name: figure}; of each further comparison of programs split-<subject>."""
    context = read_json(files["context"])
    main, *others = told(context)
    frame = of_study(read_frame(files["frame"]), context)
    split = literal(of_study(read_split(files["split"]), context))
    matrix, effects = (
        literal(read_whole(files[name], context)) for name in ("matrix", "matrix_effects")
    )
    titles = dict(zip(matrix["workload"], matrix["title"], strict=True))
    profiled = literal(read_op_times(files["op_times"]))
    compared = with_programs(context)
    chosen = profiled[profiled["workload"].isin(shown(config, frame))]
    return {
        "headline": draw_headline(effects, titles),
        "stacks": draw_stacks(),
        "op_times": draw_op_times(profiled, compared),
        "op_times_chosen": draw_op_times(chosen, compared),
        "matrix": draw_matrix(that_ran(matrix, "workload", SHOWN)),
        "split": draw_split(split, main),
        **{f"split-{pair.subject}": draw_split(split, pair) for pair in others},
    }


def write(config: dict, files: Folder) -> None:
    """Write them."""
    save(lambda: figures(config, files), files[FOLDER])
    graph.write_all(files["graph_data"], files["graphs"])
