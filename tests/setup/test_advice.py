"""What to do about a failure is found in its words; a refusal of the file system names file and operation."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from stackwars.setup import advice
from stackwars.setup.advice import advise


@pytest.mark.parametrize(
    ("words", "about"),
    [("OSError: [Errno 28] No space left on device", "disk"),
     ("libtpu==0.0.21 has no wheels with a matching Python ABI tag", "Python 3.11"),
     ("error: Request failed: tcp connect error", "network"),
     ("ImportError: libpython3.11.so.1.0: cannot open shared object file", "shared library"),
     ("! LaTeX Error: File `x.sty' not found.", "main.log"),
     ("stackwars.core.documents.Damaged: cell.json: expected a whole document", "what is damaged"),
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


REFUSED = """
import traceback
from advice import advise
try:
    {code}
except PermissionError:
    print(advise(traceback.format_exc()))
"""
PYTHON = shutil.which("python3", path="/usr/bin:/bin")
"""One that an ordinary user may run."""


@pytest.mark.skipif(PYTHON is None or os.geteuid() != 0, reason="only root can become an ordinary user")
@pytest.mark.parametrize(
    ("code", "operation"),
    [("import subprocess; subprocess.run(['{folder}/file'])", "file may not be executed"),
     ("open('{folder}/unreadable').read()", "unreadable may not be read"),
     ("open('{folder}/file', 'w')", "file may not be written"),
     ("open('{folder}/new', 'w')", "new may not be written"),
     ("open('{folder}/closed/file').read()", "closed/file cannot be reached")],
)  # fmt: skip
def test_what_an_ordinary_user_is_refused_is_told_apart(code, operation, tmp_path):
    for name, mode in (("file", 0o644), ("unreadable", 0o200), ("advice.py", 0o644)):
        (tmp_path / name).write_text(Path(advice.__file__).read_text())
        (tmp_path / name).chmod(mode)
    (tmp_path / "closed").mkdir(0o700)
    for folder in (tmp_path, *tmp_path.parents):
        if folder == Path(tempfile.gettempdir()):
            break
        folder.chmod(0o755)
    done = subprocess.run(
        [PYTHON, "-B", "-c", REFUSED.format(code=code.format(folder=tmp_path))],
        env={"PYTHONPATH": str(tmp_path)}, cwd="/", capture_output=True, text=True, user=65534, group=65534,
        extra_groups=[],
    )  # fmt: skip
    assert f"What to do: {tmp_path}/{operation}" in done.stdout, done


def test_a_log_with_advice_of_its_own_is_not_advised_again():
    own = f"{advice.LABEL}build your own with STACKWARS_ENVS=<folder>."
    assert advise(f"cannot be used: Permission denied: '/x/bin/python'\n{own}\n") == [own]
