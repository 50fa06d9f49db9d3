"""Programs that tests lower, all of a framework by one process."""

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from stackwars.core.launch import REPOSITORY
from stackwars.measure import frameworks, workloads
from stackwars.measure.stablehlo.ahead_supervisor import CAP_BYTES
from stackwars.measure.stablehlo.lower import Lowering, LowerJob
from stackwars.study.config import load
from stackwars.study.programs import lower_pins


def file_job(framework: str, path: Path, seed: int = 1, sizes: dict[str, int] | None = None) -> LowerJob:
    """Return the job of a program file, by default at its own sizes."""
    sizes = workloads.load(str(path)).DEFAULTS if sizes is None else sizes
    return LowerJob(framework, frameworks.load(framework).DIALECT, str(path), "base", sizes, seed, "highest")


class Lowerings(ExitStack):
    """The processes of the frameworks that have lowered a program, by framework."""

    def __init__(self) -> None:
        super().__init__()
        self.processes: dict[str, Lowering] = {}

    def __call__(self, job: LowerJob, folder: Path) -> dict[str, str]:
        """Lower a program into a folder; return its files, as other jobs name them."""
        if job.framework not in self.processes:
            process = Lowering(REPOSITORY / lower_pins(load(), job.framework), job, 300, CAP_BYTES)
            self.processes[job.framework] = self.enter_context(process)
        command = {"job": asdict(job), "output": str(folder), "timeout_s": 300}
        assert not self.processes[job.framework].ask("lower", **command)
        return {"program": str(folder / "program.mlir.gz"), "arguments": str(folder / "arguments.json")}
