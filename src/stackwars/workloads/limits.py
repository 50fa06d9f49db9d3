"""Sizes that limit each other, such as a window that a sequence must hold.

A workload that has such sizes has a function ``problems`` of them, {size: what was expected of it},
empty where nothing is wrong. The configuration asks it before anything runs, and the workload asks
it too, before it makes an input or names a weight.
"""


def refuse(sizes: dict[str, int], problems: dict[str, str]) -> None:
    """Raises ValueError with the first problem: the size, what was expected, what came."""
    for size, expected in problems.items():
        raise ValueError(f"sizes: {size}: expected {expected}; got {sizes[size]}. Change one of the two sizes.")
