"""The names that an anonymous bundle must not have, and the search for them in its files."""

from __future__ import annotations

import contextlib
import getpass
import inspect
import re
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType

from stackwars.core import machine
from stackwars.core.program import Program
from stackwars.core.types import read_npz
from stackwars.explain.answer import Answer

SHORT = 5
"""A name of at most so many letters is searched as a word; a longer one is found in longer words too."""
_SYNTAX = """module func public private main tensor dense array dims dim sizes init across dimensions applies cond
default high highest permutation return true false index token contracting batching precision comparator reducer"""
_WORD = re.compile(r"[^\W\d]\w*")
_NAMED = re.compile(r'[%@#!]([A-Za-z_][\w$.-]*)|"([^"\n]*)"|//(.*)')
_NO_NAME = re.compile(
    r"|v\d+|main|part|f\d+|(?:mhlo|stablehlo|chlo|func|builtin)(?:\.[\w.]+)?|lapack_\w+"
    r"|0x[0-9A-Fa-f]*|\w+\[[\d,]*\](?:\{[\d,]*\})?"
)
"""Matches what follows a sigil or stands in quotes in an anonymous program."""
_DIGITS = re.compile(r"0x[0-9a-f]+|[0-9a-f]{64}")


def names(answer: Answer, programs: Sequence[Program], folder: Path) -> set[str]:
    """Return words that tell where programs are from: their identifiers, files, source lines, this user and machine."""
    found = {socket.gethostname(), machine.node()}
    with contextlib.suppress(KeyError, OSError):  # a user without a name
        found.add(getpass.getuser())
    texts = [answer.name, answer.title, answer.command, *answer.programs.values(), *answer.sizes]
    for place in (Path.cwd(), Path.home(), folder.resolve(), Path(answer.inputs), Path(answer.workload)):
        found.update(place.parts)
        texts.append(str(place))
    for program in programs:
        texts += [program.label, program.file, *filter(None, set(program.sources))]
        if isinstance(program.text, str):
            texts += [" ".join(filter(None, match.groups())) for match in _NAMED.finditer(program.text)]
    found.update(word for text in texts for word in _WORD.findall(text))
    return {name.lower() for name in found if len(name) > 2}


def public_words(modules: Iterable[ModuleType], programs: str, *others: str) -> set[str]:
    """Return words that tell nothing: of this package's modules, of StableHLO's operations, and of other texts."""
    operations = re.findall(r"\b(?:stablehlo|chlo|mhlo)\.(\w+)", programs)
    text = " ".join([*map(inspect.getsource, modules), *operations, *others, _SYNTAX])
    return set(_WORD.findall(text.lower()))


def names_left(folder: Path, names: Iterable[str], public: Iterable[str]) -> str:
    """Return the first name that a file in a folder has, with the file; "" if none has one.

    public: words that are no names. Programs may have no identifiers, strings and comments but those that every
    anonymous one has, and .npz files numbers alone.
    """
    public = set(public)
    wanted = sorted(set(names) - public)
    for path in sorted(folder.iterdir()):
        if path.suffix == ".npz":
            for name, array in read_npz(path).items():
                if not re.fullmatch(r"(?:[ab]|at|right)\d+", name) or array.dtype.kind not in "biufc":
                    return f"{path.name}: {name}"
            continue
        text = path.read_text()
        for match in _NAMED.finditer(text) if path.suffix == ".mlir" else ():
            if not _NO_NAME.fullmatch(next(filter(None, match.groups()), "")):
                return f"{path.name}: {match[0]}"
        words = {word for word in re.findall(r"\w+", text.lower()) if not _DIGITS.fullmatch(word)} - public
        for name in wanted:
            if name.isidentifier():
                found = next(
                    (word for word in words if name == word or (len(name) > SHORT and name in word)), ""
                )
            else:
                found = name if name in text.lower() else ""
            if found:
                return f"{path.name}: {found}"
    return ""
