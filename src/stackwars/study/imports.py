"""Which files of this package a module imports, read from the source without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
PACKAGE = Path(__file__).resolve().parents[1].name


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
            waiting.extend(_imports(file))
    return result


@cache
def sources(*modules: str) -> list[str]:
    """Return `imported_files` relative to the repository, sorted, as a rule names its inputs."""
    return sorted(str(file.relative_to(SOURCE.parent)) for file in imported_files(*modules))


@cache
def measured_sources(*modules: str) -> list[str]:
    """Return the named modules' files, and what they import of workloads and frameworks.

    These are inputs of the jobs that measure or compile. What else decides a result (the supervisor, the
    interleaving, the statistics of a process) is covered by the version of its kind of job.
    """
    named = {str(_file(SOURCE, module).relative_to(SOURCE.parent)) for module in modules}
    shared = tuple(f"{SOURCE.name}/{PACKAGE}/{room}/" for room in ("workloads", "frameworks"))
    return [file for file in sources(*modules) if file in named or file.startswith(shared)]


@cache
def _file(source: Path, module: str) -> Path | None:
    path = source / Path(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@cache
def _imports(file: Path) -> list[str]:
    """Return what a file imports of this package, in functions too; no import is relative, as ruff checks."""
    result = []
    for node in _statements(ast.parse(file.read_text(), str(file))):
        if isinstance(node, ast.Import):
            result += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            result += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [name for name in result if name.startswith(PACKAGE)]


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements, those in others too; unlike ast.walk, no expressions, of which there are far more."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        inner = (ast.stmt, ast.excepthandler, ast.match_case)
        waiting.extend(child for child in ast.iter_child_nodes(node) if isinstance(child, inner))
