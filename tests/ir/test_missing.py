"""The line that stands where a program would."""

import pytest

from stackwars.ir.missing import line, missing


@pytest.mark.parametrize("why", ["oom: refused at build", "no such model"])
def test_reason_comes_back(why):
    assert missing(line(why)) == why


def test_reason_of_several_lines_is_cut_to_the_first():
    assert line("error: it stopped\nhere and there") == "// no program: error: it stopped\n"


def test_program_is_not_missing():
    assert missing("module @main {\n  // no program: a comment\n}") is None
