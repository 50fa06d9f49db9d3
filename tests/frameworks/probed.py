"""What probe.py finds of each framework in its own environment; asked once."""

import json
import tempfile
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess

from running import python
from stackwars.core.launch import REPOSITORY, clean_environ
from stackwars.setup.device import CPU
from stackwars.study import cells
from stackwars.study.config import load

PROBE = Path(__file__).with_name("probe.py")


def pins(framework: str) -> Path:
    """The pins file of a framework's environment for the CPU."""
    return REPOSITORY / cells.pins(load(), framework, CPU)


def run_code(framework: str, code: str, *arguments: object, **variables: str) -> CompletedProcess[str]:
    """Run Python code in a framework's environment."""
    options = {"env": clean_environ(variables), "timeout": 600, "check": False}
    return python("-c", code, *arguments, pins=pins(framework), **options)


@cache
def probe(framework: str) -> dict:
    """The answer of `probe.py FRAMEWORK`."""
    with tempfile.TemporaryDirectory() as empty:
        done = python(PROBE, framework, pins=pins(framework), env=clean_environ({"TMPDIR": empty}))
    return json.loads(done.stdout.splitlines()[-1])
