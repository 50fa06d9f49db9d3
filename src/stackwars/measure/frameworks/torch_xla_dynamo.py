"""PyTorch through `torch.compile(backend="openxla")`: Dynamo finds the graph, torch_xla compiles it.

Run 1 contains Dynamo's tracing, AOTAutograd, three walks through the graph with lazy tensors, one compilation by
XLA and one execution. The bridge synchronises before it compiles, so run 2 compiles nothing, even if work was
pending. The program equals the lazy tensors' to the letter; in GPT-2 a scalar of the mask is a second program.

A module that breaks the graph (`GRAPH_BREAKS`) is compiled without `fullgraph`, as in TorchInductor. In a training
step, Dynamo compiles the loss and its gradients, and lazy tensors the optimiser, as torch_xla's manual does: if Dynamo
gets the whole step, torch_xla 2.9 does not find its second graph in its cache. Either way a call is several programs,
and none of them is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from stackwars.measure.frameworks import Counters, torch_xla

TITLE = "torch_xla (Dynamo)"
DIALECT = torch_xla.DIALECT
COLOUR = "#b5179e"

_ALL = "entire_frame_compile"


class Session(torch_xla.Session):
    """The torch_xla session, whose graph Dynamo captures."""

    def __init__(self, device: str, precision: str) -> None:
        super().__init__(device, precision)
        from torch._dynamo import utils

        self._dynamo = utils

    def build(self, build: Callable, sizes: dict, seed: int, inputs: list[dict]) -> None:
        super().build(build, sizes, seed, inputs)
        self._plain = self._module
        if getattr(self._plain, "DEVICE_LOOP", False):
            raise NotImplementedError(
                "the bridge from Dynamo to torch_xla 2.9 takes graphs whose arguments are tensors and numbers; "
                "the body of a loop is neither"
            )
        self._fullgraph = not getattr(self._plain, "GRAPH_BREAKS", False)
        if hasattr(self._plain, "model"):
            # In place: a wrapper around the model would rename its weights.
            self._plain.model.compile(backend="openxla", fullgraph=True)
        else:
            self._module = self._torch.compile(self._plain, backend="openxla", fullgraph=self._fullgraph)

    def counters(self) -> Counters:
        """Tracing is the time that Dynamo reports, with AOTAutograd; the lazy tensors' walks are part of the rest."""
        result = super().counters()
        return replace(result, trace_s=self._dynamo.calculate_time_spent().get(_ALL, 0.0))

    def generated(self) -> dict[str, int]:
        result = self._dynamo.counters
        return {
            "graphs": result["stats"]["unique_graphs"],
            "graph_breaks": sum(result["graph_break"].values()),
        }

    def stablehlo(self) -> str:
        """Return the graph that Dynamo gives to the backend, as torch_xla lowers it; none if a call is several."""
        if not self._fullgraph:
            return "// no program: a call is several, of Dynamo's graphs and of what lies between them\n"
        from functorch.compile import make_boxed_func
        from torch._dynamo.backends.common import aot_autograd

        texts = []

        def lower(graph: Any, _: Any) -> Callable:
            def run(*arguments: Any) -> Any:
                outputs = graph(*arguments)
                texts.append(self._xm.get_stablehlo(list(outputs)))
                return outputs

            return make_boxed_func(run)

        backend = aot_autograd(fw_compiler=lower)
        with self._torch.no_grad():
            self._torch.compile(self._plain, backend=backend, fullgraph=True)(*self._inputs[0])
        return texts[0]
