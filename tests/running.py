"""Commands that tests run to their end, as the workflow runs its own: with its variables alone."""

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from stackwars.core.launch import REPOSITORY, clean_environ
from stackwars.setup.environments import ensure
from stackwars.study.keys import plain


def run(*command: object, check: bool = True, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command and return the finished process with its output as text.

    options: of `subprocess.run`, in place of the usual ones. Raises AssertionError with the end of its output if it
    fails, unless `check` is false.
    """
    usual = {"env": clean_environ({}), "capture_output": True, "text": True, "timeout": 300}
    done = subprocess.run(list(map(str, command)), **usual | options)
    assert not check or done.returncode == 0, f"{done.stdout or ''}{done.stderr or ''}"[-3000:]
    return done


def python(*arguments: object, pins: str | Path = "", **options: Any) -> subprocess.CompletedProcess[str]:
    """Run this Python in the same way, or an environment's. pins: the environment's file in the repository."""
    return run(ensure(REPOSITORY / pins) if pins else sys.executable, *arguments, **options)


def job_file(kind: str, content: object, folder: Path) -> str:
    """Write the specification of a job, named by its content; return its path."""
    text = json.dumps(asdict(content) if is_dataclass(content) else content, default=plain)
    path = folder / f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def run_job(
    python: Path, module: str, job: object, output: Path, pins: str = "", **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a module of `stackwars.measure.stablehlo` with a job.

    pins: of the environment of its worker, if it has one.
    """
    files = {"--job": job_file(module, job, output), **({"--pins": pins} if pins else {}), "--output": output}
    words = (word for pair in files.items() for word in pair)
    return run(python, "-m", f"stackwars.measure.stablehlo.{module}", *words, **options)


def check_programs(pins: str, job: dict, output: Path) -> dict:
    """Check programs in a compiler, by default XLA, in the environment of these pins; return check.json."""
    usual = {"variant": "base", "device": "cpu", "preset": "smoke", "compiler": "some"}
    usual |= {"module": "xla", "options": {}}
    run_job(Path(sys.executable), "check", usual | job, output, pins=pins)
    return json.loads((output / "check.json").read_text())


def wait_for(condition: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Return the first true value of a condition."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s")
