"""The formats of the paper's tables, their renderer, and what holds of every table."""

import re

import pytest

from stackwars.publish.paper.latex import Latex, escape, series
from stackwars.publish.paper.tables import formats
from stackwars.publish.paper.tables.spec import Column, Range, Ratio, Table, frame, spanning
from stackwars.publish.paper.tables.write import REGISTRY, render, write
from stackwars.study.config import load
from stackwars.study.results import verdicts
from stackwars.study.results.dataset import Dataset, Sources
from stackwars.study.results.folder import Folder
from table_fixture import BY_NAME, NAN, RUN, body, sources


def made(rows: list[dict], columns: str = "a b", **options: object) -> str:
    """Return a table with text columns of these names, from hand-made rows."""
    table = Table(
        "x", "A Table", lambda _: frame(rows), tuple(Column(name, name) for name in columns.split()), **options
    )
    return render(table, sources_of_nothing())


def sources_of_nothing() -> Sources:
    reference = Dataset(load(), "nowhere", is_reference=True)
    reference.__dict__["context"] = {"runs": [RUN, {**RUN, "machine": "two"}]}
    return Sources(reference, reference, [])


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("ms", 1736.4, "1736"),
        ("ms", 0.45401, "0.4540"),
        ("ms", 11699.3, "11,699"),
        ("ms", "0.198", "0.198"),
        ("ms", "7659.820", "7659.820"),
        ("range", Range(28.12, 31.9), "28.1--31.9"),
        ("range", Range(3.0, 3.0), "---"),
        ("range", Range(1.0, 2.0, (formats.UNGATED,)), r"1.00--2.00$^{\dagger}$"),
        (
            "ratio",
            Ratio(1.412, 1.27, 1.571, verdicts.SLOWER),
            r"1.41\makebox[1.1em]{$\blacktriangle$}[1.27, 1.57]",
        ),
        ("ratio", Ratio(1.0, 3e-8, 7.1e8), r"1.00[$<$0.001, $>$100,000]"),
        ("ratio", Ratio(0.5, verdict=verdicts.NO_INTERVAL), r"0.500\makebox[1.1em]{}"),
        ("ratio", Ratio(NAN), "---"),
        ("percent", -0.131, r"$-$13\,\%"),
        ("count", 129.0, "129"),
        ("number", 30633.0, "30,633"),
        ("bytes", (32.26 * 2**30, True), "32.26"),
        ("text", "a_b", r"a\_b"),
        ("text", None, "---"),
        ("ms", NAN, "---"),
        ("ms", "", ""),
    ],
)
def test_a_value_is_shown_in_its_format(name, value, expected):
    cell = formats.shown(name, value)
    assert cell.number + cell.text == expected


def test_only_what_does_not_fit_is_bold():
    assert formats.shown("bytes", (1.0, False)).is_bold
    assert not formats.shown("bytes", (1.0, True)).is_bold


def test_texts_are_escaped_and_lists_are_words():
    assert escape("50 % of a_b \u2265 1 \u00d7 \U0001f4a9") == r"50 \% of a\_b $\geq$ 1 \texttimes{} U+1F4A9"
    assert escape("--config") == "-{}-config"
    assert series(["a", "b", "c"]) == "a, b and c"
    assert series(["a, x", "b"]) == "a, x; and b"
    for missing in (None, NAN):
        with pytest.raises(ValueError, match="expected a value to print"):
            escape(missing)


def test_repeats_of_a_group_are_blank_and_groups_stand_apart():
    text = made([{"a": "one", "b": "1"}, {"a": "one", "b": "2"}, {"a": "two", "b": "2"}], group_by="a")
    assert body(text) == [["one", "1"], ["", "2"], ["two", "2"]]
    assert text.index("one & 1") < text.index(r"\addlinespace") < text.index("two & 2")
    assert text.count(r"\addlinespace") == 1


def test_numbers_of_a_column_are_aligned_at_the_decimal_point():
    table = Table(
        "x", "A", lambda _: frame([{"a": 12345.0}, {"a": 0.5}, {"a": -2.0}]), (Column("a", "a", "number"),)
    )
    lines = render(table, sources_of_nothing()).split(r"\midrule")[1].splitlines()
    assert lines[1] == r"12,345\rlap{}\hphantom{.500} \\"
    assert lines[2] == r"\hphantom{12,345}\llap{0}.500 \\"
    assert lines[3] == r"\hphantom{12,345}\llap{\textminus{}2}\rlap{.00}\hphantom{.500} \\"


