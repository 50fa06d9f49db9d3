"""What to do about a failure is found in its words; a refusal of the file system names file and operation."""

import os
import subprocess
import sys

import pytest

from stackwars.setup.advice import advise


@pytest.mark.parametrize(
    ("words", "about"),
    [("OSError: [Errno 28] No space left on device", "disk"),
     ("libtpu==0.0.21 has no wheels with a matching Python ABI tag", "Python 3.11"),
     ("error: Request failed: tcp connect error", "network"),
     ("ImportError: libpython3.11.so.1.0: cannot open shared object file", "shared library"),
     ("! LaTeX Error: File `x.sty' not found.", "main.log"),
     ("stackwars.measure.documents.Damaged: cell.json: expected a whole document", "set aside"),
     ("OSError: [Errno 30] Read-only file system: '/r/x.json'", "/r/x.json is on a read-only file system"),
     ("error: failed to create directory `/c/x`: Permission denied (os error 13)", "/c/x may not be written"),
     ("bash: line 1: logs/x.log: Permission denied", "logs/x.log may not be written"),
     ("bash: line 1: .venv/bin/python: Permission denied", ".venv/bin/python may not be executed"),
     ("cp: cannot create regular file 'a/b': Permission denied", "a/b may not be written"),
     ("it said Permission denied", "the file that the message names")],
)  # fmt: skip
def test_words_of_a_failure_are_known(words, about):
    (what,) = advise(words)
    assert what.startswith("What to do: ") and about in what


def test_unknown_words_are_no_advice():
    assert advise("ValueError: something else") == []


@pytest.mark.parametrize(
    ("code", "mode", "operation"),
    [("import subprocess; subprocess.run(['{}'])", 0o644, "executed"),
     ("open('{}').read()", 0o200, "read"),
     ("open('{}', 'w')", 0o444, "written"),
     ("open('{}/new', 'w')", None, "written")],
)  # fmt: skip
def test_real_refusals_are_told_apart(code, mode, operation, tmp_path, monkeypatch):
    """As an ordinary user, who has neither root's rights nor those of the file's owner."""
    path = tmp_path / "file"
    if mode is None:
        path.mkdir(0o555)
    else:
        path.write_text("text")
        path.chmod(mode)
    user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    for folder in [tmp_path, *tmp_path.parents][:3]:
        folder.chmod(0o755)
    done = subprocess.run(
        ["/usr/bin/env", "python3", "-c", code.format(path)] if user else [sys.executable, "-c", code.format(path)],
        capture_output=True, text=True, cwd="/", env={"PATH": "/usr/bin:/bin"}, **user,
    )  # fmt: skip
    assert "PermissionError" in done.stderr, done.stderr
    real = os.access
    readable = mode != 0o200
    monkeypatch.setattr(os, "access", lambda name, kind: real(name, kind) and (kind == os.F_OK or readable))
    (what,) = advise(done.stderr)
    assert f"{path}" in what and f"may not be {operation}" in what
