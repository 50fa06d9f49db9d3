"""JAX, traced once for every shape: `jax.export` with a symbol for each dimension that the inputs differ in.

XLA's own programs have static shapes, so it still compiles one for every shape; only tracing is saved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stackwars.measure.frameworks import jax

TITLE = "JAX (symbolic shapes)"
DIALECT = jax.DIALECT
COLOUR = "#3d5afe"
NOTE = "traced once for every shape, by jax.export"


class Session(jax.Session):
    """JAX's session, with an exported function."""

    def build(self, build: Callable, sizes: dict, seed: int, inputs: list[dict]) -> None:
        super().build(build, sizes, seed, inputs)
        if self._leaves is not None:
            raise NotImplementedError("expected a pure function of its inputs; it updates its state")
        self._plain, self._function = self._function, None

    def call(self, which: int) -> Any:
        # Traced here, so that the first call contains the tracing.
        if self._function is None:
            self._function = self._jax.jit(self._exported().call)
        return super().call(which)

    def _exported(self) -> Any:
        from jax import export

        shapes = [[array.shape for array in one] for one in self._inputs]
        scope = export.SymbolicScope()
        specifications = [
            self._jax.ShapeDtypeStruct(
                export.symbolic_shape(_symbolic([one[place] for one in shapes]), scope=scope),
                array.dtype,
            )
            for place, array in enumerate(self._inputs[0])
        ]
        weights = self._jax.tree.map(
            lambda leaf: self._jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), self._parameters
        )
        return export.export(self._plain)(weights, *specifications)


def _symbolic(shapes: list[tuple[int, ...]]) -> str:
    """Return the common shape: a number where all agree, a symbol where they differ, one for each set of values."""
    symbols: dict[tuple[int, ...], str] = {}
    dimensions = []
    for sizes in np.array(shapes).T.tolist():
        if len(set(sizes)) == 1:
            dimensions.append(str(sizes[0]))
        else:
            dimensions.append(symbols.setdefault(tuple(sizes), f"n{len(symbols)}"))
    return ", ".join(dimensions)
