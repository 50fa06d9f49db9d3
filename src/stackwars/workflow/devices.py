"""Which devices this machine has, found by asking each framework."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from stackwars.results.folder import Folder, command
from stackwars.setup.device import CPUS
from stackwars.setup.environments import Unavailable, clean_environ, ensure
from stackwars.study import cells

# Without one of these nodes no driver is loaded, and no framework can find the device; only where
# there is one is the device's environment (several GB) built and its framework asked.
_NODES = {
    "cuda": ("/dev/nvidiactl", "/dev/nvidia0"),
    "tpu": ("/dev/accel0", "/dev/vfio/0", "/dev/vfio/1"),
}
_ASK = """
import sys
from importlib import import_module
session = import_module("stackwars.frameworks." + sys.argv[1]).Session(sys.argv[2], "default")
print(session.device_kind())
"""
_TIMEOUT_S = 300


def find(config: dict) -> dict[str, dict[str, dict]]:
    """{device: {framework: {"present": bool, "reason" or "kind": str}}} for every asked-for device.

    The CPU is always present, as both of its devices.
    """
    found: dict[str, dict[str, dict]] = {}
    for device in config["devices"]:
        for framework in config["frameworks"]:
            if device in cells.environments(config, framework):
                answer = ask(framework, device, Path(cells.pins(config, framework, device)))
                found.setdefault(device, {})[framework] = answer
    return found


def ask(framework: str, device: str, pins: Path) -> dict:
    """Whether the framework finds the device: {"present": ..., "reason" or "kind": ...}."""
    if device in CPUS:
        return {"present": True, "kind": device}
    nodes = _NODES[device]
    if not any(Path(node).exists() for node in nodes):
        return {"present": False, "reason": f"no driver: none of {', '.join(nodes)} exists"}
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


def write(config: dict, folder: Folder) -> None:
    """Ask the frameworks; write devices.json."""
    found = find(config)
    folder["devices"].parent.mkdir(parents=True, exist_ok=True)
    folder["devices"].write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    command(write)
