"""Which programs outside Python a machine has: TeX, Graphviz, a C++ compiler."""

import sysconfig

import pytest

from stackwars.setup import tools

STYLES = "IEEEtran.cls IEEEtran.bst booktabs.sty siunitx.sty listings.sty microtype.sty hyperref.sty t1txtt.fd"
COMMANDS = ("latexmk", "pdflatex", "bibtex", "kpsewhich", "dot")


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that installs the only commands of a machine: TeX with some styles, and Graphviz."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()

    def install(styles: str = STYLES, commands: tuple[str, ...] = COMMANDS) -> None:
        listed = "".join(f"echo /usr/share/texmf/{name}\n" for name in styles.split())
        for name in commands:
            path = tmp_path / "bin" / name
            path.write_text(f"#!/bin/sh\n{listed if name == 'kpsewhich' else 'true'}\n")
            path.chmod(0o755)

    return install


@pytest.mark.parametrize(
    ("styles", "commands", "wanted", "missing"),
    [
        (STYLES, COMMANDS, {}, []),
        ("", (), {}, list(COMMANDS)),
        ("", (), {"draw": False}, list(COMMANDS[:-1])),
        (STYLES.replace("siunitx.sty ", ""), COMMANDS[:2] + COMMANDS[3:], {}, ["bibtex", "siunitx.sty"]),
        ("", ("dot",), {"typeset": False}, []),  # a run that only draws
    ],
)
def test_commands_and_styles_are_missing_by_name(install, styles, commands, wanted, missing):
    install(styles, commands)
    assert tools.missing_for_paper(**wanted) == missing


def test_compiler_and_header_are_missing_by_name(monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", "a-compiler-nobody-has")
    monkeypatch.setattr(sysconfig, "get_path", lambda name, scheme: str(tmp_path))
    assert tools.missing_for_inductor() == ["the C++ compiler a-compiler-nobody-has", f"{tmp_path}/Python.h"]
    (tmp_path / "Python.h").touch()
    assert tools.missing_for_inductor() == ["the C++ compiler a-compiler-nobody-has"]


def test_compiler_is_that_of_the_environment_or_gcc(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    assert tools.cxx_compiler() == "g++"
    script = tmp_path / "c++"
    script.write_text("#!/bin/sh\necho 12.2.0\n")
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    assert (tools.cxx_compiler(), tools.cxx_version()) == (str(script), "12.2.0")
