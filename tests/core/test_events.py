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


def test_whole_file_and_none(tmp_path):
    assert read_events(tmp_path) == []
    assert read(tmp_path, "\n".join(LINES).encode()) == ["import", "build", "end"]


@pytest.mark.parametrize("broken", [b'{"event": "bu', b"\xff\xfe\x00", b"5", b"{}", b"[1]", b"\0" * 9])
def test_what_follows_a_broken_line_does_not_count(tmp_path, broken):
    lines = [LINES[0].encode(), broken, LINES[2].encode()]
    assert read(tmp_path, b"\n".join(lines)) == ["import"]


def test_garbage_is_no_event(tmp_path):
    assert read(tmp_path, random.Random(1).randbytes(5000)) == []


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
