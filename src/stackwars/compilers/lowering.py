"""A client of `python -m stackwars.compilers.lower --serve`: a workload's programs at sizes as they are needed."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from stackwars.measure import launch
from stackwars.setup.environments import clean_environ, ensure


class Lowering:
    """A process of a framework that lowers one workload, started by the first program; a context manager."""

    def __init__(self, pins: Path, job: dict[str, Any], timeout_s: float, cap: int) -> None:
        """pins: of the framework's environment. job: a `lower.LowerJob` as JSON, whose sizes are replaced. timeout_s:
        of one program. cap: of the process's memory, in bytes.
        """
        self._pins, self._job, self._timeout_s, self._cap = pins, job, timeout_s, cap
        self._child: subprocess.Popen | None = None
        # To append: what a process wrote that has been told of is cut off.
        self._errors = tempfile.NamedTemporaryFile("a+b")  # noqa: SIM115

    def __enter__(self) -> Lowering:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._child:
            self._child.kill()
            self._child.wait()
        self._errors.close()

    def __call__(self, sizes: dict[str, int], folder: Path) -> Path:
        """Write the program with these sizes and its arguments.json into a folder; return the program's file.

        :raises OSError: with the last words of a process that ended without a program.
        """
        child = self._child = self._child or self._start()
        job = {**self._job, "sizes": sizes}
        request = {"job": job, "output": str(folder.resolve()), "timeout_s": self._timeout_s}
        with contextlib.suppress(BrokenPipeError):  # then there is no answer either
            print(json.dumps(request), file=child.stdin, flush=True)
        status = child.stdout.readline().strip() or str(child.wait())
        lines = Path(self._errors.name).read_text(errors="replace").strip().splitlines()
        self._errors.truncate(0)
        if status != "0":
            # The last line names the error; those before it have a whole program's tensors in them.
            raise OSError(f"ended with {status}: {lines[-1][:300] if lines else 'no word'}")
        return folder / "program.mlir.gz"

    def _start(self) -> subprocess.Popen:
        served = (self._job["framework"], self._job["dialect"], self._job["workload"])
        return launch.start_child(
            ensure(self._pins),
            ["-m", "stackwars.compilers.lower", "--serve", *served],
            clean_environ({"TF_CPP_MIN_LOG_LEVEL": "2"}),
            self._cap,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
