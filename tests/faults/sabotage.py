"""Breaks one process from within: a scratch checkout's src/sitecustomize.py, which its Pythons run first.

The environment variable STACKWARS_SABOTAGE says what to do, as JSON: {"module": the beginning of what
`python -m` runs, "argument": a part of one of its arguments, "do": one of ACTIONS, "event": after which event
of a child (without one: at the start)} and what the action needs. Standard library only: it runs in every
environment.
"""

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

NAME = "STACKWARS_SABOTAGE"
ROOM = 2**20
"""Bytes below a cap in which a process can still report what happened."""


def die(wanted: dict, events: Path | None) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_parent(wanted: dict, events: Path | None) -> None:
    """Kill the supervisor; this process has to end with it."""
    os.kill(os.getppid(), signal.SIGKILL)
    hang(wanted, events)


def hang(wanted: dict, events: Path | None) -> None:
    time.sleep(3600)


def leave(wanted: dict, events: Path | None) -> None:
    """End with exit code 0 and nothing more written."""
    os._exit(0)


def fail(wanted: dict, events: Path | None) -> None:
    raise RuntimeError(wanted["message"])


def reach_cap(wanted: dict, events: Path | None) -> None:
    """Lower the cap to what is in use, and use up what the allocator still holds."""
    room, used_up = bytearray(ROOM), []
    status = Path("/proc/self/status").read_text()
    used = 1024 * int(status.partition("VmData:")[2].split()[0])
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (used, hard))
    for size in (2**20, 2**16):
        try:
            while True:
                used_up.append(bytearray(size))
        except MemoryError:
            continue
    wanted["used_up"] = used_up
    del room
    if "ask" in wanted:
        used_up.append(bytearray(wanted["ask"]))


def set_clock_back(wanted: dict, events: Path | None) -> None:
    """Set the clock back by an hour, for this process alone."""
    now = time.time
    time.time = lambda: now() - 3600


def fill(wanted: dict, events: Path | None) -> None:
    """Write a file until the disk has no byte left."""
    with Path(wanted["file"]).open("ab", buffering=0) as file:
        for size in (2**20, 2**12, 1):
            try:
                while file.write(b"\0" * size):
                    pass
            except OSError:
                continue


ACTIONS = {
    action.__name__: action for action in (die, kill_parent, hang, leave, fail, reach_cap, set_clock_back, fill)
}


def _act_after(name: str, act) -> None:
    """Act after a child has written the event of this name."""
    from stackwars.core.documents import Events

    write = Events.write

    def write_and_act(self, event, **values) -> None:
        write(self, event, **values)
        if event == name:
            act(Path(self._file.name))

    Events.write = write_and_act


def _main() -> None:
    wanted = json.loads(os.environ.get(NAME, "null"))
    if wanted is None or "-m" not in sys.orig_argv:
        return
    module, *arguments = sys.orig_argv[sys.orig_argv.index("-m") + 1 :]
    if not module.startswith(wanted["module"]):
        return
    if not any(wanted.get("argument", "") in argument for argument in arguments):
        return

    def act(events: Path | None) -> None:
        ACTIONS[wanted["do"]](wanted, events)

    if wanted.get("event"):
        _act_after(wanted["event"], act)
    else:
        act(None)


if __name__ == "sitecustomize":
    _main()
