"""Event files are read up to their first damaged line; documents are complete or missing."""

import json
import random
from pathlib import Path

import pytest

from stackwars.core import documents
from stackwars.core.documents import EVENTS, read_events

LINES = [json.dumps({"event": name, "at_s": 1.0}) for name in ("import", "build", "end")]


def read(folder, data: bytes) -> list[str]:
    (folder / EVENTS).write_bytes(data)
    return [event["event"] for event in read_events(folder)]


BROKEN = [b'{"event": "bu', b"\xff\xfe\x00", b"5", b"{}", b"[1]", random.Random(1).randbytes(5000)]


@pytest.mark.parametrize("broken", BROKEN)
def test_events_are_read_up_to_a_broken_line(tmp_path, broken):
    assert read_events(tmp_path) == []
    lines = [line.encode() for line in LINES]
    assert read(tmp_path, b"\n".join(lines)) == ["import", "build", "end"]
    assert read(tmp_path, b"\n".join([lines[0], broken, lines[2]])) == ["import"]
    assert read(tmp_path, broken) == []


def test_a_document_that_is_not_written_to_its_end_replaces_none(tmp_path, monkeypatch):
    path = tmp_path / "new" / "x.json"
    documents.write(path, {"a": 1})

    def fill_the_disk(file: Path, text: str) -> None:
        file.write_bytes(text.encode()[:4])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fill_the_disk)
    with pytest.raises(OSError, match="No space left"):
        documents.write(path, {"a": 2})
    assert documents.read(path) == {"a": 1}
    monkeypatch.undo()
    documents.write(path, {"a": 3})
    assert documents.read(path) == {"a": 3} and [one.name for one in path.parent.iterdir()] == ["x.json"]
