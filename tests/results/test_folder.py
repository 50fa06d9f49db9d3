"""A folder of results, and the command line that every step has."""

from __future__ import annotations

import json
import sys

import pytest

from stackwars.results import folder, schema
from stackwars.results.folder import Folder


@pytest.fixture
def arguments(tmp_path, monkeypatch):
    """A function that sets a step's arguments."""
    (tmp_path / "config.json").write_text(json.dumps({"preset": "smoke"}))

    def given(*more: str) -> None:
        argv = ["step", "--config", str(tmp_path / "config.json"), "--results", "made", *more]
        monkeypatch.setattr(sys, "argv", argv)

    return given


def test_files_have_one_name_and_measurements_may_lie_elsewhere():
    one, two = Folder("made"), Folder("made", "measured")
    assert str(two["cells"]) == str(one["cells"]) == "made/cells.csv"
    assert (str(one["audits"]), str(two["audits"])) == ("made/audits.json", "measured/audits.json")
    with pytest.raises(KeyError, match="cell"):
        one["cell"]


def test_the_names_of_the_tables_are_those_that_have_columns():
    assert tuple(schema.TABLES) == folder.TABLES


def test_a_step_gets_the_configuration_and_the_folder(arguments):
    steps = []
    for more in ((), ("--measured", "elsewhere")):
        arguments(*more)
        folder.command(lambda config, made: steps.append((config["preset"], made)))
    assert [preset for preset, _ in steps] == ["smoke", "smoke"]
    assert [(str(f.results), str(f.measured)) for _, f in steps] == [*[("made", "made"), ("made", "elsewhere")]]


def test_an_error_that_says_all_ends_the_command_and_another_one_is_raised(arguments):
    def step(config: dict, made: Folder) -> None:
        raise ValueError("compile it again")

    arguments()
    with pytest.raises(SystemExit, match="compile it again"):
        folder.command(step, ValueError)
    with pytest.raises(ValueError, match="compile it again"):
        folder.command(step, KeyError)
