"""Two programs whose values are matched: evaluates both operation by operation and pairs what they compute."""

from __future__ import annotations

from pathlib import Path

from stackwars.explain.bench import Arrays
from stackwars.explain.evaluated import evaluate
from stackwars.explain.gap import DIFFERENT, Verdict, unmatched_results
from stackwars.explain.graph import Graph
from stackwars.explain.hybrids import Hybrids
from stackwars.explain.matching import Matching, match
from stackwars.explain.workers import Worker


def pair(reader: Worker, graphs: tuple[Graph, Graph], arrays: Arrays, folder: Path) -> tuple[Hybrids, Matching]:
    """Return the choices between two programs, and what was matched; give `arrays` the values in between.

    folder: for the values. Raises Verdict if the programs do not compute one thing, and Refused.
    """
    found = []
    for side, graph in enumerate(graphs):
        own = folder / "AB"[side]
        own.mkdir()
        found.append(evaluate(reader, graph, [arrays.arguments[side][value] for value in graph.arguments], own))
    arrays.evaluated = tuple(found)
    results = tuple(graph.results for graph in graphs)
    matching = match(arrays.evaluated, tuple(list(graph.types) for graph in graphs), results)
    if apart := unmatched_results(matching, results):
        raise Verdict(DIFFERENT, apart)
    return Hybrids(graphs, matching.classes), matching
