"""Which releases are measured, in which rounds, which of them changed the program, and what the terminal shows."""

from collections.abc import Sequence

import pytest

from snapshots import assert_snapshot
from stackwars.core.outcome import Status
from stackwars.explain.releases import Release, Releases, ReleaseSettings, Search, digest_of_hlo, summarise
from stackwars.study.releases import console

VERSIONS = [str(number) for number in range(15, 0, -1)]
SETTINGS = ReleaseSettings(rounds=3)
LISTED = ["4", "3", "2", "1"]


class NoProcesses:
    """Milliseconds or a status of each version; every process takes a while longer."""

    def __init__(self, outcomes: dict[str, object]) -> None:
        self.outcomes = outcomes
        self.order: list[tuple[int, int, list[str]]] = []

    def check(self, version: str) -> Release:
        outcome = self.outcomes[version]
        return Release(version, Status(outcome) if isinstance(outcome, str) else Status.OK)

    def time(self, found: Sequence[Release], group: int, number: int) -> None:
        self.order.append((group, number, [release.version for release in found]))
        for release in found:
            outcome = self.outcomes[release.version]
            ms = 1.0 if isinstance(outcome, str) else outcome
            release.times.append((group, number, ms * (1 + 0.01 * number)))


def search(order: str, outcomes: dict[str, object]) -> tuple[Search, NoProcesses]:
    processes = NoProcesses({version: outcomes.get(version, outcomes["rest"]) for version in VERSIONS})
    result = Search(VERSIONS, SETTINGS, processes)
    result.run(order)
    summarise(list(result.releases.values()))
    return result, processes


def measured(found: Search) -> list[str]:
    return [one.version for one in found.releases.values() if one.status != "not run"]


def timed(version: str, ms: list[float], group: int = 1) -> Release:
    return Release(version, Status.OK, times=[(group, number, one) for number, one in enumerate(ms)])


def changed(newer: Release, older: Release):
    return Search(LISTED, SETTINGS, NoProcesses({})).change(newer, older)


# The search


@pytest.mark.parametrize("outcome", [2.0, "wrong", "crash"])
def test_bisection_finds_the_release_that_changed_and_leaves_most_out(outcome):
    found, _ = search("bisect", {version: outcome for version in VERSIONS if int(version) >= 7} | {"rest": 1.0})
    [change] = found.changes()
    kind = outcome if isinstance(outcome, str) else "slower"
    assert (change.newer, change.older, change.kind, change.between) == ("7", "6", kind, 0)
    assert len(measured(found)) < 9


def test_bisection_finds_what_came_and_went_between_equal_ends():
    slow = {version: 2.0 for version in VERSIONS if 4 <= int(version) <= 9}
    found, _ = search("bisect", slow | {"rest": 1.0})
    assert [(one.newer, one.kind) for one in found.changes()] == [("10", "faster"), ("4", "slower")]


def test_releases_at_the_ends_that_are_unsupported_are_passed_over():
    found, _ = search("bisect", {**dict.fromkeys(("15", "14", "1"), "unsupported"), "rest": 1.0})
    assert measured(found)[:3] == ["15", "14", "13"] and measured(found)[-2:] == ["2", "1"]
    assert not found.changes()
    assert measured(search("bisect", {"rest": "unsupported"})[0]) == VERSIONS


def test_all_measures_every_right_release_in_every_round_in_alternating_order():
    found, processes = search("all", {"rest": 1.0, "3": "crash", "5": "not judged"})
    right = [version for version in VERSIONS if version != "3"]
    assert measured(found) == VERSIONS
    assert [versions for _, _, versions in processes.order] == [right, right[::-1], right]
    assert ("3", "crash") in [(one.newer, one.kind) for one in found.changes()]


def test_the_ratio_is_to_the_newest_that_was_timed():
    table = search("all", {"rest": 1.0, "15": "unsupported", "1": 3.0})[0].releases
    assert table["15"].ratio is None
    assert table["1"].ratio.value == pytest.approx(3)
    assert table["1"].ms == pytest.approx(3.03, abs=0.01)
    # A release that is alone is its own measure.
    found, _ = search("all", {"rest": "unsupported", "5": 1.0})
    assert [(row.version, row.ratio.value) for row in found.releases.values() if row.ms] == [("5", 1)]


# Ratios and changes


def test_ratios_are_of_shared_rounds_in_which_drift_cancels_or_through_a_release_of_both_groups():
    drift = [1.0, 2.0, 4.0]
    found = [timed("2", drift), timed("1", [3 * one for one in drift])]
    summarise(found)
    assert (found[1].ratio.value, found[1].ratio.low, found[1].ratio.high) == pytest.approx((3, 3, 3))
    middle = Release("2", Status.OK, times=[(1, 0, 2.0), (1, 1, 2.2), (2, 0, 4.0), (2, 1, 4.4)])
    found = [timed("3", [1.0, 1.1], 1), middle, timed("1", [12.0, 13.2], 2)]
    summarise(found)
    assert [one.ratio.value for one in found] == pytest.approx([1, 2, 6])
    found = [timed("3", [1.0]), timed("2", [2.0], 2), Release("1", Status.WRONG, times=[(1, 0, 5.0)])]
    summarise(found)
    assert [one.ratio and one.ratio.value for one in found] == [1.0, None, None]


