"""The closure of a module's imports within the package, read from the source."""

import re
from pathlib import Path

import pytest

from stackwars.study import imports
from stackwars.study.imports import imported_files


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A function that writes a package `pkg` from {file: text} and gives the closure of modules."""
    monkeypatch.setattr(imports, "SOURCE", tmp_path)
    monkeypatch.setattr(imports, "PACKAGE", "pkg")

    def closure(files: dict[str, str], *modules: str) -> set[str]:
        for name, text in files.items():
            path = tmp_path / "pkg" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        found = imported_files(*modules)
        return {str(path.relative_to(tmp_path / "pkg")) for path in found}

    return closure


BASE = {"__init__.py": "", "a.py": "", "b.py": "", "sub/__init__.py": "", "sub/c.py": ""}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import pkg.b", {"b.py"}),
        ("import pkg.sub.c as c", {"sub/c.py"}),
        ("from pkg.b import name", {"b.py"}),
        ("from pkg import b", {"__init__.py", "b.py"}),
        ("from pkg.sub import c", {"sub/__init__.py", "sub/c.py"}),
        ("def late():\n    from pkg import b", {"__init__.py", "b.py"}),
        ("import json, numpy\nfrom os import path", set()),
        ("# import pkg.b\ntext = 'import pkg.b'", set()),
    ],
)
def test_import_is_found(package, text, found):
    assert package({**BASE, "a.py": text}, "pkg.a") == {"a.py"} | found


def test_imports_are_followed_to_any_depth_and_round_a_circle(package):
    files = {**BASE, "a.py": "import pkg.b", "b.py": "import pkg.sub.c", "sub/c.py": "import pkg.a"}
    assert package(files, "pkg.a") == {"a.py", "b.py", "sub/c.py"}


def test_missing_module_is_an_error(package):
    with pytest.raises(ModuleNotFoundError, match=r"source file for the module pkg\.gone under"):
        package(BASE, "pkg.a", "pkg.gone")


def test_real_package_is_followed():
    found = imported_files("stackwars.measure.cell")
    names = {path.relative_to(Path(imports.__file__).parents[1]).as_posix() for path in found}
    assert {"measure/cell.py", "measure/rounds.py", "core/program_text.py"} <= names
    assert "measure/child.py" not in names


@pytest.mark.parametrize("module", ["paper.listings", "report.programs", "results.program_forms"])
def test_what_runs_in_a_framework_s_environment_imports_no_pandas(module):
    files = imported_files(f"stackwars.{module}")
    assert not [file for file in files if re.search(r"^(import|from) pandas", file.read_text(), re.MULTILINE)]
