"""JAX through OpenVINO: `openvino.convert_model` of the jaxpr, compiled for the CPU in float32.

Weights are constants of the model, which OpenVINO packs for its kernels while it compiles. OpenVINO 2026.4 converts
operations and no calls, so nested functions are written out, and a split is written as slices.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from stackwars.measure.frameworks import jax
from stackwars.measure.frameworks.torch_openvino import Inference

TITLE = "JAX (OpenVINO)"
DIALECT = jax.DIALECT
COLOUR = "#5e35b1"
NOTE = "OpenVINO's conversion of the jaxpr; weights are constants, packed in run 1"

_CALLS = {"jit": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr"}
"""Primitives that call a function, and their parameter that is its jaxpr."""


class Session(Inference, jax.Session):
    """One process's use of OpenVINO with JAX. The verbs are described in `stackwars.measure.frameworks`."""

    def converted(self) -> Any:
        """Return the function as a model of OpenVINO."""

        def function(*inputs: Any) -> Any:
            return self._function(self._parameters, *inputs)

        traced = self._jax.make_jaxpr(function)(*self._inputs[0])
        flat = self._jax.make_jaxpr(lambda *inputs: _results(self._jax, traced, inputs))
        return self._openvino.convert_model(flat(*self._inputs[0]))


def _results(jax: Any, closed: Any, arguments: Sequence[Any]) -> list[Any]:
    """Return the results of a closed jaxpr, computed without calls of functions and without splits."""
    from jax.extend.core import Literal

    jaxpr = closed.jaxpr
    values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*closed.consts, *arguments], strict=True))

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else values[atom]

    for eqn in jaxpr.eqns:
        given, name = list(map(read, eqn.invars)), eqn.primitive.name
        if name in _CALLS:
            results = _results(jax, eqn.params[_CALLS[name]], given)
        elif name == "split":
            results = _split(jax, given[0], eqn.params["sizes"], eqn.params["axis"])
        else:
            functions, parameters = eqn.primitive.get_bind_params(eqn.params)
            results = eqn.primitive.bind(*functions, *given, **parameters)
            results = results if eqn.primitive.multiple_results else [results]
        values.update(zip(eqn.outvars, results, strict=True))
    return list(map(read, jaxpr.outvars))


def _split(jax: Any, array: Any, sizes: Sequence[int], axis: int) -> list[Any]:
    ends = accumulate(sizes)
    return [
        jax.lax.slice_in_dim(array, end - size, end, axis=axis) for size, end in zip(sizes, ends, strict=True)
    ]
