"""The texts of an answer by hand: the table at 80 columns, paragraphs, headline, page, issue and exit status."""

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
    IREE,
    NEW,
    OLD,
    PARTED,
    PROGRAM,
    SCRIPT,
    TABLE,
    cell,
    ended,
    right,
)
from snapshots import assert_snapshot
from stackwars.core.check import Checked
from stackwars.core.outcome import Status
from stackwars.explain import answer as answers
from stackwars.explain import console, page
from stackwars.explain.answer import NATIVE, RIGHT, SPREAD, Answer, Cell, Interval
from stackwars.explain.page import headline

# The terminal

UNKNOWN = replace(PARTED, verdict="not classified", kind="", detail="", error=None, is_all=False)
ANSWERS = [
    FOUND, BETWEEN, FLAW, replace(FLAW, reproduced=False),
    replace(FLAW, verdict="not reduced", detail="no time is left"), PARTED, UNKNOWN,
    replace(UNKNOWN, verdict="failed", detail="jax draws random numbers (stablehlo.rng)"),
    *(replace(FOUND, verdict=one, ratio=None, detail=text)
      for one, text in (("spread", "over 5 kinds"), ("no gap", "no gap: over 5 kinds"), ("failed", "failed to tell"))),
    replace(BETWEEN, b="torch_eager", other=NATIVE, b_ms=None, ratio=None),
    # A constant is not among the operations that are named.
    replace(FLAW, region=["stablehlo.constant : () -> tensor<f32>", *FLAW.region]),
    # openxla/xla 47370 and 41579: a fault that nothing could be left out of was not reduced.
    *(replace(FLAW, operations=counts) for counts in ([1, 1], [3, 3], [4, 3])),
]  # fmt: skip
MISSING = ended(Status.UNSUPPORTED, "jax does not lower it: x.py:9: TypeError", is_emitted=False)
TABLES = [
    TABLE,
    replace(TABLE, differ="a differs"),
    # A program that fails alike in two compilers, or that its frontend does not emit, has one note.
    replace(TABLE, cells=[cell("jax", compiler, ended(Status.WRONG, "all wrong")) for compiler in (OLD, NEW)]),
    replace(TABLE, cells=[cell("jax", compiler, MISSING) for compiler in TABLE.compilers]),
    replace(TABLE, judge="", judge_reason="the weights do not fit",
            cells=[replace(cell("jax", OLD, right(2.0), 1.0), status=Status.NOT_JUDGED)]),
    # Times of a busy machine have a warning.
    replace(TABLE, cells=[cell("jax", OLD, right(1.0, share)) for share in (0.01, 0.4)]),
    # A framework without a compiler that is faster than all.
    replace(TABLE, cells=[cell("jax", OLD, right(5.82)), cell("torch_eager", NATIVE, right(0.0318))]),
]  # fmt: skip


def test_tables_and_a_paragraph_for_each_answer():
    lines = [line for table in TABLES for line in ("", *console.lines(table))]
    paragraphs = [console.paragraph(one) for one in ANSWERS]
    assert_snapshot("console.txt", console.wrapped("\n".join([*lines, *paragraphs]).split("\n")))


@pytest.mark.parametrize("count", [1, 4, 9])
def test_no_line_is_wider_than_the_terminal(count):
    compilers = [f"jaxlib-0.{number}.2-no-ynn" for number in range(count)]
    cells = [cell("torch_inductor_frozen", name, right(1234.5), 123.4) for name in compilers]
    wide = replace(TABLE, programs=["torch_inductor_frozen"], compilers=compilers, cells=cells)
    lines = console.wrapped(console.lines(wide)).splitlines()
    assert max(map(len, lines)) <= console.WIDTH
    shown = " ".join(lines)
    assert all(name in shown for name in compilers) and shown.count("1,234") == count


def test_a_block_of_columns_has_only_the_programs_that_it_has():
    compilers = [f"jaxlib-0.{number}.2-no-ynn" for number in range(4)]
    cells = [cell("jax", name, right(1.0), 1.0) for name in compilers]
    cells.append(cell("numpy", NATIVE, right(2.0), 2.0))
    lines = console.grid(replace(TABLE, programs=["jax", "numpy"], compilers=compilers, cells=cells))
    assert sum(line.startswith("numpy") for line in lines) == 1


# The headline


def answer(*cells: Cell, **changes) -> Answer:
    """Return an answer with these cells, and without causes and faults unless they are among the changes."""
    names = {name: changes.pop(name) for name in ("differ", "judge", "judge_reason") if name in changes}
    table = replace(TABLE, cells=list(cells), **names)
    return replace(ANSWER, **{"table": table, "causes": [], "faults": [], **changes})


FAST, SLOW = cell("jax", OLD, right(5.82)), cell("torch_xla", OLD, right(8.81))
SLOWER_RELEASE = cell("jax", NEW, right(8.81))


def right_in(compiler: str, **changes) -> Answer:
    return answer(cell("a", compiler, right(1.0)), cell("b", compiler, right(1.0)), **changes)


