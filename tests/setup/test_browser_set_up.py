"""The browser of the tests: installed where that is possible, and nothing fails without it."""

import os
import subprocess

import pytest

from stackwars.setup import browser


@pytest.fixture
def without(tmp_path, monkeypatch):
    """A machine without a browser: its folder of commands."""
    commands = tmp_path / "bin"
    commands.mkdir()
    monkeypatch.setenv("PATH", str(commands))
    return commands


def put(commands, text):
    script = commands / "apt-get"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)


def test_root_installs_it(without, monkeypatch, capsys):
    made = without / browser.COMMAND
    put(
        without,
        f'case "$*" in *install*{browser.COMMAND}) echo "#!/bin/sh" >{made}; /bin/chmod +x {made};; esac',
    )
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    browser.main()
    assert subprocess.run([browser.COMMAND]).returncode == 0
    assert "warning" not in capsys.readouterr().err


@pytest.mark.parametrize("user", [0, 1000])
def test_where_it_cannot_be_installed_the_line_is_said_and_nothing_fails(user, without, monkeypatch, capsys):
    put(without, "echo E: no such package; exit 100")
    monkeypatch.setattr(os, "geteuid", lambda: user)
    browser.main()
    said = capsys.readouterr().err
    assert "apt-get install -y --no-install-recommends chromium" in said and "skipped" in said
