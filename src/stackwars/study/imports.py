"""Which files of this package a module imports, read from the source without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
PACKAGE = Path(__file__).resolve().parents[1].name


def imported_files(modules: list[str]) -> set[Path]:
    """Files of the named modules and of all modules of this package that they import, at any depth.

    Raises ModuleNotFoundError where a named module has no file.
    """
    return {file for module in modules for file in _reached(SOURCE, module)}


@cache
def _reached(source: Path, module: str) -> frozenset[Path]:
    if _file(module) is None:
        raise ModuleNotFoundError(f"expected a source file for the module {module} under {source}")
    result: set[Path] = set()
    waiting = [module]
    while waiting:
        file = _file(waiting.pop())
        if file is not None and file not in result:
            result.add(file)
            waiting.extend(_imports(file))
    return frozenset(result)


@cache
def sources(*modules: str) -> list[str]:
    """Return `imported_files` relative to the repository, sorted, as a rule names its inputs."""
    return sorted(str(file.relative_to(SOURCE.parent)) for file in imported_files(list(modules)))


@cache
def measured_sources(*modules: str) -> list[str]:
    """Return the named modules' files, and what they import of workloads and frameworks.

    These are inputs of the jobs that measure or compile. What else decides a result (the supervisor, the
    interleaving, the statistics of a process) is covered by the version of its kind of job.
    """
    named = {_file(module) for module in modules}
    shared = [SOURCE / PACKAGE / name for name in ("workloads", "frameworks")]
    result = {
        file
        for file in imported_files(list(modules))
        if file in named or any(file.is_relative_to(folder) for folder in shared)
    }
    return sorted(str(file.relative_to(SOURCE.parent)) for file in result)


def _file(module: str) -> Path | None:
    return _file_below(SOURCE, module)


@cache
def _file_below(source: Path, module: str) -> Path | None:
    path = source / Path(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


@cache
def _imports(file: Path) -> list[str]:
    return list(_names(ast.parse(file.read_text(), str(file)), file))


def _names(tree: ast.Module, file: Path) -> Iterator[str]:
    parts = file.relative_to(SOURCE).with_suffix("").parts
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith(PACKAGE))
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                # In a package's __init__ the file's own folder is already one level up.
                base = ".".join([*parts[: -node.level], *([base] if base else [])])
            if base.startswith(PACKAGE):
                yield base
                yield from (f"{base}.{alias.name}" for alias in node.names)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements, those in others too; unlike ast.walk, no expressions, of which there are far more."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        inner = (ast.stmt, ast.excepthandler, ast.match_case)
        waiting.extend(child for child in ast.iter_child_nodes(node) if isinstance(child, inner))
