"""The process that compiles one program for one device that is not here.

It runs in a compiler's environment and appends what it has learnt to an event file, line by line:
a compiler may end its process at any point, and what was known before stands.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
from pathlib import Path

from stackwars.compilers import target
from stackwars.measure.events import Events


def compile_ahead(spec: dict, events: Events) -> None:
    """Compile `spec["program"]` (.mlir or .mlir.gz) for `spec["target_row"]`."""
    events.write("import")
    devices = target.open_target(spec["target_row"])
    events.write("open", device_kind=devices[0].device_kind, versions=target.versions())
    text = program_text(Path(spec["program"])).decode()
    events.write("compile")
    start = time.perf_counter()
    try:
        executable = target.compile_for(devices, text)
    finally:
        events.write("compile_end", seconds=time.perf_counter() - start)
    events.write("accepted", code_bytes=target.code_bytes(executable))


def program_text(path: Path) -> bytes:
    """The bytes of a program's text, decompressed where the name ends in .gz."""
    found = path.read_bytes()
    return gzip.decompress(found) if path.suffix == ".gz" else found


def main() -> None:
    """`python -m stackwars.compilers.ahead FOLDER`: read FOLDER/spec.json, write FOLDER/events.jsonl."""
    folder = Path(sys.argv[1])
    events = Events(folder / "events.jsonl")
    spec = json.loads((folder / "spec.json").read_text())
    try:
        compile_ahead(spec, events)
    except BaseException as error:
        events.write("raised", type=type(error).__name__, message=str(error))
        sys.stdout.flush()
        os._exit(1)
    events.write("end")
    # The runtime's own shutdown waits for threads that an absent device never answers.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
