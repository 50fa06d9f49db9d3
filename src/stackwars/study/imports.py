"""Files of this package that a module imports, and what they mean, read from the source without running it."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parents[2]
PACKAGE = Path(__file__).resolve().parents[1].name
SHOWN = frozenset({"TITLE", "COLOUR", "VARIANT", "NOTE", "TABLE", "ORDER"})
"""Attributes of workloads and frameworks that tables, figures and the report read, and no measurement."""


def imported_files(*modules: str) -> set[Path]:
    """Return the files of the named modules and of all modules of this package that they import, at any depth.

    Raises ModuleNotFoundError where a named module has no file.
    """
    for module in modules:
        if _file(SOURCE, module) is None:
            raise ModuleNotFoundError(f"expected a source file for the module {module} under {SOURCE}")
    result: set[Path] = set()
    waiting = list(modules)
    while waiting:
        file = _file(SOURCE, waiting.pop())
        if file is not None and file not in result:
            result.add(file)
            waiting.extend(_read(file).imports)
    return result


@cache
def sources(*modules: str) -> list[str]:
    """Return `imported_files` relative to the repository, sorted, as a rule names its inputs."""
    return sorted(str(file.relative_to(SOURCE.parent)) for file in imported_files(*modules))


@cache
def measured_sources(*modules: str) -> list[str]:
    """Return the named modules' files, and what they import of workloads and frameworks.

    Jobs that measure or compile depend on the meaning of these files. What else decides a result (the supervisor, the
    interleaving, the statistics of a process) is covered by the version of its kind of job.
    """
    named = {str(_file(SOURCE, module).relative_to(SOURCE.parent)) for module in modules}
    shared = tuple(f"{SOURCE.name}/{PACKAGE}/{room}/" for room in ("measure/workloads", "measure/frameworks"))
    return [file for file in sources(*modules) if file in named or file.startswith(shared)]


def digest(files: Iterable[str], is_shown: bool = False) -> str:
    """Return a digest of what files mean, by their paths relative to the repository.

    A Python file means its syntax tree without docstrings, which has no comments; any other file its bytes. Another
    minor version of Python writes other trees. is_shown: whether attributes of SHOWN count; they do where the file
    itself reads them.
    """
    result = hashlib.sha256()
    for name in sorted(files):
        result.update(f"{name}\n{_meaning(SOURCE.parent / name, is_shown)}\n".encode())
    return result.hexdigest()[:16]


def _meaning(file: Path, is_shown: bool) -> str:
    if file.suffix != ".py":
        return hashlib.sha256(file.read_bytes()).hexdigest()
    source = _read(file)
    return source.shown if is_shown else source.measured


class _Source(NamedTuple):
    """A Python file's imports from this package, and digests of its meaning, with and without texts that are shown."""

    imports: list[str]
    shown: str
    measured: str


@cache
def _read(file: Path) -> _Source:
    tree = ast.parse(file.read_text(), str(file))  # once: parsing takes most of the time before a run starts
    imports = _imports(tree)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    hidden = SHOWN - {node.id for node in names if isinstance(node.ctx, ast.Load)}
    shown = measured = _digest(_Meaning(frozenset()).visit(tree))
    if hidden & {node.id for node in names}:
        measured = _digest(_Meaning(hidden).visit(tree))
    return _Source(imports, shown, measured)


def _digest(tree: ast.AST) -> str:
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


class _Meaning(ast.NodeTransformer):
    """Removes texts that stand alone (docstrings of functions and of attributes) and assignments to names."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """Remove the names also from `TITLE, SIZES = ...`."""
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = list(zip(target.elts, node.value.elts, strict=False))
            left = [(name, value) for name, value in pairs if not self._is_removed(name)]
            if left == pairs:  # `first, *others = ...` too
                return node
            target.elts, node.value.elts = ([pair[place] for pair in left] for place in (0, 1))
            return node if left else None
        return None if self._is_removed(target) else node

    def _is_removed(self, target: ast.AST) -> bool:
        return isinstance(target, ast.Name) and target.id in self._names


@cache
def _file(source: Path, module: str) -> Path | None:
    path = source / Path(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def _imports(tree: ast.Module) -> list[str]:
    """Return what a file imports of this package, in functions too; no import is relative, as ruff checks."""
    result = []
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            result += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            result += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [name for name in result if name.startswith(PACKAGE)]


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield all statements, nested ones too; unlike ast.walk, no expressions, which are far more."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        inner = (ast.stmt, ast.excepthandler, ast.match_case)
        waiting.extend(child for child in ast.iter_child_nodes(node) if isinstance(child, inner))
