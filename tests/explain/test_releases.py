"""Which releases are measured, in which rounds, and what the document says."""

import pytest

from stackwars.explain.release_times import Release
from stackwars.explain.releases import ReleasesJob, Search, console, rows, spread

VERSIONS = [str(number) for number in range(15, 0, -1)]


class Made:
    """A runner without processes: milliseconds or a status of each version; every process takes a while longer."""

    def __init__(self, **outcomes: object) -> None:
        self.outcomes = {name.removeprefix("v"): outcome for name, outcome in outcomes.items()}
        self.order: list[tuple[int, int, str]] = []

    def probe(self, version: str) -> Release:
        outcome = self.outcomes[version]
        return Release(version, outcome if isinstance(outcome, str) else "ok")

    def time(self, release: Release, group: int, number: int) -> None:
        self.order.append((group, number, release.version))
        release.times[group, number] = self.outcomes[release.version] * (1 + 0.01 * number)


def search(order: str, ms: dict[str, object]) -> tuple[Search, Made]:
    runner = Made(**{f"v{version}": ms.get(version, ms["rest"]) for version in VERSIONS})
    settings = {"rounds": 3, "bound": 0.1}
    result = Search(ReleasesJob("p", "jaxlib", VERSIONS, "p.mlir", "pins", settings, order), runner)
    result.run()
    return result, runner


def measured(found: Search) -> list[str]:
    return [one.version for one in found.releases.values() if one.status != "not run"]


def test_bisection_finds_the_release_that_made_it_slower_and_leaves_most_out():
    ms = {version: 2.0 if int(version) >= 7 else 1.0 for version in VERSIONS} | {"rest": 0}
    found, _ = search("bisect", ms)
    [change] = found.changes()
    assert (change.newer, change.older, change.kind, change.between) == ("7", "6", "slower", 0)
    assert len(measured(found)) < 9


def test_bisection_finds_what_came_and_went_between_equal_ends():
    ms = {version: 2.0 if 4 <= int(version) <= 9 else 1.0 for version in VERSIONS} | {"rest": 0}
    found, _ = search("bisect", ms)
    assert [(one.newer, one.kind) for one in found.changes()] == [("10", "faster"), ("4", "slower")]


def test_bisection_finds_the_release_that_made_it_wrong_or_crash():
    ms = {version: "wrong" if int(version) >= 12 else 1.0 for version in VERSIONS} | {"rest": 0}
    found, _ = search("bisect", ms)
    [change] = found.changes()
    assert (change.newer, change.older, change.kind) == ("12", "11", "wrong")


def test_releases_at_the_ends_that_are_unsupported_are_passed_over():
    found, _ = search("bisect", {"15": "unsupported", "14": "unsupported", "1": "unsupported", "rest": 1.0})
    assert measured(found)[:3] == ["15", "14", "13"] and measured(found)[-2:] == ["2", "1"]
    assert not found.changes()


def test_all_measures_every_right_release_in_every_round_in_alternating_order():
    found, runner = search("all", {"rest": 1.0, "3": "crash"})
    right = [version for version in VERSIONS if version != "3"]
    assert measured(found) == VERSIONS
    rounds = [[version for _, number, version in runner.order if number == n] for n in range(3)]
    assert rounds == [right, right[::-1], right]
    assert [(one.newer, one.kind) for one in found.changes()] == [("4", "fixed"), ("3", "crash")]


def test_the_release_that_is_alone_is_timed_and_is_its_own_measure():
    found, _ = search("all", {"rest": "unsupported", "5": 1.0})
    [row] = [row for row in rows(list(found.releases.values())) if row["ms"]]
    assert row["version"] == "5" and row["ratio"]["value"] == 1


def test_rows_have_the_ratio_to_the_newest_that_was_timed():
    found, _ = search("all", {"rest": 1.0, "15": "unsupported", "1": 3.0})
    table = {row["version"]: row for row in rows(list(found.releases.values()))}
    assert table["15"]["ratio"] is None
    assert table["1"]["ratio"]["value"] == pytest.approx(3)
    assert table["1"]["ms"] == pytest.approx(3.03, abs=0.01)


def test_a_release_without_shared_rounds_or_with_a_wrong_value_has_no_ratio():
    timed = [Release(name, "ok", times={(group, 0): 1.0 + group}) for group, name in enumerate(("3", "2"))]
    found = rows([*timed, Release("1", "wrong", times={(0, 0): 5.0})])
    assert [row["ratio"] and row["ratio"]["value"] for row in found] == [1.0, None, None]


def test_spread_has_the_ends_and_equal_distances():
    assert spread(VERSIONS, "15", "1") == ["15", "10", "6", "1"]
    assert spread(VERSIONS, "15", "14") == ["15", "14"]


def test_the_console_says_the_change_or_that_there_is_none():
    found, _ = search("bisect", {"rest": 1.0})
    document = {"label": "p", "project": "jaxlib", "stablehlo": "1.0.0", "reason": "", "changes": []}
    text = console(document | {"releases": rows(list(found.releases.values()))})
    assert "no change among 4 releases" in text and "not run" in text
    refused = console(document | {"reason": "the program was not written", "releases": []})
    assert refused.splitlines()[-1] == "the program was not written"
