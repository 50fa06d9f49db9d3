"""explain.html, explain.md and explain.json of answers by hand."""

import json
import re

import pytest

import chromium
from chromium import Chromium
from explain_fixture import (
    BETWEEN,
    CAUSE,
    CAUSE_ROW,
    FAULT,
    FAULT_ROW,
    PLAN,
    REDUCED,
    SCRIPT,
    right,
    table,
    write_answers,
)
from stackwars.explain import console, page, report
from stackwars.explain.outcomes import FAILED, NATIVE, UNJUDGED, outcome

HOSTILE = '</script><img src=x onerror="alert(1)">'


@pytest.fixture
def written(tmp_path):
    page.write(PLAN, table(), write_answers(tmp_path), tmp_path)
    return tmp_path


def test_the_page_has_the_table_the_causes_and_the_faults(written):
    text = (written / "explain.html").read_text()
    for shown in (
        *(
            "Multi-head attention",
            "wrong 3/98304",
            "refused fft",
            "8.81 ms",
            "1.60x",
            "Judged by NumPy in float64",
        ),
        *(
            "Why torch_xla is slower than jax in jaxlib-0.7.1",
            "mha.py:41",
            "97 % [91, 104]",
            "1.51 [1.48, 1.55]",
        ),
        *("argument : tensor&lt;2304x768xf32&gt;", "at 18 % of peak"),
        *(
            "Why torch_xla is wrong in jaxlib-0.10.2",
            "xla_disable_hlo_passes=algsimp",
            "Flags and passes: 2 variants",
        ),
        *(
            "func.func public @main",
            "sys.exit(1)",
            "make explain PROGRAM=mha",
            "AMD EPYC, 2 cores",
            "0123456789ab",
        ),
    ):
        assert shown in text, shown


def test_a_gap_between_compilers_has_its_options(tmp_path):
    row = {**CAUSE_ROW, "a": "jax", "b": None, "other": "jaxlib-0.10.2"}
    page.write(PLAN, table(questions=[row, FAULT_ROW]), write_answers(tmp_path, BETWEEN), tmp_path)
    text = (tmp_path / "explain.html").read_text()
    assert "Why jax is slower in jaxlib-0.7.1 than in jaxlib-0.10.2" in text
    assert "make up, timed alone" in text and "<code>xla_x=</code>" in text


def test_the_page_fetches_nothing(written):
    text = (written / "explain.html").read_text()
    assert not re.search(r"(src|href)=|url\(|<script|@import", text)


def test_names_are_no_markup(tmp_path):
    hostile = table(title=HOSTILE)
    text = page.html(
        report.report(PLAN, hostile, write_answers(tmp_path, {**CAUSE, "detail": HOSTILE, "verdict": "failed"}))
    )
    assert "<img" not in text and "&lt;img" in text


def test_the_text_for_an_issue_is_short_and_complete(written):
    text = (written / "explain.md").read_text()
    assert len(text.splitlines()) <= page.MOST_LINES
    for shown in ("# mha: Wrong in 1 of 7 tries", "takes 1.51x the time of jax", "mha.py:41", "func.func public @main",
                  "Versions: jaxlib-0.7.1: numpy 2.3.2", "Machine: AMD EPYC", "`make explain PROGRAM=mha`",
                  "reproduce.py"):  # fmt: skip
        assert shown in text, shown


def test_a_long_reduced_program_is_left_out_of_the_text(tmp_path):
    paths = write_answers(tmp_path)
    (paths[1].parent / "reduced.mlir").write_text("line\n" * 100)
    text = page.markdown(report.report(PLAN, table(), paths))
    assert len(text.splitlines()) <= page.MOST_LINES and "```mlir" not in text


def test_the_reproducer_of_the_first_fault_is_beside_the_page(written):
    assert (written / "reproduce.py").read_text() == SCRIPT
    assert (written / "reduced.mlir").read_text() == REDUCED
    assert page.written(written)[-1] == str(written / "reproduce.py")
    document = json.loads((written / "explain.json").read_text())
    assert document["programs"] == {"torch_xla": "explain/mha/programs/torch_xla/program.mlir.gz"}
    assert document["answers"][1]["found"] == FAULT and document["exit_status"] == report.NOT_RIGHT


