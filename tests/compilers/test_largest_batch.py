"""The search for the largest batch, with lowering and compiler played by functions whose edge is known."""

import json
from pathlib import Path
from unittest import mock

import pytest

from stackwars.compilers import ahead_supervisor, largest_batch, lowering

JOB = largest_batch.LargestBatchJob(
    workload="bert_base", framework="jax", dialect="jax", sizes={"batch": 2, "sequence": 64},
    seed=1, matmul_precision="highest", target="tpu-v6e", target_row={}, compiler="jaxlib-1",
    timeout_s=9, limit=6,
)  # fmt: skip
USABLE, WEIGHTS, EDGE = 1_000_000, 10_000, 99


def demand(batch: int) -> int:
    return WEIGHTS + batch * 10_000


def document(batch: int) -> dict:
    fits = demand(batch) <= USABLE
    return {
        "sizes": {"batch": batch}, "status": "ok", "verdict": "fits" if fits else "oom",
        "decided_by": "compiler", "hbm_bytes": demand(batch) - 50, "code_bytes": 50 if fits else None,
        "argument_bytes": WEIGHTS, "usable_bytes": USABLE, "compile_s": 1.0, "message": "",
        "program_sha256": "0",
    }  # fmt: skip


class Played:
    """Lowering and compiling, counted; after `patience` compilations, whoever asked is killed."""

    def __init__(self, patience: int = 100) -> None:
        self.lowered: list[dict] = []
        self.compiled: list[int] = []
        self.patience = patience

    def lower(self, sizes: dict[str, int], folder: Path) -> Path:
        assert sizes["sequence"] == 64
        self.lowered.append(sizes)
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / "program.mlir"
        program.write_text(f"module of {sizes['batch']}")
        return program

    def compile(self, job: ahead_supervisor.CompileJob, program: Path, folder: Path) -> dict:
        assert job.assumed_code_bytes == 50
        assert program.read_text() == f"module of {job.sizes['batch']}"
        if len(self.compiled) >= self.patience:
            raise KeyboardInterrupt
        self.compiled.append(job.sizes["batch"])
        found = document(job.sizes["batch"])
        folder.mkdir(parents=True)
        (folder / "ahead.json").write_text(json.dumps(found))
        return found


def find(tmp_path: Path, played: Played, **changed) -> dict:
    job = largest_batch.LargestBatchJob(**{**vars(JOB), **changed})
    return largest_batch.find(job, document(job.sizes["batch"]), tmp_path, played.lower, played.compile)


def test_the_edge_is_found_and_every_probe_told(tmp_path: Path) -> None:
    played = Played()
    found = find(tmp_path, played)
    assert (found["fits_batch"], found["oom_batch"]) == (EDGE, EDGE + 1)
    assert len(played.compiled) <= 6
    assert [probe["batch"] for probe in found["probes"]] == [2, *played.compiled]
    assert [probe["base"] for probe in found["probes"]] == [True] + [False] * len(played.compiled)
    assert {probe["verdict"] for probe in found["probes"]} == {"fits", "oom"}


def test_a_search_that_was_killed_goes_on(tmp_path: Path) -> None:
    killed = Played(patience=1)
    with pytest.raises(KeyboardInterrupt):
        find(tmp_path, killed)
    again = Played()
    found = find(tmp_path, again)
    assert found["oom_batch"] == EDGE + 1
    assert not set(killed.compiled) & set(again.compiled)
    assert len(found["probes"]) == 1 + len(killed.compiled) + len(again.compiled)


def test_a_program_that_cannot_be_lowered_is_a_probe(tmp_path: Path) -> None:
    played = Played()
    lower = played.lower

    def limited(sizes: dict[str, int], folder: Path) -> Path:
        if sizes["batch"] > 20:
            raise OSError("no memory for so many images")
        return lower(sizes, folder)

    played.lower = limited
    found = find(tmp_path, played)
    failed = [probe for probe in found["probes"] if probe["status"] == "error"]
    assert failed and all("so many images" in probe["message"] for probe in failed)
    assert 2 <= found["fits_batch"] <= 20
    assert found["oom_batch"] is None


def test_without_a_program_nothing_is_searched(tmp_path: Path) -> None:
    played = Played()
    nothing = {"status": "unsupported", "verdict": "", "hbm_bytes": None, "argument_bytes": None}
    base = document(2) | nothing | {"code_bytes": None}
    found = largest_batch.find(JOB, base, tmp_path, played.lower, played.compile)
    assert (found["fits_batch"], found["oom_batch"], played.compiled) == (0, None, [])


def test_a_program_that_cannot_be_lowered_leaves_one_short_line(tmp_path: Path) -> None:
    pins = tmp_path / "broken.txt"
    python = tmp_path / "python"
    trace = "echo 'File lower.py, line 1' >&2; echo 'MemoryError: no room' >&2"
    python.write_text(f"#!/bin/sh\n{trace}\nexit 1\n")
    python.chmod(0o755)
    job = {"framework": "jax", "dialect": "jax", "workload": "bert_base"}
    with (
        mock.patch.object(lowering, "ensure", lambda _: python),
        lowering.Lowering(pins, job, 9, 2**30) as lower,
        pytest.raises(OSError, match=r"^exit status 1 in lower; last line: MemoryError: no room$"),
    ):
        lower(JOB.sizes, tmp_path / "program")
