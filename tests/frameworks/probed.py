"""What probe.py finds of each framework in its own environment; asked once."""

from __future__ import annotations

import json
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from stackwars.setup.device import CPU
from stackwars.setup.environments import REPOSITORY, clean_environ, ensure
from stackwars.study import cells
from stackwars.study.config import load

PROBE = Path(__file__).with_name("probe.py")


def pins(framework: str) -> Path:
    """The pins file of a framework's environment for the CPU."""
    return REPOSITORY / cells.pins(load(), framework, CPU)


def run_code(framework: str, code: str, *arguments: object, **variables: str) -> subprocess.CompletedProcess:
    """Run Python code in a framework's environment."""
    command = [ensure(pins(framework)), "-c", code, *map(str, arguments)]
    return subprocess.run(command, env=clean_environ(variables), capture_output=True, text=True)


@cache
def probe(framework: str, what: str) -> dict:
    """The answer of `probe.py FRAMEWORK small|fences`."""
    python = ensure(pins(framework))
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            [python, PROBE, framework, what],
            env=clean_environ({"TMPDIR": empty}), capture_output=True, text=True, timeout=300,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
