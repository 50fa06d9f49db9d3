"""The closure of a module's imports within the package, read from the source."""

import re

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


FRAMEWORK = '''"""A framework."""
TITLE, DIALECT = "One", "jax"
COLOUR = "#14213d"

class Session:
    """Its use."""
    LIMIT = 3
    """Of calls."""
    def call(self, which):
        """Start a call."""
        return which + 1  # the next
'''


@pytest.mark.parametrize(
    ("old", "new", "is_same", "is_same_if_shown"),
    [
        ("A framework.", "Another.", True, True),
        ("Start a call.", "Begin a call.", True, True),
        ('    """Of calls."""\n', "", True, True),
        ("  # the next", "", True, True),
        ("which + 1", "(which\\n            + 1)", True, True),
        ("#14213d", "#14213e", True, False),
        ('"One"', '"Two"', True, False),
        ('"jax"', '"torch"', False, False),
        ("which + 1", "which + 2", False, False),
        ("LIMIT = 3", "LIMIT = 4", False, False),
        # What the file itself reads decides what it does.
        ("return which", "return TITLE", False, False),
    ],
)
def test_digest_follows_the_meaning_of_a_file(tmp_path, old, new, is_same, is_same_if_shown):
    assert FRAMEWORK.count(old) == 1
    (tmp_path / "a.py").write_text(FRAMEWORK)
    (tmp_path / "b.py").write_text(FRAMEWORK.replace(old, new.replace("\\n", "\n")))
    for is_shown, expected in ((False, is_same), (True, is_same_if_shown)):
        one, other = (imports._meaning(tmp_path / name, is_shown) for name in ("a.py", "b.py"))
        assert (one == other) == expected


def test_a_title_that_the_file_reads_is_part_of_its_meaning(tmp_path):
    texts = {name: f'TITLE = "{name}"\nprint(TITLE)\n' for name in ("a", "b")}
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    assert imports._meaning(tmp_path / "a.py", False) != imports._meaning(tmp_path / "b.py", False)


def test_digest_of_a_file_that_is_no_python_follows_its_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(imports, "SOURCE", tmp_path / "src")
    seen = set()
    for number, text in enumerate(("a: 1", "a: 2", "# a: 2")):
        (tmp_path / f"{number}.txt").write_text(text)
        seen.add(imports._meaning(tmp_path / f"{number}.txt", False))
    assert len(seen) == 3
    assert imports.digest(["0.txt", "1.txt"]) == imports.digest(["1.txt", "0.txt"]) != imports.digest(["0.txt"])


@pytest.mark.parametrize("module", ["core.ir.__main__", "core.worker", "measure.child", "study.audits.mutant"])
def test_modules_of_a_framework_s_environment_import_nothing_that_it_lacks(module):
    absent = re.compile(r"^(import|from) (pandas|pydantic|snakemake)", re.MULTILINE)
    assert not [file for file in imported_files(f"stackwars.{module}") if absent.search(file.read_text())]
