"""The process of a cell with one thing broken: what the checks must notice. `python -m ... FOLDER`.

The specification is a cell's, with `mutant`, one of MUTANTS, or HONEST for none.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

from stackwars.measure import child

HONEST = "honest"


def no_fence(session: type) -> None:
    """Nothing waits for the work: the fence returns at once, and the call is made by another thread.

    In some stacks the call itself waits, and to leave out the fence alone would break nothing.
    """
    call, fetch, other_thread = session.call, session.fetch, ThreadPoolExecutor(1)
    session.call = lambda self, which: other_thread.submit(call, self, which)
    session.fence = lambda self, output: None
    session.fetch = lambda self, output: fetch(self, output.result())


def half_fence(session: type) -> None:
    """The fence begins what was recorded and does not wait for it, as torch_xla's sync(wait=True) alone."""
    session.fence = lambda self, output: self.start()


def dead_output(session: type) -> None:
    """What the program computes is not used for its output, so the compiler leaves it out."""
    build = session.build
    session.build = lambda self, make, *rest: build(self, _unused(make), *rest)


def cached_result(session: type) -> None:
    """The second and later calls return the first one's output."""
    _cache(session, lambda which: 0)


def cached_by_input(session: type) -> None:
    """Every set of inputs is computed once, and looked up from then on: the outputs are right."""
    _cache(session, lambda which: which)


def half_clock(session: type) -> None:
    """The clock that times the calls goes at half its speed."""
    exact_ns, exact = time.perf_counter_ns, time.perf_counter
    time.perf_counter_ns = lambda: exact_ns() // 2
    time.perf_counter = lambda: exact() / 2


MUTANTS: dict[str, Callable[[type], None]] = {
    mutant.__name__: mutant
    for mutant in (no_fence, half_fence, dead_output, cached_result, cached_by_input, half_clock)
}


def mutants(session: type) -> list[str]:
    """The mutants that there are of a framework's session: half a fence only where calls record."""
    return [name for name in MUTANTS if name != half_fence.__name__ or hasattr(session, "start")]


def _cache(session: type, key: Callable[[int], int]) -> None:
    call = session.call

    def cached(self: Any, which: int) -> Any:
        kept = self.__dict__.setdefault("_kept", {})
        if key(which) not in kept:
            kept[key(which)] = call(self, which)
        return kept[key(which)]

    session.call = cached


def _unused(make: Callable) -> Callable:
    def build(*arguments: Any) -> Any:
        made = make(*arguments)
        if isinstance(made, tuple):
            parameters, function = made
            import jax.numpy as jnp

            return parameters, lambda *inputs: jnp.zeros_like(function(*inputs))
        import torch

        return lambda *inputs: torch.zeros_like(made(*inputs))

    return build


if __name__ == "__main__":
    spec = json.loads(Path(sys.argv[1], "spec.json").read_text())
    framework = import_module(f"stackwars.frameworks.{spec['framework']}")
    if spec["mutant"] != HONEST:
        MUTANTS[spec["mutant"]](framework.Session)
    child.main()
