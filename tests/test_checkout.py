"""Copies of this checkout for a test to work in."""

import subprocess
from pathlib import Path

import checkout


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_tree_without_history_in_another_checkout_is_copied_without_what_git_ignores(tmp_path, monkeypatch):
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / ".gitignore").write_text("*\n")
    first = checkout.copy_checkout(tmp_path / "first")
    for ignored in (".envs/big", "results/full/cells.csv", "paper.pdf"):
        (first / ignored).parent.mkdir(parents=True, exist_ok=True)
        (first / ignored).write_text("made here")
    monkeypatch.setattr(checkout, "REPOSITORY", first)
    second = checkout.copy_checkout(tmp_path / "second")
    assert files(first) - files(second) == {".envs/big", "results/full/cells.csv", "paper.pdf"}
    assert files(second) >= {"Snakefile", "Makefile", ".gitignore"}
