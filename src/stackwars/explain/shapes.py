"""Find the smallest sizes of a workload with which its program still has a fault: bisect each by lowering again."""

from __future__ import annotations

import contextlib
import json
import math
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from stackwars.explain.question import Side
from stackwars.measure import launch, limits
from stackwars.setup.environments import clean_environ

SMALL = (1, 2, 3, 4)
"""Tried first: some faults are of small extents alone."""
Sizes = dict[str, int]
Lower = Callable[[Sizes], Side | None]
"""Returns the program with these sizes, or None if there is none."""


def smallest(sizes: Sizes, is_faulty: Callable[[Sizes], bool]) -> Sizes:
    """Return sizes with the fault of which none can be made smaller alone.

    is_faulty: is true of `sizes`; raises TimeoutError once no time is left, and the smallest so far is the answer.
    """
    known: dict[tuple[int, ...], bool] = {}
    found = dict(sizes)

    def fails(changed: Sizes) -> bool:
        key = tuple(changed.values())
        if key not in known:
            known[key] = is_faulty(changed)
        return known[key]

    with contextlib.suppress(TimeoutError):
        searched: dict[str, Sizes] = {}  # {size: all sizes after it was searched}
        while any(searched.get(name) != found for name in sizes):
            for name in sizes:
                if searched.get(name) != found:
                    for extent in _smaller(found[name], lambda one, name=name: fails({**found, name: one})):
                        found[name] = extent
                    searched[name] = dict(found)
    return found


def _smaller(extent: int, fails: Callable[[int], bool]) -> Iterator[int]:
    """Yield ever smaller extents that fail."""
    for small in SMALL:
        if small < extent and fails(small):
            yield small
            return
    # A size that must divide another, or be a multiple, is halved or stays.
    while extent // 2 > max(SMALL) and fails(extent // 2):
        extent //= 2
        yield extent
    low = max(extent // 2, max(SMALL))
    while extent - low > 1:
        middle = (low + extent) // 2
        if fails(middle):
            extent = middle
            yield extent
        else:
            low = middle


class Lowering:
    """A process of a frontend that lowers one workload with sizes as they are needed; a context manager."""

    def __init__(
        self, python: str, job: dict[str, Any], timeout_s: float = 120, cap_gib: float | str = "auto"
    ) -> None:
        """python: of the frontend's environment. job: a `lower.LowerJob` as JSON, whose sizes are replaced."""
        self._job, self._timeout_s = job, timeout_s
        self._folder = tempfile.TemporaryDirectory(prefix="stackwars-")
        served = (job["framework"], job["dialect"], job["workload"])
        self._child = launch.start_child(
            Path(python),
            ["-m", "stackwars.compilers.lower", "--serve", *served],
            clean_environ({}),
            limits.cap_bytes(cap_gib),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._count = 0

    def __enter__(self) -> Lowering:
        return self

    def __exit__(self, *_: Any) -> None:
        self._child.kill()
        self._child.wait()
        self._folder.cleanup()

    def __call__(self, sizes: Sizes) -> Side | None:
        """Return the program with these sizes; None if the frontend refuses it, crashes, or takes too long."""
        self._count += 1
        output = Path(self._folder.name, str(self._count))
        request = {
            "job": {**self._job, "sizes": sizes},
            "output": str(output),
            "timeout_s": math.ceil(self._timeout_s),
        }
        try:
            self._child.stdin.write(json.dumps(request) + "\n")
            self._child.stdin.flush()
            answer = self._child.stdout.readline()
        except OSError:
            return None
        if answer.strip() != "0":
            return None
        side = Side(self._job["framework"], str(output / "program.mlir.gz"), str(output / "arguments.json"))
        try:
            return side if side.text else None
        except NotImplementedError:
            return None
