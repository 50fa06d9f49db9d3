"""PyTorch's own compiler: `torch.compile(module, fullgraph=True)` with TorchInductor; weights are arguments.

A module that says that it breaks the graph (`GRAPH_BREAKS`) is compiled without `fullgraph`, and the breaks are
counted. At a break inside a loop Dynamo leaves the whole function to Python, and its counters do not show them.

On the CPU it writes C++ and has g++ compile it, with every cache of programs empty. Work that does not depend on the
program is done before run 1, as a user pays for it once a machine: finding the processor's vector instructions
(`pick_vec_isa`; with TORCHINDUCTOR_VEC_ISA_OK it believes the processor's flags and saves 20 to 40 s of trying each),
and precompiling PyTorch's header, 5 to 10 s of g++ (`_share_header`). Run 1 still preprocesses the header, to see that
it has not changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stackwars.measure.frameworks import Counters, torch_eager
from stackwars.setup import preflight
from stackwars.setup.device import CPU, platform

TITLE = "TorchInductor"
DIALECT = torch_eager.DIALECT
COLOUR = "#7b1e3b"

_CACHE_HITS = (("inductor", "fxgraph_cache_hit"), ("aot_autograd", "autograd_cache_hit"))
_SOURCE = re.compile(r"# File: \S*/")
"""The folder of a line of this machine's files: no part of the graph."""
_IN_LOOP = "graph break in a for/while loop"
"""Dynamo's message when it leaves a function to Python."""
_PRECOMPILE = """
import sys
from torch._inductor import codecache
codecache._HEADER_DIR, codecache._HEADER_LOCK_DIR = sys.argv[1:]
codecache.CppPythonBindingsCodeCache.load_pybinding(["float*"], 'extern "C" void kernel(float* x) {}')
"""
_ALL, _BACKEND = "entire_frame_compile", "backend_compile"


class Session(torch_eager.Session):
    """One process's use of TorchInductor on one device. The verbs are described in `stackwars.measure.frameworks`.

    Raises NotImplementedError where the C++ compiler or Python's headers are missing.
    """

    DYNAMIC: bool | None = None
    """True if a graph is for every shape; None leaves it to PyTorch, which makes it so when a shape changes."""

    def __init__(self, device: str, precision: str) -> None:
        if lacking := preflight.missing_for_inductor():
            raise NotImplementedError(
                f"expected what TorchInductor compiles with; missing: {', '.join(lacking)}. On Debian or "
                f"Ubuntu: sudo apt-get install --no-install-recommends {' '.join(preflight.inductor_packages())}"
            )
        os.environ.update(
            TORCHINDUCTOR_CACHE_DIR=str(Path(tempfile.gettempdir(), "inductor")),
            TORCHINDUCTOR_FORCE_DISABLE_CACHES="1",
            # It compiles in this process, which is limited to the device's cores, and in no pool of others.
            TORCHINDUCTOR_COMPILE_THREADS="1",
            TORCHINDUCTOR_VEC_ISA_OK="1",
        )
        super().__init__(device, precision)
        from torch._dynamo import exc, utils
        from torch._inductor import cpu_vec_isa, metrics

        self._dynamo, self._metrics = utils, metrics
        self._skipped: list[str] = []
        _watch(exc.SkipFrame, self._skipped)
        if platform(device) == CPU:
            cpu_vec_isa.pick_vec_isa()
            _share_header()

    def build(self, build: Callable, sizes: dict, seed: int, inputs: list[dict]) -> None:
        super().build(build, sizes, seed, inputs)
        self._fullgraph = not getattr(self._module, "GRAPH_BREAKS", False)
        self._module = self._torch.compile(self._module, fullgraph=self._fullgraph, dynamic=self.DYNAMIC)

    def counters(self) -> Counters:
        """compiles: graphs. Tracing is Dynamo's, compiling all of the backend's, from AOTAutograd to g++."""
        result, spent = self._dynamo.counters, self._dynamo.calculate_time_spent()
        compile_s = spent.get(_BACKEND, 0.0)
        return Counters(
            compiles=result["stats"]["unique_graphs"],
            cache_hits=sum(result[group][name] for group, name in _CACHE_HITS),
            trace_s=spent.get(_ALL, 0.0) - compile_s,
            compile_s=compile_s,
        )

    def generated(self) -> dict[str, int]:
        result = self._dynamo.counters
        return {
            "graphs": result["stats"]["unique_graphs"],
            "graph_breaks": sum(result["graph_break"].values())
            + sum(why not in result["graph_break"] for why in self._skipped),
            "kernels": self._metrics.generated_kernel_count,
        }

    def forms(self) -> dict[str, str]:
        """Return the graph as it is lowered, and the code, in which a kernel's name lists the nodes that it computes.

        It compiles again, because Inductor provides both only while it compiles.
        """
        from torch._inductor import config
        from torch._inductor.utils import run_and_get_code

        graphs: list[str] = []

        def record(graph: Any) -> None:
            text = graph.owning_module.print_readable(print_output=False)
            graphs.append(_SOURCE.sub("# File: ", text))

        options = {"post_grad_custom_post_pass": record, "cpp.descriptive_names": "inductor_node"}
        with config.patch(options), self._mode():
            again = self._torch.compile(self._module._orig_mod, fullgraph=self._fullgraph)
            _, code = run_and_get_code(again, *self._inputs[0])
        return {"fx_graph": "\n".join(graphs), "generated_code": "\n".join(code)}

    def stablehlo(self) -> str:
        return "// no program: TorchInductor compiles its own representation, not StableHLO\n"

    def versions(self) -> dict[str, str]:
        return {**super().versions(), preflight.cxx_compiler(): preflight.cxx_version()}


def _share_header() -> None:
    """Use the environment's precompiled header; the first process on a machine makes it in a subprocess.

    PyTorch puts it into the folder of temporary files, which each process here has for itself. In an environment that
    this user cannot write, run 1 makes the header.
    """
    from torch._inductor import codecache

    folder = Path(sys.prefix, "precompiled_headers", _processor())
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    if not os.access(folder, os.W_OK):
        return
    folders = [str(folder), str(folder / "locks")]
    if not any(folder.glob("*.gch")):
        subprocess.run([sys.executable, "-c", _PRECOMPILE, *folders], check=True)
    codecache._HEADER_DIR, codecache._HEADER_LOCK_DIR = folders


def _processor() -> str:
    """Return a digest of the processor's instructions, by which g++ tells whether a precompiled header is for it."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return hashlib.sha256(flags.encode()).hexdigest()[:12]


def _watch(exception: type[BaseException], found: list[str]) -> None:
    """Record the reason of each exception of this type that a break inside a loop raises."""
    plain = exception.__init__

    def telling(self: BaseException, *given: Any, **named: Any) -> None:
        if given and _IN_LOOP in str(given[0]):
            found.append(getattr(sys.exc_info()[1], "msg", ""))
        plain(self, *given, **named)

    exception.__init__ = telling
