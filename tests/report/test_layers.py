"""The stretches of a program that repeat."""

from stackwars.report.layers import repeats

LAYER = ["dot", "add", "tanh", None, "dot", "multiply", "reduce"]


def test_layers_are_found_between_what_stands_once():
    keys = ["gather", "add", *LAYER * 12, "dot"]
    assert repeats(keys) == [[2, len(LAYER), 12]]


def test_the_shortest_layer_is_the_layer():
    assert repeats([*"abcdefgh" * 4]) == [[0, 8, 4]]


def test_stages_of_several_layers_stand_apart():
    one, other = [f"a{number}" for number in range(8)], [f"b{number}" for number in range(6)]
    assert repeats([*one * 3, "between", *other * 4]) == [[0, 8, 3], [25, 6, 4]]


def test_what_is_short_or_stands_once_is_no_layer():
    assert repeats(["add", "add"] * 20) == []
    assert repeats([str(number) for number in range(50)]) == []
    assert repeats([]) == []
