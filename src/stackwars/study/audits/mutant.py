"""Run the process of a cell or of a replay with one thing broken: `python -m stackwars.study.audits.mutant FOLDER`.

FOLDER has the specification of the process, with `mutant`: one of MUTANTS, or HONEST for none. A replay's
specification has a `compiler`.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

HONEST = "honest"
_RETURN = re.compile(r"^ *return (%\S+) : (tensor<\S+>)$", re.MULTILINE)


def no_fence(session: type) -> None:
    """Nothing waits for the work: the fence returns at once, and another thread makes the call.

    In some frameworks the call itself waits, so leaving out the fence alone would break nothing.
    """
    call, fetch, other_thread = session.call, session.fetch, ThreadPoolExecutor(1)
    session.call = lambda self, which: other_thread.submit(call, self, which)
    session.fence = lambda self, output: None
    session.fetch = lambda self, output: fetch(self, output.result())


def half_fence(session: type) -> None:
    """The fence starts the recorded work and does not wait for it, like torch_xla's sync(wait=True) alone."""
    session.fence = lambda self, output: self.start()


def dead_output(session: type) -> None:
    """The output does not depend on the computation, so the compiler leaves the computation out."""
    if hasattr(session, "build"):
        build = session.build
        session.build = lambda self, make, *rest: build(self, _unused(make), *rest)
    else:  # a compiler of StableHLO
        compile_text = session.compile
        session.compile = lambda self, text: compile_text(self, return_zeros(text))


def cached_result(session: type) -> None:
    """The second and later calls return the first one's output."""
    _cache(session, lambda which: 0)


def cached_by_input(session: type) -> None:
    """Every set of inputs is computed once and looked up from then on: the outputs are right."""
    _cache(session, lambda which: which)


def half_clock(session: type) -> None:
    """The clock that times the calls runs at half its speed."""
    exact_ns, exact = time.perf_counter_ns, time.perf_counter
    time.perf_counter_ns = lambda: exact_ns() // 2
    time.perf_counter = lambda: exact() / 2


MUTANTS: dict[str, Callable[[type], None]] = {
    mutant.__name__: mutant
    for mutant in (no_fence, half_fence, dead_output, cached_result, cached_by_input, half_clock)
}


def mutants(session: type | None) -> list[str]:
    """Return the mutants of a framework's session, or of a replay (None): half a fence only if calls record."""
    return [name for name in MUTANTS if name != half_fence.__name__ or hasattr(session, "start")]


def return_zeros(text: str) -> str:
    """Return the StableHLO program with zeros for the result of its main function, which is its first.

    Raises ValueError if no line returns one tensor.
    """
    changed, count = _RETURN.subn(
        r"    %zeros = stablehlo.constant dense<0.0> : \2\n    return %zeros : \2", text, count=1
    )
    if not count:
        raise ValueError(f"expected a line `return %x : tensor<...>`, got the program {text[:500]}")
    return changed


def _cache(session: type, key: Callable[[int], int]) -> None:
    call = session.call

    def cached(self: Any, which: int) -> Any:
        outputs = self.__dict__.setdefault("_outputs", {})
        if key(which) not in outputs:
            outputs[key(which)] = call(self, which)
        return outputs[key(which)]

    session.call = cached


def _unused(make: Callable) -> Callable:
    def build(*arguments: Any) -> Any:
        form = make(*arguments)
        if isinstance(form, tuple):
            parameters, function = form
            import jax.numpy as jnp

            return parameters, lambda *inputs: jnp.zeros_like(function(*inputs))
        import torch

        return lambda *inputs: torch.zeros_like(form(*inputs))

    return build


def main() -> None:
    # Only the modules that the intact process loads, in its own order: none slows down another.
    spec = json.loads(Path(sys.argv[1], "spec.json").read_text())
    if "compiler" in spec:
        from stackwars.core import compilers
        from stackwars.measure.stablehlo import replay as process

        module = compilers.load(spec["module"])
        broken = module.Compiler if spec["mutant"] == dead_output.__name__ else module.Program
    else:
        from stackwars.measure import child as process

        broken = import_module(f"stackwars.measure.frameworks.{spec['framework']}").Session
    if spec["mutant"] != HONEST:
        MUTANTS[spec["mutant"]](broken)
    process.main()


if __name__ == "__main__":
    main()
