"""Results that are dated ahead of the clock are dated now, in their order; others keep their dates."""

import os
import time

from stackwars.workflow import dates


def dated(path, seconds: float):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (0, time.time() + seconds))
    return path


def test_what_is_ahead_is_dated_now_in_its_order(tmp_path):
    results = tmp_path / "results"
    old, cell = dated(results / "old.json", -100), dated(results / "cpu" / "cell.json", 3600)
    frame, paper = dated(results / "frame.csv", 3700), dated(tmp_path / "paper.pdf", 3800)
    before = old.stat().st_mtime
    assert dates.fix_future([results, tmp_path / "none"], [paper, tmp_path / "report.html"]) == 3
    found = [path.stat().st_mtime_ns for path in (old, cell, frame, paper)]
    assert found == sorted(set(found))
    assert found[-1] < time.time_ns()
    assert old.stat().st_mtime == before
    assert dates.fix_future([results], [paper]) == 0
