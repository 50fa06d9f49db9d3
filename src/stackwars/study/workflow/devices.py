"""Find the devices of this machine by asking each framework."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

from stackwars.core import documents
from stackwars.core.launch import clean_environ
from stackwars.setup.device import CPUS, why_absent
from stackwars.setup.environments import Unavailable, ensure
from stackwars.study import cells
from stackwars.study.keys import Config, read_step

_ASK = """
import sys
from importlib import import_module
session = import_module("stackwars.measure.frameworks." + sys.argv[1]).Session(sys.argv[2], "highest")
print(session.device_kind())
"""
_TIMEOUT_S = 300


def find(config: Config, device: str) -> dict[str, dict]:
    """Return {framework: {"present": bool, "reason" or "kind": str}} for a device.

    The CPU is always present, as both of its devices.
    """
    return {
        framework: ask(framework, device, Path(cells.pins(config, framework, device)))
        for framework in config.frameworks
        if device in cells.environments(config, framework)
    }


def ask(framework: str, device: str, pins: Path) -> dict:
    """Return whether the framework finds the device: {"present": ..., "reason" or "kind": ...}."""
    if device in CPUS:
        return {"present": True, "kind": device}
    if reason := why_absent(device):
        return {"present": False, "reason": reason}
    try:
        command = [str(ensure(pins)), "-c", _ASK, framework, device]
    except Unavailable as error:
        return {"present": False, "reason": str(error)}
    try:
        done = subprocess.run(
            command, env=clean_environ({}), capture_output=True, text=True, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return {"present": False, "reason": f"{framework} gave no answer in {_TIMEOUT_S} s"}
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["it ended without a message"]
        return {"present": False, "reason": f"{framework}: {lines[-1][:300]}"}
    return {"present": True, "kind": done.stdout.strip().splitlines()[-1]}


def main() -> None:
    """`python -m stackwars.study.workflow.devices`: ask for one device, or put the answers for all together."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--config", required=True, type=read_step)
    parser.add_argument("--output", required=True, type=Path)
    one = parser.add_mutually_exclusive_group(required=True)
    one.add_argument("--device")
    one.add_argument("--answers", nargs="+", type=Path, help="<device>/found.json of each")
    arguments = parser.parse_args()
    if arguments.device:
        result = find(arguments.config, arguments.device)
    else:
        answers = {path.parent.name: documents.read(path) for path in arguments.answers}
        result = {device: answer for device, answer in answers.items() if answer}
    documents.write(arguments.output, result)


if __name__ == "__main__":
    main()
