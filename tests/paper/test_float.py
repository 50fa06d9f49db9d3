"""The formats of the paper's tables, and how rows become a float."""

import re

import pytest

from stackwars.publish.paper.latex import escape, series
from stackwars.publish.paper.tables import table as tables
from stackwars.publish.paper.tables.table import Column, Range, Ratio, Table, frame, render
from stackwars.study.config import load
from stackwars.study.results import verdicts
from stackwars.study.results.dataset import Dataset, Sources
from table_fixture import NAN, RUN


def made(rows: list[dict], columns: str | tuple[Column, ...] = "a b", **options: object) -> str:
    """Return a table of these rows, with columns or with text columns of these names."""
    if isinstance(columns, str):
        columns = tuple(Column(name, name) for name in columns.split())
    reference = Dataset(load(), "nowhere", is_reference=True)
    reference.__dict__["context"] = {"runs": [RUN, {**RUN, "machine": "two"}]}
    table = Table("x", "A Table", lambda _: frame(rows), columns, **options)
    return render(table, Sources(reference, reference, []))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("ms", 1736.4, "1736"),
        ("ms", 0.45401, "0.4540"),
        ("range", Range(28.12, 31.9), "28.1--31.9"),
        ("range", Range(1.0, 2.0, (tables.UNGATED,)), r"1.00--2.00$^{\dagger}$"),
        (
            "ratio",
            Ratio(1.412, 1.27, 1.571, verdicts.SLOWER),
            r"1.41\makebox[1.1em]{$\blacktriangle$}[1.27, 1.57]",
        ),
        ("ratio", Ratio(1.0, 3e-8, 7.1e8), r"1.00[$<$0.001, $>$100,000]"),
        ("ratio", Ratio(0.5, verdict=verdicts.NO_INTERVAL), r"0.500\makebox[1.1em]{}"),
        ("percent", -0.131, r"$-$13\,\%"),
        ("ms", "", ""),
    ],
)
def test_a_value_is_shown_in_its_format(name, value, expected):
    cell = tables.shown(name, value)
    assert cell.number + cell.text == expected


def test_texts_are_escaped_and_lists_are_words():
    assert escape("50 % of a_b \u2265 1 \u00d7 \U0001f4a9") == r"50 \% of a\_b $\geq$ 1 \texttimes{} U+1F4A9"
    assert escape("--config") == "-{}-config"
    assert series(["a", "b", "c"]) == "a, b and c"
    assert series(["a, x", "b"]) == "a, x; and b"
    assert series(["a (1, 2)", "b (3, 4)"]) == "a (1, 2) and b (3, 4)"
    for missing in (None, NAN):
        with pytest.raises(ValueError, match="expected a value to print"):
            escape(missing)


def test_numbers_of_a_column_are_aligned_at_the_decimal_point():
    text = made([{"a": 12345.0}, {"a": 0.5}, {"a": -2.0}], (Column("a", "a", "number"),))
    assert text.split(r"\midrule")[1].splitlines()[1:4] == [
        r"12,345\rlap{}\hphantom{.500} \\",
        r"\hphantom{12,345}\llap{0}.500 \\",
        r"\hphantom{12,345}\llap{\textminus{}2}\rlap{.00}\hphantom{.500} \\",
    ]


def test_a_long_table_continues_under_the_same_number():
    rows = [{"a": str(group), "b": str(row)} for group in range(3) for row in range(4)]
    text = made(rows, group_by="a", note="Below.", max_rows=6, study="tables")
    floats = text.split(r"\end{table*}")[:-1]

    def count(text: str) -> int:
        return len(re.findall(r"(?m) & \d+ \\\\$", text))

    assert list(map(count, floats)) == [4, 4, 4]
    assert text.count(r"\label{tab:x}") == text.count("Below.") == 1
    assert "Below." in floats[-1]
    assert [r"\addtocounter{table}{-1}" in one for one in floats] == [False, True, True]
    assert [r"\caption{A Table (continued)}" in one for one in floats] == [False, True, True]
    long = made([{"a": "one", "b": str(row)} for row in range(8)], group_by="a", max_rows=6)
    assert list(map(count, long.split(r"\end{table*}")[:-1])) == [6, 2]


def test_a_row_or_a_column_that_lacks_a_key_is_refused():
    assert list(frame([{"a": 1, "b": None}, {"a": 2, "b": 3}])["a"]) == [1, 2]
    with pytest.raises(ValueError, match=r"expected the keys a, b, got no b in {'a': 1}; fix: "):
        frame([{"a": 1}, {"a": 2, "b": 3}])
    with pytest.raises(ValueError, match="table x: expected rows with b, which its columns show, got a; fix: "):
        made([{"a": 1}], "a b")


def test_a_row_has_a_line_for_each_kind_of_machine_the_fastest_first():
    slow, fast = (f"A CPU, 2 cores, {low} to {high} GFLOP/s" for low, high in ((64, 91), (362, 512)))
    on_both = Ratio(2.0, kinds={slow: Ratio(2.0), fast: Ratio(3.0)})
    rows = frame([
        {"group": "g", "name": "a_b", "steady": on_both, "first": Ratio(1.5, kinds={slow: Ratio(1.5)}), "n": 7},
        {"group": "g", "name": "c", "steady": Ratio(4.0, kinds={slow: Ratio(4.0)}), "first": None, "n": 8},
        {"group": "h", "name": "d", "steady": None, "first": None, "n": 9},
    ])  # fmt: skip
    found = tables.by_kind(rows, list(rows.columns), "group")
    assert list(found["name"]) == [r"a\_b A", r"a\_b B", "c B", "d"] and list(found["group"]) == [
        "g",
        "g",
        "g",
        "h",
    ]
    assert list(found["steady"]) == [Ratio(3.0), Ratio(2.0), Ratio(4.0), None]
    assert list(found["first"])[:2] == ["", Ratio(1.5)], "the fast kind has none"
    assert list(found["n"]) == [7, "", 8, 9]
    assert "A: 362 to 512 GFLOP/s; B: 64 to 91 GFLOP/s" in found.attrs["note"]
    between = "A CPU, 2 cores, 128 to 181 GFLOP/s"
    known = tables.by_kind(rows, list(rows.columns), "group", [between, slow])
    assert list(known["name"])[:2] == [r"a\_b A", r"a\_b C"], "another table has the letter B"
    alone = frame([{"name": "c", "steady": Ratio(4.0, kinds={slow: Ratio(4.0)})}])
    assert tables.by_kind(alone, ["name", "steady"]) is alone
