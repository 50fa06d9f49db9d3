"""releases.csv and its figure: from the documents of programs in releases."""

from stackwars.paper.figures.of_compilers import draw_releases
from stackwars.results import releases, schema
from stackwars.results.raw import Raw

RELEASES = [
    {"version": "3", "status": "unsupported", "status_detail": "needs Python >=3.12", "ms": None, "ratio": None},
    {"version": "2", "status": "ok", "ms": 2.0, "ratio": {"value": 1.0, "low": None, "high": None}},
    {"version": "1", "status": "ok", "ms": 1.0, "ratio": {"value": 0.5, "low": 0.4, "high": 0.6}},
    {"version": "0", "status": "wrong", "status_detail": "1 of 3 elements wrong", "ms": None, "ratio": None},
]  # fmt: skip
CHANGES = [
    {"newer": "2", "older": "1", "kind": "slower", "detail": "", "ratio": [2.0, 1.8, 2.2], "between": 0},
    {"newer": "1", "older": "0", "kind": "fixed", "detail": "1 of 3", "ratio": None, "between": 0},
]


def document(**changes: object) -> dict:
    timed = {"compile_rounds_s": [1.0, 3.0]}
    rows = [{"status_detail": "", **(timed if row["ms"] else {}), **row} for row in RELEASES]
    names = {"project": "jaxlib", "workload": "mha", "framework": "jax", "stablehlo": "1.0.0", "reason": ""}
    return {**names, "releases": rows, "changes": CHANGES, **changes}


def table(**changes: object):
    return releases.build(Raw(releases=[document(**changes)]))


def test_a_row_has_the_outcome_the_time_and_the_change():
    frame = table().set_index("version")
    assert list(frame["status"]) == ["unsupported", "ok", "ok", "wrong"]
    assert frame.loc["2", "change"] == "slower" and frame.loc["2", "previous"] == "1"
    assert frame.loc["2", "change_low"] == 1.8 and frame.loc["1", "ratio"] == 0.5
    assert frame.loc["2", "compile_s"] == 2.0
    assert frame.loc["1", "change"] == "fixed" and frame.loc["0", "change"] == ""
    assert frame["title"].eq("MHA").all()


def test_a_document_of_schema_2_has_the_same_change():
    ratio = {"value": 2.0, "low": 1.8, "high": 2.2}
    frame = table(schema=2, changes=[CHANGES[0] | {"ratio": ratio}, CHANGES[1]])
    assert frame.equals(table())


def test_a_program_that_could_not_be_written_is_unsupported_everywhere():
    frame = table(reason="no StableHLO", changes=[])
    assert frame["status"].eq("unsupported").all() and frame["status_detail"].eq("no StableHLO").all()


def test_the_figure_has_a_line_for_each_program_oldest_release_first():
    frame = schema.table("releases", list(releases.rows(document())))
    axis = draw_releases(frame, "jaxlib").axes[0]
    lines = {line.get_label(): line for line in axis.get_lines()}
    assert list(lines["JAX"].get_ydata()) == [1.0, 0.5]
    assert [text.get_text() for text in axis.get_xticklabels()] == ["1", "2"]
    assert draw_releases(schema.empty("releases"), "jaxlib").axes
