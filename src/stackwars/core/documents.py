"""Read and write JSON documents and a child's event file, and parse the command line of steps that do so.

An error names the file. A document that a kill left half-written is refused.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

EVENTS = "events.jsonl"
Row = dict[str, Any]
"""A row of a table, or an object of a JSON file."""
Job = TypeVar("Job")


class Damaged(ValueError):
    """A file that does not hold the document that its name promises."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: expected a whole document, got {problem}; fix: make it again")
        self.problem = problem


def read(path: Path | str) -> Any:
    """Return the content of a JSON file. Raises Damaged if it has none, and OSError if it cannot be read."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:  # JSON's and Unicode's errors both are
        raise Damaged(Path(path), f"one that ends or breaks off: {error}") from None


def read_job(kind: type[Job], path: Path) -> Job:
    """Return the job, a dataclass, that a JSON file specifies."""
    return _from_json(kind, read(path))


def _from_json(kind: type[Job], values: Row) -> Job:
    types = get_type_hints(kind)
    inner = {name: _from_json(types[name], values[name]) for name in values if is_dataclass(types.get(name))}
    return kind(**values | inner)


def write(path: Path, document: Any) -> None:
    """Write a document as a JSON file in one step, into a folder that is created if necessary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(document, indent=1) + "\n")
    part.replace(path)


def parse_arguments(description: str | None, *paths: str, **others: dict[str, Any]) -> argparse.Namespace:
    """Return the arguments of the command line: `--<name> PATH` for each of the paths, which it requires, and others.

    others: keywords of `add_argument` of each.
    """
    parser = argparse.ArgumentParser(description=description)
    required = {name: {"required": True, "type": Path} for name in paths}
    for name, keywords in (required | others).items():
        parser.add_argument(f"--{name.replace('_', '-')}", **keywords)
    return parser.parse_args()


class Events:
    """An append-only file of JSON lines; the parent reads it after the child's end."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)

    def write(self, event: str, **values: Any) -> None:
        """Append one event with its values and the time in seconds since the epoch, `at_s`."""
        self._file.write(json.dumps({"event": event, "at_s": time.time(), **values}) + "\n")


def read_events(folder: Path) -> list[dict]:
    """Return the events of a child that worked in this folder, oldest first; [] if it wrote none.

    Events after a damaged line are dropped: the child died while it wrote that line.
    """
    path = folder / EVENTS
    events = []
    for line in path.read_text(errors="replace").splitlines() if path.exists() else []:
        try:
            result = json.loads(line)
        except json.JSONDecodeError:
            break
        if not isinstance(result, dict) or "event" not in result:
            break
        events.append(result)
    return events


def event(process: dict, name: str) -> dict:
    """Return the first event of this name in a process's result; {} if there is none."""
    return next((event for event in process["events"] if event["event"] == name), {})
