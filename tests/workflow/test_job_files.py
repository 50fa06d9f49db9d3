"""What is handed to a job: one file for one content."""

import json
from pathlib import Path

import pytest

from stackwars.core import documents
from stackwars.measure.stablehlo.replay_cell import ReplayCellJob
from stackwars.study.config import load
from stackwars.study.programs import replays
from stackwars.study.workflow import job_files, jobs


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder of the files of a run that has not started."""
    monkeypatch.setattr(job_files, "FOLDER", tmp_path)
    monkeypatch.setattr(job_files, "_planned", {})
    monkeypatch.setattr(job_files, "_running", False)
    return tmp_path


def test_name_says_the_kind_and_changes_with_the_content_alone(folder):
    one, other = (job_files.planned("process", {"a": 1, "b": [number]}) for number in (2, 3))
    ordered = job_files.planned("config", {"torch_xla": 1, "numpy": 2})
    assert one == job_files.planned("process", {"a": 1, "b": [2]}) != other
    assert one.startswith(str(folder / "process-"))
    job_files.write_planned()
    before = Path(one).stat().st_mtime_ns
    job_files.write_planned()
    assert Path(one).stat().st_mtime_ns == before, "a file that exists is not written again"
    assert json.loads(Path(one).read_text()) == {"a": 1, "b": [2]}
    assert list(json.loads(Path(ordered).read_text())) == ["torch_xla", "numpy"]
    assert len(list(folder.iterdir())) == 3


def test_planned_files_are_written_when_the_run_starts_and_old_ones_go(folder):
    old = folder / "process-of-an-earlier-run.json"
    old.write_text("{}")
    planned = Path(job_files.planned("process", {"a": 1}))
    assert not planned.exists() and old.exists(), "planning writes nothing"
    job_files.write_planned()
    assert json.loads(planned.read_text()) == {"a": 1} and not old.exists()
    late = Path(job_files.planned("process", {"a": 2}))
    assert late.exists() and planned.exists(), "what a checkpoint adds is written at once"


def test_a_job_is_read_back_as_it_was_planned_with_the_job_inside_it():
    config = load(preset="smoke")
    job = ReplayCellJob(jobs.replay_job(config, replays(config)[0]), {"jax": "a/folder"})
    path = Path(job_files.planned("replay", job))
    job_files.write_planned()
    assert documents.read_job(ReplayCellJob, path) == job