ONCE = replace(FLAW, verdict=RIGHT, reproduced=False)
WRONG = next(one for one in TABLE.cells if one.status is Status.WRONG)
TIMED = replace(right(2.0), outcome=ended(Status.NOT_JUDGED).outcome)
ODD = ended(
    Status.WRONG, "torch_xla is the odd one, jax, numpy() agree", is_emitted=False, verdict={"wrong": 1}
)
EAGER = cell("torch_eager", NATIVE, right(0.0318))
NATIVELY = replace(BETWEEN, b="torch_eager", other=NATIVE, b_ms=None, ratio=None)
UNJUDGED = [cell("jax", compiler, TIMED) for compiler in (OLD, NEW)]
AMPLIFIES = {"judge": "", "judge_reason": "this program amplifies rounding by 900"}
HEADLINES = {
    "different things come first": replace(ANSWER, table=replace(TABLE, differ="a and b differ")),
    "where they part comes before that": replace(ANSWER, parting=PARTED),
    "programs that part nowhere": replace(
        ANSWER, parting=replace(PARTED, verdict="not located"), table=replace(TABLE, differ="a and b differ")
    ),
    "a reduced fault, others counted": ANSWER,
    "a crash of a file": answer(cell("suspect", OLD, ended(Status.CRASH, "SIGSEGV in call")), workload=""),
    "a fault seen once": answer(WRONG, FAST, faults=[ONCE]),
    "a gap is more urgent than that": answer(WRONG, FAST, SLOW, faults=[ONCE], causes=[FOUND]),
    "a gap between programs": answer(FAST, SLOW, causes=[FOUND]),
    "a gap between compilers": answer(FAST, SLOWER_RELEASE, causes=[BETWEEN]),
    "the larger gap": answer(FAST, SLOW, causes=[FOUND, replace(BETWEEN, ratio=Interval(3.0, 2.9, 3.1))]),
    "a cause that is being searched": answer(FAST, SLOW),
    "a gap without a cause": answer(
        FAST, SLOW, causes=[replace(FOUND, verdict=SPREAD, detail="over 9 kinds", regions=[])]
    ),
    "no gap in fresh processes": answer(
        FAST, SLOW, causes=[replace(FOUND, verdict="no gap", ratio=Interval(1.0, 0.9, 1.1))]
    ),
    "a gap between compilers below the bound": answer(FAST, cell("jax", NEW, right(7.2))),
    "right in one compiler": answer(FAST, cell("jax", IREE, ended(Status.UNSUPPORTED, "no fft"))),
    "right with a file's inputs": right_in(NEW, inputs="/tmp/x.npz", workload=""),
    "right with a program's inputs": right_in(NEW, workload="y/x.py"),
    "not judged": answer(*UNJUDGED, **AMPLIFIES),
    "not judged with a gap": answer(
        *UNJUDGED, cell("torch_xla", OLD, replace(TIMED, timing=right(9.0).timing)), **AMPLIFIES
    ),
    "programs of other computations": answer(
        *(cell(name, NEW, ended(Status.INVALID, "x")) for name in ("jax", "torch_xla")),
        judge="",
        judge_reason="the programs of jax and torch_xla are not of one computation",
    ),
    "an error of the harness": answer(cell("jax", OLD, Checked(ended(Status.ERROR, "no disk").outcome))),
    # tensorflow/tensorflow 116992, of which torch_xla's program has no maximum.
    "the odd one": answer(FAST, *(cell("torch_xla", name, ODD) for name in (OLD, NEW))),
    "a crash before the odd one": answer(cell("jax", OLD, ended(Status.CRASH)), cell("torch_xla", OLD, ODD)),
    "slow everywhere": answer(FAST, SLOW, EAGER, causes=[FOUND]),
    "slow everywhere, with its regions": answer(FAST, SLOW, EAGER, causes=[FOUND, NATIVELY]),
    "a framework that is hardly faster": answer(
        FAST, SLOW, cell("torch_eager", NATIVE, right(5.0)), causes=[FOUND]
    ),
    "a framework of a moment": answer(
        cell("torch_eager", NATIVE, right(0.01)), cell("jax", OLD, right(0.04)), causes=[FOUND]
    ),
}


def test_the_headline_is_the_most_important_true_sentence():
    assert_snapshot("headlines.txt", "\n".join(f"{name}: {headline(one)}" for name, one in HEADLINES.items()))


# The files

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


def test_a_compiler_s_message_is_no_markdown():
    hostile = "expected `x` ```` <b>*y*</b> [z](u)"
    crash = replace(cell("jax", OLD, ended(Status.CRASH, hostile)))
    lines = page.markdown(answer(crash, headline=f"JAX: {hostile}", title=hostile)).splitlines()
    assert lines[0] == r"# mha: JAX: expected \`x\` \`\`\`\` \<b\>\*y\*\</b\> \[z\](u)"
    fences = [number for number, line in enumerate(lines) if line == "`" * 5]
    shown = next(number for number, line in enumerate(lines) if line.startswith("crash: jax"))
    assert fences[0] < shown < fences[1] and len(fences) == 2


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


def statuses(*cells: Cell) -> tuple[int, int]:
    """Return the exit status of a pair with these cells, and that of frontends and compilers."""
    table = replace(TABLE, programs=["a", "b"], cells=[*cells])
    return page.exit_status(table, []), page.exit_status(table, [], is_pair=False)


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


@pytest.mark.parametrize(
    "other", [cell("b", NEW, right(2.0)), cell("a", OLD, right(2.0)), cell("torch_eager", NATIVE, right(0.5))]
)
def test_any_gap_of_frontends_and_compilers_counts_and_of_a_pair_the_first_program_s(other):
    assert statuses(cell("a", NEW, right(1.0)), other) == (page.OK, page.SLOWER)


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
