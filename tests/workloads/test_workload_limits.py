"""Sizes that do not fit each other are refused before anything is made of them."""

import pytest

from stackwars import workloads
from workloads.sizes import SMALL

TOO_LONG = {**SMALL["attention_window"], "window": 17}
UNEVEN = {**SMALL["attention_window"], "window": 5}
REFUSED = [
    ("attention_window", TOO_LONG, r"window: expected at most the sequence, 16; got 17\."),
    ("attention_blocked", TOO_LONG, r"window: expected at most the sequence, 16; got 17\."),
    ("attention_blocked", UNEVEN, r"window: expected a divisor of the sequence, 16; got 5\."),
]


@pytest.mark.parametrize("what", [lambda w, s: w.inputs(s, 0), lambda w, s: w.parameters(s)])
@pytest.mark.parametrize(("name", "sizes", "message"), REFUSED)
def test_refused(name, sizes, message, what):
    with pytest.raises(ValueError, match=message):
        what(workloads.load(name), sizes)


@pytest.mark.parametrize("window", [1, 16])
@pytest.mark.parametrize("name", ["attention_window", "attention_blocked"])
def test_the_shortest_and_the_longest_window_are_taken(name, window):
    workloads.load(name).inputs({**SMALL[name], "window": window}, 0)


def test_windows_that_do_not_fill_the_sequence_are_no_problem_without_blocks():
    assert workloads.load("attention_window").problems(UNEVEN) == {}
