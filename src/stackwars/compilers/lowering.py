"""A process of a framework that lowers one workload at sizes as they are needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stackwars.compilers import lower
from stackwars.core import limits
from stackwars.core.client import Process
from stackwars.core.outcome import Failed
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

        :raises OSError: with the last words of a process that ended without a program.
        """
        job = {**self._job, "sizes": sizes}
        try:
            status = self.ask("lower", job=job, output=str(folder.resolve()), timeout_s=self._program_s)
        except Failed as failed:
            raise OSError(failed.outcome.detail) from None
        if status:
            # The last line names the error; those before it have a whole program's tensors in them.
            raise OSError(f"exit status {status} in lower; last line: {self.last_words() or 'none'}")
        return folder / "program.mlir.gz"

    def _start(self) -> None:
        self._python = ensure(self._pins)
        super()._start()
