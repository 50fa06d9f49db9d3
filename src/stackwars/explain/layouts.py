"""Guess the layout in which a program without arguments.json wants the other program's arguments.

Two programs of one computation may be given an argument with its axes in another order. Nothing in them says
so if two extents are equal: the results decide between the guesses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, permutations, product

import numpy as np

from stackwars.explain.graph import Graph, element, shape

MOST = 32
"""Guesses that are tried."""
MOST_AXES = 4
Get = Callable[[int], np.ndarray]
Order = tuple[int, ...]


def guesses(a: Graph, b: Graph) -> Iterator[list[Order]]:
    """Yield, for the arguments of B, the order of the axes of A's argument at the same place.

    The first guess leaves the arguments as they are where their shapes allow it. Yields nothing if the
    programs have arguments that no order of axes relates.
    """
    if len(a.arguments) != len(b.arguments):
        return
    pairs = [(a.types[x], b.types[y]) for x, y in zip(a.arguments, b.arguments, strict=True)]
    choices = [orders(shape(x), shape(y)) if element(x) == element(y) else [] for x, y in pairs]
    if all(choices):
        # The last argument that has a choice changes fastest.
        yield from (list(one) for one in islice(product(*choices), MOST))


def orders(source: tuple[int, ...], target: tuple[int, ...]) -> list[Order]:
    """Return the orders of axes that turn a shape into another: as it is, reversed, others."""
    straight = tuple(range(len(source)))
    if len(source) > MOST_AXES:
        return [straight] if source == target else []
    every = [order for order in permutations(straight) if tuple(source[axis] for axis in order) == target]
    return sorted(every, key=lambda order: (order != straight, order != straight[::-1]))


def moved(values: Sequence[Get], guess: Sequence[Order]) -> list[Get]:
    """Return the arguments of B by those of A and a guess."""
    return [_moved(get, order) for get, order in zip(values, guess, strict=True)]


def _moved(get: Get, order: Order) -> Get:
    def value(number: int) -> np.ndarray:
        return np.ascontiguousarray(get(number).transpose(order))

    if getattr(get, "is_fixed", False):
        value.is_fixed = True
    return value
