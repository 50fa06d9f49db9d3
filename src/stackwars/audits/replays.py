"""What the audits of a replay share: the programs that they replay, and their processes.

A replay has a process of its own, in which programs take turns; so its audits run that, and not the process
of a cell.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stackwars.audits import runner
from stackwars.audits.mutant import HONEST
from stackwars.compilers.lower import LowerJob
from stackwars.compilers.replay_job import ReplayJob
from stackwars.setup.environments import REPOSITORY, clean_environ, ensure

CHILD = "stackwars.audits.replay_child"
WHO = ("framework", "compiler", "device")
"""What the report names a replay by."""


@dataclass(frozen=True)
class ReplayAuditJob(ReplayJob):
    """A replay's process, and what is broken in it. framework, dialect: those of its programs."""

    framework: str
    dialect: str
    mutant: str = HONEST
    partner: None = None


def lowered(
    job: dict, workload: str, sizes: Mapping[str, dict[str, int]], folder: Path
) -> dict[str, dict[str, str]]:
    """{name of sizes: {"program", "arguments": paths}}, made in `folder` by the job's framework.

    job: as of `audit_job`. Raises subprocess.CalledProcessError where the framework makes no program.
    """
    python, found = ensure(Path(job["lower_pins"])), {}
    for number, (name, one) in enumerate(sizes.items()):
        where = (folder / "programs" / str(number)).resolve()
        where.mkdir(parents=True, exist_ok=True)
        how = {key: job["settings"][key] for key in ("seed", "matmul_precision")}
        wanted = LowerJob(job["framework"], job["dialect"], workload, "base", one, **how)
        (where / "job.json").write_text(json.dumps(asdict(wanted)))
        command = [*("-m", "stackwars.audits.lower"), "--job", where / "job.json"]
        subprocess.run(
            [python, *command, "--output", where],
            env=clean_environ({}), cwd=REPOSITORY, stdin=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        files = {"program": "program.mlir.gz", "arguments": "arguments.json"}
        found[name] = {key: str(where / file) for key, file in files.items()}
    return found


def run(job: dict, pins: Path, folder: Path, programs: dict[str, dict[str, str]], **own: Any) -> dict:
    """The result of a process that replays these programs, the first the baseline; `folder` keeps it.

    job: framework, dialect, device, preset, compiler, module, options and settings of a ReplayAuditJob, and
    lower_pins, the pins of its framework. own: the rest of that job; of the settings, those to add. Raises
    RuntimeError where the process fails or refuses a program.
    """
    common = {key: value for key, value in job.items() if key != "lower_pins"}
    settings = {**job["settings"], **own.pop("settings")}
    wanted = ReplayAuditJob(
        **{**common, "settings": settings}, **own, programs=programs, baseline=next(iter(programs))
    )
    result = runner.require_ok(runner.run(wanted, pins, folder, CHILD))
    for event in result["events"]:
        if event["event"] == "refused":
            raise RuntimeError(
                f"expected {job['compiler']} to replay {event['program']}; it was refused as "
                f"{event['status']}: {event['detail']}. Mend that replay first."
            )
    return result
