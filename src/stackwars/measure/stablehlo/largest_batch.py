"""The largest batch of a model that fits a target, at the preset's sequence length.

A probe is compiled until its buffers are assigned, which decides what fits and takes seconds; code generation would
take minutes. The code, a fraction of a percent of the memory, is assumed to be as large as the base's. Compilations
stay on disk until the result is written, so that an interrupted search resumes.

Memory grows with the batch along an almost straight line, so each guess is the batch at which a line through known
points meets the usable memory. A guess stays inside the bracket of a batch that fits and one that does not; if no line
helps, the bracket is halved.
"""

from __future__ import annotations

import hashlib
import math
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from stackwars.core import documents, program_text
from stackwars.core.outcome import Failed
from stackwars.measure.stablehlo.ahead_supervisor import CAP_BYTES, FITS, OOM, CompileJob, compile_into
from stackwars.measure.stablehlo.lower import Lowering, LowerJob

Lower = Callable[[dict[str, int], Path], Path]
"""(sizes, folder) -> the program's file, made in `folder`."""
Compile = Callable[[CompileJob, Path, Path], dict]
"""(job, program, folder to write) -> the document of ahead.json."""
PROBE_TIMEOUT_S = 120.0
"""A probe ends when its buffers are assigned: in 7 s at most in the reference, or not within a quarter of an
hour (BERT-Base of TorchTPU at a batch of 19,870)."""
CLOSE = 0.02
"""The search ends once the bracket is at most this share of the batch that fits."""
LARGEST = 2**20
GROWTH = 4096
"""Until a batch does not fit, a guess is at most this many times the largest batch that does."""
COLUMNS = ("status", "verdict", "decided_by", "hbm_bytes", "code_bytes", "wall_s", "compile_s", "message")


@dataclass(frozen=True)
class Probe:
    """The outcome of compiling one batch. verdict: fits, oom, or empty if unknown; demand: bytes of memory that it
    needs, None if unknown."""

    batch: int
    verdict: str
    demand: int | None


@dataclass
class BatchSearch:
    """The state of the search. usable: bytes of memory; weights: bytes needed at every batch, None if unknown;
    probes: oldest first."""

    usable: int | None
    weights: int | None
    probes: list[Probe] = field(default_factory=list)

    @property
    def oom(self) -> int | None:
        """Return the smallest batch known not to fit, or None."""
        return min((p.batch for p in self.probes if p.verdict == OOM), default=None)

    @property
    def fits(self) -> int:
        """Return the largest batch known to fit below the smallest that does not, or 0."""
        below = self.oom or math.inf
        return max((p.batch for p in self.probes if p.verdict == FITS and p.batch < below), default=0)

    def guess(self) -> int | None:
        """Return the next batch to try; None if the bracket is closed, close, or cannot be narrowed."""
        low, high = self.fits, self._ceiling()
        if high - low <= 1 or (self.oom == high and high - low <= CLOSE * low):
            return None
        if self.probes and not self.probes[-1].verdict:
            return (low + high) // 2  # the last try has no verdict: go nearer to the batch that fits
        line = self._line()
        if self.oom is None:
            at = 2 * low if line is None else line
            return min(max(at, low + 1), GROWTH * low or 1, high - 1)
        if line is None or line >= high:
            return (low + high) // 2
        return max(line, low + 1)

    def _ceiling(self) -> int:
        """Return the exclusive limit of guesses: a batch that does not fit, or whose compilation has no verdict."""
        unknown = [p.batch for p in self.probes if not p.verdict and p.batch > self.fits]
        return min([LARGEST + 1, *unknown, *([self.oom] if self.oom else [])])

    def _line(self) -> int | None:
        """Return the batch at which a line through two known points meets `usable`, or None.

        The line has one point on each side if there are such points. After three tries in a row on one side it has
        the two nearest points, because the line across is then far from the curve.
        """
        if self.usable is None:
            return None
        points = {p.batch: p.demand for p in self.probes if p.demand is not None}
        if self.weights is not None:
            points.setdefault(0, self.weights)
        nearest = sorted(points.items(), key=lambda point: abs(point[1] - self.usable))
        below = [point for point in nearest if point[1] <= self.usable]
        above = [point for point in nearest if point[1] > self.usable]
        last = [p.verdict for p in self.probes[-3:]]
        across = below and above and not (len(last) == 3 and len(set(last)) == 1)
        chosen = [below[0], above[0]] if across else nearest[:2]
        if len(chosen) < 2:
            return None
        (x0, y0), (x1, y1) = chosen
        if (y1 - y0) * (x1 - x0) <= 0:
            return None
        return math.floor(x0 + (self.usable - y0) * (x1 - x0) / (y1 - y0))


