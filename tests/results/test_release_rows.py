"""releases.csv and its figure: from the documents of programs in releases."""

from dataclasses import asdict

from stackwars.core.outcome import Status
from stackwars.explain.answer import Interval
from stackwars.explain.releases import Change, Release, Releases, ReleaseSettings
from stackwars.publish.paper.figures.of_compilers import draw_releases
from stackwars.study.results import programs, schema
from stackwars.study.results.raw import Raw

RELEASES = [
    Release("3", Status.UNSUPPORTED, "needs Python >=3.12"),
    Release("2", Status.OK, ms=2.0, ratio=Interval(1.0, None, None), compile_rounds_s=[1.0, 3.0]),
    Release("1", Status.OK, ms=1.0, ratio=Interval(0.5, 0.4, 0.6)),
    Release("0", Status.WRONG, "1 of 3 elements wrong"),
]
CHANGES = [
    Change("2", "1", "slower", "", Interval(2.0, 1.8, 2.2), 0, ""),
    Change("1", "0", "fixed", "1 of 3", None, 0, ""),
]
KNOWN = Releases(
    "mha of jax", "jaxlib", "all", ReleaseSettings(), "1.0.0", "", RELEASES, CHANGES, "", 1.0, {}, {}, "jax", "mha",
)  # fmt: skip


def document(**changes: object) -> dict:
    return {**asdict(KNOWN), **changes}


def table(**changes: object):
    return programs.build_releases(Raw(releases=[document(**changes)]))


def test_a_row_has_the_outcome_the_time_and_the_change():
    frame = table().set_index("version")
    assert list(frame["status"]) == ["unsupported", "ok", "ok", "wrong"]
    assert frame.loc["2", "change"] == "slower" and frame.loc["2", "previous"] == "1"
    assert frame.loc["2", "change_low"] == 1.8 and frame.loc["1", "ratio"] == 0.5
    assert frame.loc["2", "compile_s"] == 2.0
    assert frame.loc["1", "change"] == "fixed" and frame.loc["0", "change"] == ""
    assert frame["title"].eq("MHA").all()


def test_a_document_of_schema_1_has_the_same_change():
    slower, fixed = document()["changes"]
    assert table(schema=1, changes=[slower | {"ratio": [2.0, 1.8, 2.2]}, fixed]).equals(table())


def test_a_program_that_could_not_be_written_is_unsupported_everywhere():
    frame = table(reason="no StableHLO", changes=[])
    assert frame["status"].eq("unsupported").all() and frame["status_detail"].eq("no StableHLO").all()


def test_the_figure_has_a_line_for_each_program_oldest_release_first():
    frame = table()
    axis = draw_releases(frame, "jaxlib").axes[0]
    lines = {line.get_label(): line for line in axis.get_lines()}
    assert list(lines["JAX"].get_ydata()) == [1.0, 0.5]
    assert [text.get_text() for text in axis.get_xticklabels()] == ["1", "2"]
    assert draw_releases(schema.empty("releases"), "jaxlib").axes