@pytest.mark.parametrize(
    ("ms", "kind"),
    [
        ([2.0, 2.02, 1.98], "slower"),
        ([0.5, 0.51, 0.49], "faster"),
        ([1.05, 1.06, 1.04], None),  # within the bound
        ([4.0, 0.9, 1.2], None),  # the interval holds 1
    ],
)
def test_a_slower_or_faster_release_is_beyond_the_interval_and_the_bound(ms, kind):
    change = changed(timed("2", ms), timed("1", [1.0, 1.01, 0.99]))
    assert (change and change.kind) == kind


def test_an_outcome_that_differs_is_a_change_and_so_is_its_repair():
    wrong = Release("3", Status.WRONG, "1 of 3 elements wrong")
    fixed, broken = changed(Release("4", Status.OK), wrong), changed(wrong, Release("1", Status.OK))
    assert (fixed.newer, fixed.older, fixed.kind) == ("4", "3", "fixed")
    assert (broken.newer, broken.older, broken.kind, broken.between) == ("3", "1", "wrong", 1)
    assert "one of 2 releases up to 3: wrong" in broken.sentence


def test_the_console_says_intervals_and_the_changes_that_they_do_not_exclude_and_those_that_were_found():
    rows = [timed("2", [1.0, 1.0, 1.0]), timed("1", [0.7, 1.5, 1.2])]
    summarise(rows)
    documents = [("all", "", rows, [])]
    for outcomes, reason in (({"15": 2.0}, ""), ({}, ""), ({}, "the program was not written")):
        found, _ = search("bisect", {"rest": 1.0, **outcomes})
        documents.append(("bisect", reason, list(found.releases.values()), found.changes()))
    texts = [
        console(Releases("p", "jaxlib", order, SETTINGS, "1.0.0", reason, rows, changes, "", 1.0))
        for order, reason, rows, changes in documents
    ]
    assert_snapshot("releases.txt", "\n\n".join(texts))


# Compiler or runtime

PRODUCT = """HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[3]{0})->f32[3]{0}}

%fused (p: f32[3]) -> f32[3] {
  %p = f32[3]{0} parameter(0)
  ROOT %multiply.1 = f32[3]{0} multiply(f32[3]{0} %p, f32[3]{0} %p), metadata={op_name="jit(f)/mul{x}" source_line=3}
}

ENTRY %main (x: f32[3]) -> f32[3] {
  %x = f32[3]{0} parameter(0), metadata={op_name="x"}
  ROOT %fusion = f32[3]{0} fusion(f32[3]{0} %x), kind=kLoop, calls=%fused, backend_config={"outer":["2"]}
}
"""
RENAMED = """HloModule main.7, is_scheduled=true

FileNames
1 "/tmp/f.py"

%fused_computation.3 (param_0.1: f32[3]) -> f32[3] {
  %param_0.1 = f32[3]{0} parameter(0)
  ROOT %mul.9 = f32[3]{0} multiply(%param_0.1, %param_0.1), metadata={op_name="mul" stack_frame_id=4}
}

ENTRY %entry (a: f32[3]) -> f32[3] {
  %a = f32[3]{0} parameter(0)
  ROOT %f = f32[3]{0} fusion(%a), kind=kLoop, calls=%fused_computation.3, backend_config={"outer":["2"]}
}
"""


def test_the_digest_of_a_program_has_neither_names_nor_metadata():
    assert digest_of_hlo(PRODUCT) == digest_of_hlo(RENAMED)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("multiply(%param_0.1, %param_0.1)", "add(%param_0.1, %param_0.1)"),
        ("f32[3]{0} fusion", "f32[3]{0:T(128)} fusion"),
        ('"outer":["2"]', '"outer":["1"]'),
        ("fusion(%a)", "fusion(%f)"),
        ("ROOT %f", "%f"),
    ],
)
def test_the_digest_of_another_program_is_another(old, new):
    assert old in RENAMED and digest_of_hlo(RENAMED.replace(old, new)) != digest_of_hlo(PRODUCT)


@pytest.mark.parametrize(
    ("newer", "older", "same", "end"),
    [
        ("a", "a", True, "the runtime or a kernel library differs"),
        ("b", "a", False, "the compiler may be the cause, or the runtime"),
        ("", "a", None, "slower"),
    ],
)
def test_a_slower_release_says_whether_the_compiler_or_the_runtime_differs(newer, older, same, end):
    slow, fast = timed("2", [2.0, 2.02, 1.98]), timed("1", [1.0, 1.01, 0.99])
    slow.hlo, fast.hlo = newer, older
    change = changed(slow, fast)
    assert change.sentence.startswith("2 takes 2.00 times as long as 1") and change.sentence.endswith(end)
    assert change.same_hlo is same and change.between == 0
