"""Commands that tests run to their end, as the workflow runs its own: with its variables alone."""

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stackwars.setup.environments import REPOSITORY, clean_environ, ensure


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
    """Run this Python likewise, or that of an environment. pins: its file, relative to the repository."""
    return run(ensure(REPOSITORY / pins) if pins else sys.executable, *arguments, **options)


def job_file(kind: str, content: object, folder: Path) -> str:
    """Write the specification of a job, named by its content; return its path."""
    text = json.dumps(content)
    path = folder / f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def wait_for(condition: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Return the first true value of a condition."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s")
