"""Where the boxes and arrows of a small graph go: layers from top to bottom, few crossings.

Layers by the longest path to a result, so that an argument stands next to what reads it; order
within a layer by barycentres; places by least squares under that order (Sugiyama's method). An
arrow over several layers holds a place in each of them, so that it runs through no box.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

SWEEPS = 24  # of the ordering
ROUNDS = 200  # of the placing, until it no longer moves by what an eye can see
BESIDE = 0.12  # inches between neighbours of a layer
PORTS = 0.24  # inches between arrows at one side of a box, for a figure between them
CORNER = 0.08  # inches from the end of that side to the first

Edge = dict[str, Any]


@dataclass(frozen=True)
class Layout:
    """Inches; x of the middles from the left edge of the drawing, whose width is `width`.

    `routes[i]` has for edge i the x at the source's bottom, at every layer between, and at the
    reader's top.
    """

    layers: list[list[int]]
    x: dict[int, float]
    routes: list[list[float]]
    width: float


def layers_of(count: int, edges: list[Edge]) -> list[int]:
    """The layer of each node, 0 on top: every edge leads downwards, and is as short as can be.

    Nodes are in topological order: an edge leads from a smaller number to a larger one. Raises
    ValueError where one does not.
    """
    above = [0] * count
    for node in reversed(range(count)):
        for edge in edges:
            if edge["from"] == node:
                if edge["to"] <= node:
                    raise ValueError(f"expected edges to later nodes, came {node}->{edge['to']}")
                above[node] = max(above[node], above[edge["to"]] + 1)
    return [max(above, default=0) - level for level in above]


def place(widths: list[float], edges: list[Edge]) -> Layout:
    """Lay out nodes 0.. of these widths (inches), joined by edges with `from` and `to`."""
    level = layers_of(len(widths), edges)
    size: dict[int, float] = dict(enumerate(widths))
    layers: list[list[int]] = [[] for _ in range(max(level, default=-1) + 1)]
    for node, at in enumerate(level):
        layers[at].append(node)
    chains: list[list[int]] = []
    for edge in edges:
        chain = [edge["from"]]
        for at in range(level[edge["from"]] + 1, level[edge["to"]]):
            size[len(size)] = 0.0
            layers[at].append(len(size) - 1)
            chain.append(len(size) - 1)
        chains.append([*chain, edge["to"]])
    links = [pair for chain in chains for pair in itertools.pairwise(chain)]
    layers = _ordered(layers, links)
    x = _places(layers, links, size, _pulls(level, edges, chains))
    _straighten(chains, layers, x, size)
    left = min((x[n] - size[n] / 2 for n in x), default=0.0)
    x = {node: at - left for node, at in x.items()}
    width = max((x[n] + size[n] / 2 for n in x), default=0.0)
    own = [[node for node in layer if node < len(widths)] for layer in layers]
    return Layout(own, x, _routes(chains, x, size, len(widths)), width)


def _ordered(layers: list[list[int]], links: list[tuple[int, int]]) -> list[list[int]]:
    best, fewest = layers, _crossings(layers, links)
    current = [list(layer) for layer in layers]
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for at in range(len(current)) if down else reversed(range(len(current))):
            position = {n: i for layer in current for i, n in enumerate(layer)}
            weight = {}
            for node in current[at]:
                near = [a if down else b for a, b in links if (b if down else a) == node]
                places = [position[n] for n in near] or [position[node]]
                weight[node] = sum(places) / len(places)
            current[at] = sorted(current[at], key=weight.__getitem__)
        crossings = _crossings(current, links)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in current], crossings
    return best


def _crossings(layers: list[list[int]], links: list[tuple[int, int]]) -> int:
    position = {n: (at, i) for at, layer in enumerate(layers) for i, n in enumerate(layer)}
    spans = [(position[a], position[b]) for a, b in links]
    return sum(
        a[0] == c[0] and (a[1] - c[1]) * (b[1] - d[1]) < 0
        for i, (a, b) in enumerate(spans)
        for c, d in spans[:i]
    )


def _places(
    layers: list[list[int]],
    links: list[tuple[int, int]],
    size: dict[int, float],
    pulls: dict[tuple[int, int], float],
) -> dict[int, float]:
    x: dict[int, float] = {}
    near: dict[int, list[tuple[int, float]]] = {node: [] for node in size}
    for above, below in links:
        near[above].append((below, pulls[above, below]))
        near[below].append((above, pulls[above, below]))
    for layer in layers:
        x.update(zip(layer, spread([0.0] * len(layer), _gaps(layer, size)), strict=True))
    for _ in range(ROUNDS):
        for layer in layers + layers[::-1]:
            weights = [sum(pull for _, pull in near[node]) or 1.0 for node in layer]
            wished = [
                sum(pull * x[n] for n, pull in near[node]) / weight if near[node] else x[node]
                for node, weight in zip(layer, weights, strict=True)
            ]
            x.update(zip(layer, spread(wished, _gaps(layer, size), weights), strict=True))
    return x


def _straighten(
    chains: list[list[int]], layers: list[list[int]], x: dict[int, float], size: dict[int, float]
) -> None:
    """Give the inner places of an edge one x, where its neighbours leave room for that."""
    beside = {}
    for layer in layers:
        for i, node in enumerate(layer):
            beside[node] = (layer[i - 1] if i else None, layer[i + 1] if layer[i + 1 :] else None)
    for chain in chains:
        inner = chain[1:-1]
        lefts, rights = zip(*(beside[node] for node in inner), strict=True) if inner else ((), ())
        low = max((x[n] + size[n] / 2 + BESIDE for n in lefts if n is not None), default=-math.inf)
        high = min((x[n] - size[n] / 2 - BESIDE for n in rights if n is not None), default=math.inf)
        if inner and low <= high:
            mean = sum(x[node] for node in inner) / len(inner)
            x.update(dict.fromkeys(inner, min(max(mean, low), high)))


def _pulls(
    level: list[int], edges: list[Edge], chains: list[list[int]]
) -> dict[tuple[int, int], float]:
    """How much each step of an edge wants to be vertical.

    A path that is longest, from the top to a result, is the spine of the picture; next comes the
    inside of an edge over several layers.
    """
    depth = [0] * len(level)
    for node in range(len(level)):
        depth[node] = max((depth[e["from"]] + 1 for e in edges if e["to"] == node), default=0)
    pulls = {}
    for edge, chain in zip(edges, chains, strict=True):
        steps = list(itertools.pairwise(chain))
        spine = all(level[edge[end]] == depth[edge[end]] for end in ("from", "to"))
        pulls |= dict.fromkeys(steps, 8.0)
        pulls[steps[0]] = pulls[steps[-1]] = 16.0 if spine and len(steps) == 1 else 1.0
    return pulls


def _gaps(layer: list[int], size: dict[int, float]) -> list[float]:
    pairs = itertools.pairwise(layer)
    return [(size[a] + size[b]) / 2 + BESIDE for a, b in pairs]


def spread(
    wished: list[float], gaps: list[float], weights: list[float] | None = None
) -> list[float]:
    """Places in the given order and at least the gaps apart, nearest to the wished ones.

    Nearest by weighted squares: pooling of adjacent violators.
    """
    offsets = [sum(gaps[:i]) for i in range(len(wished))]
    weights = weights or [1.0] * len(wished)
    pools: list[tuple[float, float, int]] = []  # mean, weight, members
    for place_, offset, weight in zip(wished, offsets, weights, strict=True):
        pools.append((place_ - offset, weight, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (m, v, k), (n, w, j) = pools[-2:]
            pools[-2:] = [((m * v + n * w) / (v + w), v + w, k + j)]
    means = [mean for mean, _, members in pools for _ in range(members)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _routes(
    chains: list[list[int]], x: dict[int, float], size: dict[int, float], boxes: int
) -> list[list[float]]:
    """x along each edge; at a box, arrows enter and leave in the order of where they come from."""
    routes = [[x[node] for node in chain] for chain in chains]
    # Twice: then both ends of an arrow that can be vertical have found the same x.
    for end, beside in ((-1, -2), (0, 1)) * 2:
        for node in range(boxes):
            mine = [i for i, chain in enumerate(chains) if chain[end] == node]
            mine.sort(key=lambda i: (x[chains[i][beside]], routes[i][beside]))
            room = max(0.0, size[node] / 2 - CORNER)
            low, high = x[node] - room, x[node] + room
            wished = [min(max(routes[i][beside], low), high) for i in mine]
            step = min(PORTS, 2 * room / max(1, len(mine) - 1))
            ports = spread(wished, [step] * (len(mine) - 1))
            shift = max(low - ports[0], 0) + min(high - ports[-1], 0) if ports else 0.0
            for i, port in zip(mine, ports, strict=True):
                routes[i][end] = port + shift
    return routes
