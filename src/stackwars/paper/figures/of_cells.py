"""The figures of what every framework measured by itself."""

from __future__ import annotations

import pandas
from matplotlib.figure import Figure

from stackwars.findings.growth import growth_findings
from stackwars.paper.figures.calls import draw_calls
from stackwars.paper.figures.files import literal, save
from stackwars.paper.figures.growth import draw_growth
from stackwars.paper.figures.rows import draw_memory, draw_ratios
from stackwars.paper.figures.stacks import draw_stacks_over_best
from stackwars.results.folder import Folder
from stackwars.results.read_cells import of_study, read_calls, read_frame, read_json, read_ratios
from stackwars.results.whole_study import of_workloads, read_whole, that_ran

FOLDER = "cell_figures"


def figures(config: dict, files: Folder) -> dict[str, Figure]:
    """{name: figure}."""
    context = read_json(files["context"])
    frame, calls, ratios = (
        literal(of_study(read(files[name]), context))
        for name, read in (("frame", read_frame), ("calls", read_calls), ("ratios", read_ratios))
    )
    stacks, beyond = (
        that_ran(literal(read_whole(files[name], context)), "framework")
        for name in ("stacks", "beyond")
    )
    beyond = that_ran(beyond, "workload")
    growth, shapes = (of_workloads(files, name, context) for name in ("growth", "shapes"))
    return {
        "calls": draw_calls(frame, calls, config["workloads"]),
        "calls_chosen": draw_calls(frame, calls, shown(config, frame)),
        "ratio": draw_ratios(frame, ratios),
        "memory": draw_memory(frame),
        "stacks_over_best": draw_stacks_over_best(stacks),
        "stacks_steady": draw_stacks_over_best(stacks, ("steady",)),
        "beyond_over_best": draw_stacks_over_best(beyond),
        "beyond_steady": draw_stacks_over_best(beyond, ("steady",)),
        "growth": draw_growth(literal(growth), growth_findings(growth, shapes)),
    }


def shown(config: dict, frame: pandas.DataFrame) -> list[str]:
    """The workloads that the text shows: those of paper.calls that this run has, or else its first four."""
    here = list(frame["workload"].drop_duplicates())
    return [name for name in config["paper"].get("calls", here) if name in here] or here[:4]


def write(config: dict, files: Folder) -> None:
    """Write them."""
    save(lambda: figures(config, files), files[FOLDER])
