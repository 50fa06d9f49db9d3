"""A folder of results, and the command line that every step has."""

from __future__ import annotations

import json
import sys

import pytest

from stackwars.results import folder
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
    assert str(two["frame"]) == str(one["frame"]) == "made/frame.csv"
    assert (str(one["audits"]), str(two["audits"])) == ("made/audits.json", "measured/audits.json")
    assert one["published"].is_file()
    with pytest.raises(KeyError, match="fram"):
        one["fram"]


def test_faults_are_those_injected_here_or_else_the_committed(tmp_path):
    one, reference = Folder(tmp_path / "full"), tmp_path / "reference"
    both = Folder(tmp_path / "from-reference", reference)
    assert not one["faults"].exists() and not both["faults"].exists()
    reference.mkdir()
    (reference / "faults.json").touch()
    assert one["faults"] == both["faults"] == reference / "faults.json"
    (tmp_path / "faults.json").touch()
    assert one["faults"] == tmp_path / "faults.json"
    assert both["faults"] == reference / "faults.json"


def test_a_step_gets_the_configuration_and_the_folder(arguments):
    steps = []
    for more in ((), ("--measured", "elsewhere")):
        arguments(*more)
        folder.command(lambda config, made: steps.append((config["preset"], made)))
    assert [preset for preset, _ in steps] == ["smoke", "smoke"]
    assert [(str(f.results), str(f.measured)) for _, f in steps] == [
        *[("made", "made"), ("made", "elsewhere")]
    ]


def test_an_error_that_says_all_ends_the_command_and_another_one_is_raised(arguments):
    def step(config: dict, made: Folder) -> None:
        raise ValueError("compile it again")

    arguments()
    with pytest.raises(SystemExit, match="compile it again"):
        folder.command(step, ValueError)
    with pytest.raises(ValueError, match="compile it again"):
        folder.command(step, KeyError)