def test_an_old_reproducer_does_not_outlive_its_fault(written):
    page.write(PLAN, table(questions=[CAUSE_ROW]), [written / "causes" / CAUSE["name"] / "cause.json"], written)
    assert not (written / "reproduce.py").exists() and not (written / "reduced.mlir").exists()


def test_searches_that_failed_have_a_page_too(tmp_path):
    bare = {"verdict": "failed", "detail": "exit status 1"}
    cause = {**{key: CAUSE[key] for key in ("name", "a", "b", "compiler", "other")}, **bare}
    fault = {**{key: FAULT[key] for key in ("name", "program", "compiler", "kind")}, **bare}
    page.write(PLAN, table(), write_answers(tmp_path, cause, fault), tmp_path)
    assert "failed. exit status 1" in (tmp_path / "explain.html").read_text()


def status(times: tuple[float, float], verdict: str | None = None, ratio: dict | None = None, **changed) -> int:
    """Return the exit status of programs a and b with these times, and a search with this verdict and ratio."""
    cells = [
        {"program": name, "compiler": "jaxlib-1", **right(ms), "ratio": 1.0}
        for name, ms in zip("ab", times, strict=True)
    ]
    row = {**CAUSE_ROW, "compiler": "jaxlib-1", "a": "a", "b": "b"}
    answers = [{"row": row, "found": {"verdict": verdict, "ratio": ratio}}] if verdict else []
    return report.exit_status(
        table(programs=["a", "b"], compilers=["jaxlib-1"], cells=cells, **changed), answers
    )


def test_exit_statuses():
    assert status((1.0, 1.0)) == status((1.09, 1.0)) == status((1.0, 2.0), "cause") == report.OK
    assert (
        status((1.5, 1.0), "cause")
        == status((1.5, 1.0), "failed")
        == status((1.5, 1.0), "spread")
        == report.SLOWER
    )
    # Fresh processes decide whether there is a gap.
    assert status((1.5, 1.0), "no gap") == status((1.5, 1.0), "not separable") == report.OK
    assert status((1.5, 1.0), settings={"bound": 0.6}) == report.OK


def test_a_clear_gap_of_uncertain_cause_is_a_gap():
    clear, unclear = {"value": 1.8, "low": 1.2, "high": 2.7}, {"value": 1.8, "low": 0.9, "high": 3.6}
    assert status((1.5, 1.0), "not separable", clear) == report.SLOWER
    assert status((1.5, 1.0), "not separable", unclear) == report.OK


def test_programs_that_compute_different_things_decide_the_status_and_are_named():
    assert status((1.0, 1.0), apart="a and b compute different things: output0") == report.NOT_RIGHT
    other = table(apart="a and b compute different things: output0", cells=[], questions=[])
    assert (
        "compute different things" in report.headline(other, [])
        and "compute different" in console.below(other)[1]
    )


def test_a_program_beside_numpy_alone_is_slower_than_none():
    cells = [
        {"program": "a", "compiler": "jaxlib-1", **right(5.0), "ratio": 5.0},
        {"program": "numpy", "compiler": NATIVE, **right(1.0), "ratio": 1.0},
    ]
    alone = table(programs=["a", "numpy"], compilers=["jaxlib-1"], cells=cells)
    assert report.exit_status(alone, []) == report.OK


@pytest.mark.parametrize("bad", ["wrong", "crash", "hang", "refused", FAILED, UNJUDGED])
def test_a_program_that_is_not_right_decides_the_status(bad):
    cells = [
        {"program": "a", "compiler": "jaxlib-1", **outcome(bad, "x"), "ratio": None},
        {"program": "b", "compiler": "jaxlib-1", **right(1.0), "ratio": 1.0},
    ]
    assert (
        report.exit_status(table(programs=["a", "b"], compilers=["jaxlib-1"], cells=cells), [])
        == report.NOT_RIGHT
    )


@pytest.mark.skipif(chromium.BINARY is None, reason=chromium.WITHOUT)
@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_draws_the_page(written, tmp_path, width):
    browser = Chromium(tmp_path / "profile")
    try:
        browser.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        browser.open(written / "explain.html")
        seen = browser.evaluate("document.body.innerText")
        assert "Why torch_xla is slower than jax in jaxlib-0.7.1" in seen and "reduce" in seen
        overflow = browser.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0 and browser.errors == []
    finally:
        browser.close()
