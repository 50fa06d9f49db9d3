"""How the arguments of a program that was lowered for one device say along which axis they are divided."""

from __future__ import annotations

import re

DONATED = ", jax.buffer_donor = true"
_ARGUMENT = re.compile(r"%arg(?P<number>\d+): tensor<(?P<extents>(?:\d+x)*)\w+>(?=[,)])")
"""An argument of a function."""


def marked(text: str, axes: list[int | None], updated: list[bool], devices: int) -> str:
    """The program with the marks that torch_xla's mark_sharding puts on its arguments.

    axes: of each argument; None where it is whole on every device. updated: which are donated.
    """
    numbers = ",".join(map(str, range(devices)))

    def with_mark(found: re.Match) -> str:
        number = int(found["number"])
        placed = "replicated"
        if axes[number] is not None:
            parts = ["1"] * found["extents"].count("x")
            parts[axes[number]] = str(devices)
            placed = f"devices=[{','.join(parts)}]{numbers}"
        donated = DONATED if updated[number] else ""
        return f'{found[0]} {{mhlo.sharding = "{{{placed}}}"{donated}}}'

    before, main, rest = re.split(r"(func\.func @main\(.*)", text, maxsplit=1)
    return before + _ARGUMENT.sub(with_mark, main) + rest
