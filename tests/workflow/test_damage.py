"""What a kill or a full disk left of a result is named, kept and not taken for one."""

import gzip
import hashlib
import json

import numpy as np
import pytest

from stackwars.workflow import damage


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


def cut(path, share=0.5):
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    return path


def test_whole_results_are_left_alone(root):
    before = sorted(root.rglob("*"))
    assert damage.find(root) == {} and damage.quarantine(root) == []
    assert sorted(root.rglob("*")) == before


@pytest.mark.parametrize("name", ["cell.json", "stablehlo.mlir.gz", "output.npy"])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.99])
def test_file_that_breaks_off_is_named_and_kept_under_its_own_path(root, name, share):
    path = cut(root / "cpu" / "jax" / "gemm" / name, share)
    damaged = path.read_bytes()
    (line,) = damage.quarantine(root)
    aside = root / "damaged" / "cpu" / "jax" / "gemm" / name
    assert str(path) in line and str(aside) in line and "what needs it is measured again" in line
    assert not path.exists() and aside.read_bytes() == damaged
    assert damage.quarantine(root) == []


def test_second_damage_of_one_file_does_not_replace_the_first(root):
    path = root / "cpu" / "jax" / "gemm" / "cell.json"
    for content in ("first {", "second {"):
        path.write_text(content)
        damage.quarantine(root)
    kept = (root / "damaged" / "cpu" / "jax" / "gemm").glob("cell.json*")
    assert {file.read_text() for file in kept} == {"first {", "second {"}


def test_what_was_measured_goes_with_a_damaged_file_beside_it(root):
    cell = root / "cpu" / "jax" / "gemm"
    measured = (cell / "cell.json").read_bytes()
    cut(cell / "output.npy")
    (line,) = damage.quarantine(root)
    assert "output.npy, with what was made with it" in line
    # The rounds are of a job that is not done.
    assert [path.name for path in cell.iterdir()] == ["rounds"]
    assert (root / "damaged" / "cpu" / "jax" / "gemm" / "cell.json").read_bytes() == measured


def test_output_with_other_numbers_than_were_measured_is_damaged(root):
    cell = root / "cpu" / "jax" / "gemm"
    digest = hashlib.sha256((cell / "output.npy").read_bytes()).hexdigest()
    (cell / "cell.json").write_text(json.dumps({"output_sha256": digest}))
    assert damage.find(root) == {}
    np.save(cell / "output.npy", np.arange(100) + 1)
    assert "expected the digest" in damage.find(root)[cell / "output.npy"]


def test_links_are_named_and_not_those_of_a_process_at_work(root):
    (root / "cpu" / "jax" / "ffn").symlink_to(root / "cpu" / "jax" / "gemm")
    (root / "cpu" / "jax" / "gemm" / "rounds" / "cache").symlink_to(root)
    assert damage.links(root) == [root / "cpu" / "jax" / "ffn"]


def test_forms_go_as_a_whole(root):
    path = root / "cpu" / "jax" / "gemm" / "forms" / "jaxpr.txt.gz"
    path.parent.mkdir()
    (path.parent / "log.txt").write_text("one line\n")
    path.write_bytes(gzip.compress(b"a program" * 1000))
    cut(path)
    assert set(damage.find(root)) == {path.parent}
    damage.quarantine(root)
    assert not path.parent.exists()
    assert (root / "damaged" / path.parent.relative_to(root) / "log.txt").exists()


def test_empty_document_is_damaged_and_not_what_is_no_result(root):
    (root / "ahead" / "x" / "ahead.json").write_text("")
    # The output of a cell that failed, what is being written, and logs.
    (root / "cpu" / "jax" / "gemm" / "output.npy").write_bytes(b"")
    for name in ("cpu/jax/gemm/rounds/2.part/round.json", "logs/some.json"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("{")
    assert set(damage.find(root)) == {root / "ahead" / "x" / "ahead.json"}


def test_a_folder_above_the_results_is_never_quarantined(root):
    above = root.rename(root.with_name("forms"))
    path = cut(above / "cpu" / "jax" / "gemm" / "cell.json")
    assert set(damage.find(above)) == {path}


@pytest.mark.parametrize(("shares", "is_named"), [((0.05, 1e-5, 0.2), False), ((0.0, 0.6, 0.6), True)])
def test_cells_beside_which_other_programs_ran_are_named_with_what_to_do(tmp_path, shares, is_named):
    cell = tmp_path / "cpu" / "jax" / "gemm" / "cell.json"
    cell.parent.mkdir(parents=True)
    events = [{"event": "steady", "other_processes_share": share} for share in shares]
    cell.write_text(json.dumps({"processes": [{"events": events}]}))
    assert damage.disturbed(tmp_path) == ({cell: pytest.approx(0.4)} if is_named else {})
    text = damage.disturbed_text(tmp_path)
    assert text.endswith("run the same command again: cpu/jax/gemm") if is_named else text == ""
