"""The colours of marks, in the report and in the figures."""

import itertools

import pytest

from stackwars.measure import frameworks
from stackwars.publish.paper.figures.style import LOOKS
from stackwars.publish.report.raw import COLOURS

FRAMEWORKS = {name: frameworks.load(name).COLOUR for name in frameworks.names()}
FIGURES = {look["marker"]: look["color"] for look in LOOKS}
LEAST = 3
"""Contrast of a mark with white (WCAG 1.4.11)."""
APART = 40
"""Distance of two colours, of 442 between black and white."""


def channels(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def contrast(colour: str) -> float:
    parts = [value / 255 for value in channels(colour)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return 1.05 / (sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True)) + 0.05)


@pytest.mark.parametrize("colour", [*FRAMEWORKS.values(), *COLOURS.values(), *FIGURES.values()])
def test_a_mark_stands_out_on_white(colour):
    assert contrast(colour) >= LEAST


@pytest.mark.parametrize("palette", [FRAMEWORKS, COLOURS, FIGURES])
def test_no_two_share_a_colour(palette):
    assert len(FIGURES) == len(LOOKS)  # they differ in shape too
    for (one, left), (other, right) in itertools.combinations(palette.items(), 2):
        distance = sum((a - b) ** 2 for a, b in zip(channels(left), channels(right), strict=True)) ** 0.5
        assert distance > APART, f"{one} and {other} look alike; fix: choose another COLOUR"