def search(known: BatchSearch, limit: int, probe: Callable[[int], Probe]) -> BatchSearch:
    """Try batches until the edge is exact, the bracket is close, or `limit` tries were made."""
    for _ in range(limit):
        batch = known.guess()
        if batch is None:
            break
        known.probes.append(probe(batch))
    return known


@dataclass(frozen=True)
class LargestBatchJob:
    """One search. sizes: the preset's, with a batch; limit: most compilations besides the base's.

    framework, dialect, seed, matmul_precision: as in `lower.LowerJob`; target_row, compiler, timeout_s: as in a
    `CompileJob`.
    """

    workload: str
    framework: str
    dialect: str
    sizes: dict[str, int]
    seed: int
    matmul_precision: str
    target: str
    target_row: dict
    compiler: str
    timeout_s: float
    limit: int = 6


def find(job: LargestBatchJob, base: dict, scratch: Path, lower: Lower, compile_program: Compile) -> dict:
    """Return the document of largest_batch.json.

    base: ahead.json of the preset's own batch, the first probe. scratch: holds the other probes, each in a folder
    named by its program's digest.
    """
    weights, code = base["argument_bytes"], base["code_bytes"] or 0
    known = BatchSearch(base["usable_bytes"], None if weights is None else weights + code)
    results = [base]
    known.probes.append(_probe(base))

    def compiled(sizes: dict[str, int]) -> dict:
        """Lower and compile at these sizes, or read the result of an interrupted search."""
        variant = f"b{sizes['batch']}"
        try:
            program = lower(sizes, scratch / f"program-{variant}")
        except Failed as error:
            return {
                "sizes": sizes, "status": "error", "verdict": "", "decided_by": "", "hbm_bytes": None,
                "message": f"the program was not lowered: {error}",
            }  # fmt: skip
        digest = hashlib.sha256(program_text.read(program).encode()).hexdigest()
        folder = scratch / f"compiled-{digest[:16]}"
        if (earlier := folder / "ahead.json").exists():
            return documents.read(earlier)
        compilation = CompileJob(
            job.workload, job.framework, variant, sizes,
            job.target, job.target_row, job.compiler, min(job.timeout_s, PROBE_TIMEOUT_S), code,
        )  # fmt: skip
        return compile_program(compilation, program, folder)

    def probe(batch: int) -> Probe:
        results.append(compiled({**job.sizes, "batch": batch}))
        return _probe(results[-1])

    if base["status"] != "unsupported":
        search(known, job.limit, probe)
    return {
        "schema": 1,
        **{name: getattr(job, name) for name in ("workload", "framework", "target", "compiler")},
        "fits_batch": known.fits,
        "oom_batch": known.oom,
        "usable_bytes": base["usable_bytes"],
        "probes": [
            {"batch": d["sizes"]["batch"], **{key: d.get(key) for key in COLUMNS},
             "program_sha256": d.get("program_sha256"), "base": d is base}
            for d in results
        ],
    }  # fmt: skip


def _probe(document: dict) -> Probe:
    demand = document["hbm_bytes"]
    if demand is not None:
        demand += document.get("code_bytes") or 0
    return Probe(document["sizes"]["batch"], document["verdict"], demand)


def _search(job: LargestBatchJob, base: dict, pins: Path, lower_pins: Path, output: Path) -> dict:
    """Search with the compiler and the framework of these pins."""
    scratch = output.with_name(output.name + ".probes")
    scratch.mkdir(parents=True, exist_ok=True)

    def compile_program(compilation: CompileJob, program: Path, folder: Path) -> dict:
        return compile_into(compilation, pins, program, folder)

    lowered = LowerJob(
        job.framework, job.dialect, job.workload, "base", job.sizes, job.seed, job.matmul_precision
    )
    with Lowering(lower_pins, lowered, job.timeout_s, CAP_BYTES) as lower:
        result = find(job, base, scratch, lower, compile_program)
    documents.write(output, result)
    shutil.rmtree(scratch, ignore_errors=True)
    return result


def main() -> None:
    """Run `python -m stackwars.measure.stablehlo.largest_batch`: one framework's model on one target."""
    arguments = documents.parse_arguments(main.__doc__, "job", "pins", "lower_pins", "base", "output")
    job = documents.read_job(LargestBatchJob, arguments.job)
    base = documents.read(arguments.base)
    result = _search(job, base, arguments.pins, arguments.lower_pins, arguments.output)
    bracket = f"{result['fits_batch']} fits, {result['oom_batch']} does not"
    print(
        f"[stackwars] largest batch of {job.framework} {job.workload}: {bracket}", file=sys.stderr, flush=True
    )


if __name__ == "__main__":
    main()
