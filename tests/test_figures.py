"""Figures from synthetic results: vector, embedded TrueType, the same bytes again."""

from __future__ import annotations

import pytest

import paper_fixture
from stackwars.figures import write_figures
from stackwars.style import round_ticks

NAMES = ("stacks", "calls", "ratio", "memory", "split")


def figures_of(folder, output) -> dict[str, bytes]:
    write_figures(paper_fixture.files(folder), folder / output)
    return {name: (folder / output / f"{name}.pdf").read_bytes() for name in NAMES}


def test_the_same_results_give_the_same_bytes(tmp_path):
    paper_fixture.write(tmp_path)
    first = figures_of(tmp_path, "once")
    assert first == figures_of(tmp_path, "again")
    for pdf in first.values():
        assert b"/CreationDate" not in pdf
        assert b"/FontFile2" in pdf  # TrueType is embedded
        assert b"/Type3" not in pdf
        assert b"/Subtype /Image" not in pdf  # vector, not a bitmap


@pytest.mark.parametrize("variant", ["nothing", "single", "one_failed"])
def test_missing_results_still_give_every_figure(tmp_path, variant):
    paper_fixture.write(tmp_path, variant)
    assert all(pdf.startswith(b"%PDF") for pdf in figures_of(tmp_path, "out").values())


def test_ticks_are_round_and_few():
    assert round_ticks(0.7, 2.6, most=7) == pytest.approx([0.7, 1, 1.5, 2])
    assert round_ticks(1, 1000, most=5) == [1, 10, 100, 1000]
    assert len(round_ticks(70, 140, most=5)) >= 2
