"""A mirror that fails for a moment does not fail a test; another error is told at once."""

import pytest

import machine

SCRIPT = """#!/bin/sh
echo try >>{tries}
[ "$(wc -l <{tries})" -ge {good} ] && exit 0
echo "E: {words}"
exit 1
"""


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Run `bootstrap` with a stand-in for debootstrap that works from its `good`-th try on."""
    tries = tmp_path / "tries"

    def run(good: int, words: str) -> None:
        script = tmp_path / "debootstrap"
        script.write_text(SCRIPT.format(tries=tries, good=good, words=words))
        script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        monkeypatch.setattr(machine, "ISOLATED", ())
        monkeypatch.setattr(machine, "WAIT_S", 0)
        monkeypatch.setattr(machine, "mirror", lambda release: "none")
        machine.bootstrap("bookworm", tmp_path / "tree")

    run.tries = lambda: len(tries.read_text().splitlines())
    return run


def test_a_failed_download_is_tried_again(make):
    make(3, "Couldn't download packages: libpam-runtime")
    assert make.tries() == 3


def test_a_mirror_that_stays_away_is_told(make):
    with pytest.raises(RuntimeError, match="Couldn't download packages: libpam-runtime"):
        make(99, "Couldn't download packages: libpam-runtime")
    assert make.tries() == machine.TRIES


def test_another_error_is_not_tried_again(make):
    with pytest.raises(RuntimeError, match="No such script"):
        make(99, "No such script: bookworm")
    assert make.tries() == 1
