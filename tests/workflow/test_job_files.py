"""What is handed to a job: one file for one content."""

import json
from pathlib import Path

from stackwars.workflow import job_files


def test_name_says_the_kind_and_changes_with_the_content_alone(tmp_path):
    one = job_files.file("process", {"a": 1, "b": [2]}, tmp_path)
    before = Path(one).stat().st_mtime_ns
    assert one == job_files.file("process", {"a": 1, "b": [2]}, tmp_path)
    assert Path(one).stat().st_mtime_ns == before, "a file that exists is not written again"
    other = job_files.file("process", {"a": 1, "b": [3]}, tmp_path)
    assert one != other
    assert len(list(tmp_path.iterdir())) == 2
    assert json.loads(Path(one).read_text()) == {"a": 1, "b": [2]}
    ordered = job_files.file("config", {"torch_xla": 1, "numpy": 2}, tmp_path)
    assert list(json.loads(Path(ordered).read_text())) == ["torch_xla", "numpy"]
    assert one.startswith(str(tmp_path / "process-"))


def test_planned_files_are_written_when_the_run_starts_and_old_ones_go(tmp_path, monkeypatch):
    monkeypatch.setattr(job_files, "FOLDER", tmp_path)
    monkeypatch.setattr(job_files, "_planned", {})
    monkeypatch.setattr(job_files, "_running", False)
    old = Path(job_files.file("process", {"of": "an earlier run"}, tmp_path))
    planned = Path(job_files.planned("process", {"a": 1}))
    assert not planned.exists() and old.exists(), "planning writes nothing"
    job_files.write_planned()
    assert json.loads(planned.read_text()) == {"a": 1} and not old.exists()
    late = Path(job_files.planned("process", {"a": 2}))
    assert late.exists() and planned.exists(), "what a checkpoint adds is written at once"
