"""Damaged results are found, and no others."""

import gzip
import hashlib
import json

import numpy as np
import pytest

from stackwars.study.workflow import damage


@pytest.fixture
def root(tmp_path):
    """Results of one cell, a compilation and a round of a cell that is not done; all whole."""
    cell = tmp_path / "cpu" / "jax" / "gemm"
    for folder in (cell, cell / "rounds" / "1", tmp_path / "ahead" / "x"):
        folder.mkdir(parents=True)
    (cell / "cell.json").write_text(json.dumps({"status": "ok", "samples": list(range(1000))}))
    (cell / "rounds" / "1" / "round.json").write_text('{"status": "ok"}')
    (cell / "stablehlo.mlir.gz").write_bytes(gzip.compress(b"module {}" * 1000))
    np.save(cell / "output.npy", np.arange(100))
    (tmp_path / "ahead" / "x" / "ahead.json").write_text("{}")
    return tmp_path


def test_whole_results_are_not_damaged(root):
    assert damage.find(root) == {}


@pytest.mark.parametrize("name", ["cell.json", "stablehlo.mlir.gz", "output.npy"])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.99])
def test_file_that_breaks_off_is_found(root, name, share):
    path = root / "cpu" / "jax" / "gemm" / name
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    assert set(damage.find(root)) == {path}


def test_output_with_other_numbers_than_were_measured_is_damaged(root):
    cell = root / "cpu" / "jax" / "gemm"
    digest = hashlib.sha256((cell / "output.npy").read_bytes()).hexdigest()
    (cell / "cell.json").write_text(json.dumps({"output_sha256": digest}))
    assert damage.find(root) == {}
    np.save(cell / "output.npy", np.arange(100) + 1)
    assert "the digest" in damage.find(root)[cell / "output.npy"]


def test_links_are_damage_and_not_those_of_a_process_at_work(root):
    (root / "cpu" / "jax" / "ffn").symlink_to(root / "cpu" / "jax" / "gemm")
    (root / "cpu" / "jax" / "gemm" / "rounds" / "cache").symlink_to(root)
    assert set(damage.find(root)) == {root / "cpu" / "jax" / "ffn"}


def test_empty_document_is_damaged_and_not_what_is_no_result(root):
    (root / "ahead" / "x" / "ahead.json").write_text("")
    # The output of a cell that failed, a round that is being written, logs, and what a user moved aside.
    (root / "cpu" / "jax" / "gemm" / "output.npy").write_bytes(b"")
    for name in ("cpu/jax/gemm/rounds/2.part/round.json", "logs/some.json", "damaged/cell.json"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("{")
    assert set(damage.find(root)) == {root / "ahead" / "x" / "ahead.json"}


@pytest.mark.parametrize(
    ("name", "shares", "named"),
    [
        ("cpu/jax/gemm/cell.json", (0.05, 1e-5, 0.2), ""),
        ("cpu/jax/gemm/cell.json", (0.0, 0.6, 0.6), "cpu/jax/gemm"),
        ("cpu/peak.json", (0.02,), ""),
        ("cpu/peak.json", (0.5,), "cpu/peak.json"),
    ],
)
def test_cells_and_peaks_beside_which_other_programs_ran_are_named_with_what_to_do(
    tmp_path, name, shares, named
):
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"events": [{"other_processes_share": share} for share in shares]}))
    text = damage.disturbed_text(tmp_path)
    assert text.endswith(f"again: {named}") if named else text == ""
