"""explain.html, explain.md, explain.json and the exit status of answers by hand."""

import json
import re
from dataclasses import asdict, replace

import pytest

import chromium
from chromium import Chromium
from explain_fixture import (
    ANSWER,
    BETWEEN,
    FLAW,
    FOUND,
    NEW,
    PARTED,
    PROGRAM,
    SCRIPT,
    TABLE,
    cell,
    ended,
    right,
)
from snapshots import assert_snapshot
from stackwars.core.outcome import Status
from stackwars.explain import answer as answers
from stackwars.explain import page
from stackwars.explain.answer import NATIVE, Answer, Interval

HOSTILE = '</script><img src=x onerror="alert(1)">'


@pytest.fixture
def written(tmp_path):
    page.write(tmp_path, ANSWER)
    return tmp_path


def test_the_page_has_the_table_the_causes_the_faults_and_options_and_fetches_nothing(written):
    text = page.html(replace(ANSWER, causes=[FOUND, BETWEEN], parting=PARTED))
    assert_snapshot("page.txt", text)
    assert not re.search(r"(src|href)=|url\(|<script|@import", text)


def test_names_are_no_markup():
    cause = replace(FOUND, detail=HOSTILE, verdict="failed")
    text = page.html(replace(ANSWER, title=HOSTILE, causes=[cause]))
    assert "<img" not in text and "&lt;img" in text


def test_the_text_for_an_issue_is_short_and_complete(written):
    text = (written / "explain.md").read_text()
    assert len(text.splitlines()) <= page.MOST_LINES
    assert_snapshot("issue.txt", text)
    long = page.markdown(replace(ANSWER, faults=[replace(FLAW, reduced="line\n" * 100)]))
    assert len(long.splitlines()) <= page.MOST_LINES and "```mlir" not in long


def test_the_reproducer_of_the_first_fault_is_beside_the_page_and_does_not_outlive_it(written):
    assert (written / "reproduce.py").read_text() == SCRIPT
    assert (written / "reduced.mlir").read_text() == PROGRAM
    assert page.written(written)[-1].startswith(f"wrote {written / 'reproduce.py'} (open it in Python)")
    page.write(written, replace(ANSWER, faults=[]))
    assert not (written / "reproduce.py").exists() and not (written / "reduced.mlir").exists()


def test_an_answer_is_read_as_it_was_written(written):
    assert answers.read(Answer, written / "explain.json") == ANSWER
    page.write(written, replace(ANSWER, parting=PARTED))
    assert answers.read(Answer, written / "explain.json").parting == PARTED
    document = json.loads((written / "explain.json").read_text())
    with pytest.raises(ValueError, match="headline"):
        answers.parse(Answer, {name: value for name, value in document.items() if name != "headline"})
    assert asdict(ANSWER)["table"]["cells"][2]["status"] == "wrong"


def test_searches_that_failed_have_a_page_too():
    cause = answers.Cause("x", NEW, "a", "b", None, "failed", "exit status 1")
    fault = answers.Fault("y", "a", NEW, "wrong", "failed", "no memory")
    text = page.html(replace(ANSWER, causes=[cause], faults=[fault]))
    assert "failed. exit status 1" in text and "failed: no memory" in text


def status(times: tuple[float, float], verdict: str = "", ratio: Interval | None = None, **changed) -> int:
    """Return the exit status of programs a and b with these times, and a search with this verdict and ratio."""
    cells = [cell(name, NEW, right(ms)) for name, ms in zip("ab", times, strict=True)]
    causes = [answers.Cause("x", NEW, "a", "b", None, verdict, "", ratio=ratio)] if verdict else []
    return page.exit_status(
        replace(TABLE, programs=["a", "b"], compilers=[NEW], cells=cells, **changed), causes
    )


def test_exit_statuses():
    assert status((1.0, 1.0)) == status((1.09, 1.0)) == status((1.0, 2.0), "cause") == page.OK
    for verdict in ("cause", "failed", "spread"):
        assert status((1.5, 1.0), verdict) == page.SLOWER
    # Fresh processes decide whether there is a gap; a clear gap of uncertain cause is one.
    assert status((1.5, 1.0), "no gap") == status((1.5, 1.0), "not separable") == page.OK
    assert status((1.5, 1.0), "not separable", Interval(1.8, 1.2, 2.7)) == page.SLOWER
    assert status((1.5, 1.0), "not separable", Interval(1.8, 0.9, 3.6)) == page.OK
    assert status((1.5, 1.0), bound=0.6) == page.OK
    assert status((1.0, 1.0), differ="a and b compute different things") == page.NOT_RIGHT
    # A program beside NumPy alone is slower than none.
    cells = [cell("a", NEW, right(5.0)), cell("numpy", NATIVE, right(1.0))]
    assert page.exit_status(replace(TABLE, compilers=[NEW], cells=cells), []) == page.OK


@pytest.mark.parametrize("bad", [one for one in Status if one is not Status.OK])
def test_a_program_that_is_not_right_decides_the_status(bad):
    cells = [cell("a", NEW, ended(bad)), cell("b", NEW, right(1.0))]
    assert page.exit_status(replace(TABLE, compilers=[NEW], cells=cells), []) == page.NOT_RIGHT


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
