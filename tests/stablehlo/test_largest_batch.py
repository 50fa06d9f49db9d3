"""The search for the largest batch: against memories whose edge is known, with lowering and compiler played."""

import json
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.measure.stablehlo import ahead_supervisor, largest_batch
from stackwars.measure.stablehlo import lower as lowering
from stackwars.measure.stablehlo.largest_batch import CLOSE, LARGEST, BatchSearch, Probe, search

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
            raise Failed(Outcome(Status.OOM, "no memory for so many images"))
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
    job = lowering.LowerJob("jax", "jax", "bert_base", "base", JOB.sizes, 0, "highest")
    with (
        mock.patch.object(lowering, "ensure", lambda _: python),
        lowering.Lowering(pins, job, 9, 2**30) as lower,
        pytest.raises(Failed, match=r"^exit status 1 in lower; last line: MemoryError: no room$") as failed,
    ):
        lower(JOB.sizes, tmp_path / "program")
    assert failed.value.outcome.status is Status.OOM


USABLE_HBM = 33_546_043_392
WEIGHT_BYTES = 435_000_000


def run(demand: Callable[[int], int], limit: int, base: int = 2, told: bool = True) -> tuple[BatchSearch, int]:
    """(what the search found, its number of tries). told: whether a refusal tells its bytes."""
    tried: list[int] = []

    def of(batch: int) -> Probe:
        fits = demand(batch) <= USABLE_HBM
        return Probe(batch, "fits" if fits else "oom", demand(batch) if fits or told else None)

    def probe(batch: int) -> Probe:
        assert batch not in tried and batch != base, "a batch was compiled twice"
        assert batch >= 1
        tried.append(batch)
        return of(batch)

    known = BatchSearch(USABLE_HBM, WEIGHT_BYTES, [of(base)])
    return search(known, limit, probe), len(tried)


def edge(demand: Callable[[int], int]) -> int:
    """The largest batch that fits, by halving over all of them."""
    low, high = 0, LARGEST + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if demand(middle) <= USABLE_HBM else (low, middle)
    return low


def linear(batch: int) -> int:
    return WEIGHT_BYTES + 1_234_567 * batch


def stepped(batch: int) -> int:
    """Nothing up to what stays on chip, then a line with padding to eight."""
    return WEIGHT_BYTES + 200_000 * batch + (9_000_000 * -(-batch // 8) if batch > 16 else 0)


def quadratic(batch: int) -> int:
    return WEIGHT_BYTES + 100_000 * batch + 3_000 * batch**2


def jumping(batch: int) -> int:
    """A compiler that changes its mind half way to the edge."""
    return WEIGHT_BYTES + (1_000_000 if batch < 9000 else 2_500_000) * batch


@pytest.mark.parametrize("demand", [linear, stepped, quadratic, jumping])
def test_the_bracket_holds_the_edge(demand: Callable[[int], int]) -> None:
    for told in (True, False):
        for limit in range(1, 25):
            found, tries = run(demand, limit, told=told)
            assert tries <= limit
            assert found.fits <= edge(demand)
            assert found.oom is None or found.oom > edge(demand)
        assert found.oom - found.fits <= max(1, CLOSE * found.fits), (demand.__name__, told)


@pytest.mark.parametrize(
    ("demand", "limit", "base", "bracket"),
    [
        (linear, 3, 2, None),  # a line needs few tries
        (lambda batch: USABLE_HBM + batch, 6, 2, (0, 1)),
        (lambda batch: WEIGHT_BYTES + 10**10 * batch, 6, 8, (3, 4)),
        (lambda batch: WEIGHT_BYTES, 30, 2, (LARGEST, None)),
    ],
    ids=["a line", "never fits", "fits below the base", "always fits"],
)
def test_the_bracket_is_exact(demand, limit, base, bracket) -> None:
    found, _ = run(demand, limit, base)
    assert (found.fits, found.oom) == (bracket or (edge(demand), edge(demand) + 1))


@pytest.mark.parametrize(("demand", "limit"), [(stepped, 4), (jumping, 6), (quadratic, 8)])
def test_other_memories_need_few_more(demand: Callable[[int], int], limit: int) -> None:
    found, _ = run(demand, limit)
    assert found.oom - found.fits <= max(1, CLOSE * found.fits)


def test_a_compilation_that_tells_nothing_is_not_repeated() -> None:
    """The compiler dies from 700 on: the search stays below."""
    tried = []

    def probe(batch: int) -> Probe:
        assert batch not in tried
        tried.append(batch)
        return Probe(batch, "", None) if batch >= 700 else Probe(batch, "fits", linear(batch))

    known = search(BatchSearch(USABLE_HBM, WEIGHT_BYTES, [Probe(2, "fits", linear(2))]), 30, probe)
    assert (known.fits, known.oom) == (699, None)


def test_a_base_that_told_nothing() -> None:
    known = search(BatchSearch(None, None, [Probe(2, "", None)]), 5, lambda batch: Probe(batch, "fits", 5))
    assert (known.fits, known.oom) == (1, None)