def test_columns_that_share_a_head_have_it_once_with_a_rule():
    columns = (Column("Name", "a"), Column("low", "b", group="Range"), Column("high", "b", group="Range"))
    text = render(Table("x", "A", lambda _: frame([{"a": "1", "b": "2"}]), columns), sources_of_nothing())
    assert r" & \multicolumn{2}{c}{Range} \\" in text
    assert r"\cmidrule(lr){2-3}" + "\nName & low & high" in text


def test_a_status_takes_the_place_of_several_columns():
    text = made([{"a": "x", **spanning("out of memory_", "b", "c"), "d": "y"}], "a b c d")
    assert body(text) == [["x", r"\multicolumn{2}{c}{out of memory\_}", "y"]]


def test_a_long_table_continues_under_the_same_number():
    rows = [{"a": str(group), "b": str(row)} for group in range(3) for row in range(4)]
    text = made(rows, group_by="a", note="Below.", max_rows=6, study="tables")
    floats = text.split(r"\end{table*}")[:-1]
    assert [len(body(one)) for one in floats] == [4, 4, 4]
    assert text.count(r"\label{tab:x}") == text.count("Below.") == 1
    assert "Below." in floats[-1]
    assert [r"\addtocounter{table}{-1}" in one for one in floats] == [False, True, True]
    assert [r"\caption{A Table (continued)}" in one for one in floats] == [False, True, True]
    long = made([{"a": "one", "b": str(row)} for row in range(8)], group_by="a", max_rows=6)
    assert [len(body(one)) for one in long.split(r"\end{table*}")[:-1]] == [6, 2]


def test_the_note_explains_the_marks_of_the_table_and_ends_with_the_origin():
    rows = [{"a": Latex(formats.mark(verdicts.SLOWER)), "b": "x"}]
    note = made(rows, note="First.", study="tables").split(r"\scriptsize ")[-1].splitlines()[0]
    assert note == (
        r"First. $\blacktriangle$: slower than the baseline. "
        "From the reference: 2 accepted runs of this study, on 2 kinds of machine.}"
    )
    assert r"\parbox" not in made([{"a": "x", "b": "y"}])


def test_a_wide_table_spans_the_page_and_a_narrow_one_its_column():
    rows = [{"a": "x", "b": "y"}]
    assert made(rows).startswith(r"\begin{table*}")
    narrow = made(rows, wide=False)
    assert narrow.startswith(r"\begin{table}") and narrow.rstrip().endswith(r"\end{table}")


def test_every_table_renders_without_a_result(tmp_path):
    nothing = sources(tmp_path)
    texts = {table.name: render(table, nothing) for table in REGISTRY}
    assert len(texts) == len(REGISTRY)
    for name, text in texts.items():
        assert text.count(rf"\label{{tab:{name}}}") == 1
        assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") >= 1
        assert not re.search(r"\bnan\b|None", text), name
    assert "no result" in texts["split"]


def test_a_row_without_a_key_that_another_has_is_refused():
    assert list(frame([{"a": 1, "b": None}, {"a": 2, "b": 3}])["a"]) == [1, 2]
    with pytest.raises(ValueError, match=r"expected the keys a, b, got no b in {'a': 1}; fix: "):
        frame([{"a": 1}, {"a": 2, "b": 3}])


def test_a_column_that_no_row_has_is_refused(tmp_path):
    table = Table(
        "one", "One", lambda _: frame([{"a": 1}]), (Column("A", "a", "count"), Column("B", "b", "count"))
    )
    with pytest.raises(
        ValueError, match="table one: expected rows with b, which its columns show, got a; fix: "
    ):
        render(table, sources(tmp_path))


def test_the_step_writes_a_file_for_each_table(tmp_path, monkeypatch):
    monkeypatch.setattr("stackwars.publish.paper.tables.latency.runs.read", lambda: [])
    sources(tmp_path)
    write({**load(), "source": "reference"}, Folder(tmp_path))
    assert {path.stem for path in (tmp_path / "tables").glob("*.tex")} == set(BY_NAME)
