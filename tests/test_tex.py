"""Whether this machine can typeset the paper."""

import os
from pathlib import Path

import pytest

from stackwars import tex

STYLES = (
    "IEEEtran.cls IEEEtran.bst booktabs.sty siunitx.sty listings.sty microtype.sty hyperref.sty"
)
COMMANDS = ("latexmk", "pdflatex", "bibtex", "kpsewhich")


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
    return install(**dict.fromkeys(COMMANDS[:3], "true"), kpsewhich=finding(styles))


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


def test_explanation_names_what_is_missing_and_the_line_that_installs_it():
    text = tex.explain(["latexmk", "siunitx.sty"])
    assert "missing: latexmk, siunitx.sty." in text
    assert f"apt-get install --no-install-recommends {tex.PACKAGES}" in text


def test_set_up_ends_with_an_error_where_it_cannot_install(machine, monkeypatch):
    machine(apt_get='echo called >> "$0.log"')
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit, match="missing: latexmk, pdflatex"):
        tex.main()
    assert not (Path(os.environ["PATH"]) / "apt-get.log").exists()


def test_set_up_ends_with_an_error_without_apt(machine, monkeypatch):
    machine()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(SystemExit, match="missing: latexmk, pdflatex"):
        tex.main()


def test_root_installs_what_is_missing(machine, monkeypatch):
    # An apt-get that writes down its arguments and brings the missing command.
    folder = complete(machine)
    (folder / "bin" / "latexmk").rename(folder / "latexmk")
    machine(
        apt_get=f'echo "$*" >> "$0.log"; [ "$2" = update ] || /bin/mv {folder}/latexmk {folder}/bin/'
    )
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    tex.main()
    update, install = (folder / "bin" / "apt-get.log").read_text().splitlines()
    assert update == "-qq update"
    assert install.endswith(f"--no-install-recommends {tex.PACKAGES}")


def test_set_up_does_nothing_where_all_is_there(machine, monkeypatch):
    folder = complete(machine)
    machine(apt_get='echo called >> "$0.log"')
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    tex.main()
    assert not (folder / "bin" / "apt-get.log").exists()
