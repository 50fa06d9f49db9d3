"""Whether this machine can draw and typeset the paper."""

from pathlib import Path

import pytest

from stackwars.setup import tex

STYLES = "IEEEtran.cls IEEEtran.bst booktabs.sty siunitx.sty listings.sty microtype.sty hyperref.sty"
COMMANDS = ("latexmk", "pdflatex", "bibtex", "kpsewhich", "dot")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A function that makes the only commands there are: {name: shell script}."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()

    def install(**scripts: str) -> Path:
        for name, script in scripts.items():
            path = tmp_path / "bin" / name.replace("_", "-")
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o755)
        return tmp_path

    return install


def finding(names: str) -> str:
    """A kpsewhich that finds these files."""
    return "".join(f"echo /usr/share/texmf/{name}\n" for name in names.split())


def complete(install, styles: str = STYLES + " t1txtt.fd"):
    return install(**(dict.fromkeys(COMMANDS, "true") | {"kpsewhich": finding(styles)}))


def test_nothing_is_missing_where_all_is_there(machine):
    complete(machine)
    assert tex.missing() == []


def test_every_command_is_missing_on_an_empty_machine(machine):
    machine()
    assert tex.missing() == list(COMMANDS)


def test_style_that_is_not_found_is_missing(machine):
    complete(machine, STYLES.replace("siunitx.sty ", ""))
    assert tex.missing() == ["siunitx.sty", "t1txtt.fd"]


def test_command_and_style_are_missing_together(machine):
    folder = complete(machine, STYLES)
    (folder / "bin" / "bibtex").unlink()
    assert tex.missing() == ["bibtex", "t1txtt.fd"]


def test_only_what_a_run_makes_is_asked_for(machine):
    machine(dot="true")
    assert tex.missing(typeset=False) == []
    assert tex.missing() == list(COMMANDS[:-1])


def test_a_run_that_draws_needs_graphviz(machine):
    (complete(machine) / "bin" / "dot").unlink()
    assert tex.missing(typeset=False) == tex.missing() == ["dot"]
    assert tex.missing(draw=False) == []


def test_explanation_names_what_is_missing_and_the_line_that_installs_it():
    text = tex.explain(["latexmk", "siunitx.sty"])
    assert "missing: latexmk, siunitx.sty." in text
    assert f"apt-get install --no-install-recommends {tex.PACKAGES}" in text
