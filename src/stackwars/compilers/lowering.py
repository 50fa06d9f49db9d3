"""A process of a framework that lowers one workload at sizes as they are needed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from stackwars.compilers import lower
from stackwars.core import limits
from stackwars.core.client import Process, last_line
from stackwars.core.outcome import Failed, Outcome, of_death, of_exception
from stackwars.setup.environments import ensure

IMPORT_S = 300
"""Seconds that the first program may take besides, for the framework's imports."""


class Lowering(Process):
    """A process of `stackwars.compilers.lower`, which imports the framework once."""

    def __init__(self, pins: Path, job: dict[str, Any], timeout_s: float, cap: int) -> None:
        """pins: of the framework's environment, which the first program needs. job: a `lower.LowerJob` as JSON, whose
        sizes are replaced. timeout_s: of one program. cap: of the process's memory, in bytes.
        """
        served = (job["framework"], job["dialect"], job["workload"])
        super().__init__(
            "",
            ["-m", lower.__name__, "--serve", *served],
            cap_gib=cap / limits.GIB,
            timeout_s=timeout_s + IMPORT_S,
            environ={"TF_CPP_MIN_LOG_LEVEL": "2"},
        )
        self._pins, self._job, self._program_s = pins, job, timeout_s

    def __enter__(self) -> Lowering:
        return self

    def __call__(self, sizes: dict[str, int], folder: Path) -> Path:
        """Write the program with these sizes and its arguments.json into a folder; return the program's file.

        :raises Failed: with the outcome of a process that ended without a program.
        """
        job = {**self._job, "sizes": sizes}
        try:
            status = self.ask("lower", job=job, output=str(folder.resolve()), timeout_s=self._program_s)
        except Failed as failed:
            raise Failed(self._by_exception(failed.outcome)) from None
        if status:
            raise Failed(self._by_exception(of_death(status, "lower", last_line(self.log()))))
        return folder / "program.mlir.gz"

    def _by_exception(self, outcome: Outcome) -> Outcome:
        """Return the outcome of a process with the status of the exception that ended it, if one did."""
        # The last line names the exception; those before it have a whole program's tensors in them.
        kind, _, message = last_line(self.log()).partition(": ")
        if not outcome.detail.startswith("exit status"):
            return outcome
        return replace(outcome, status=of_exception(kind, message).status)

    def _start(self) -> None:
        self._python = ensure(self._pins)
        super()._start()
