"""The largest batch of a model that fits a target, at the preset's sequence length.

A probe is compiled until its buffers are assigned, which decides what fits and takes seconds; code
generation would take minutes. The code, a part of a percent of the memory, is taken to be the base's.
Every compilation is kept beside the result until that is written, so that a search that was stopped
goes on where it was.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from stackwars.compilers import ahead_supervisor
from stackwars.compilers.ahead import program_text
from stackwars.compilers.batch_search import BatchSearch, Probe, search
from stackwars.measure import documents, launch
from stackwars.setup.environments import clean_environ, ensure

Lower = Callable[[str, str, dict[str, int], Path], Path]
"""(framework, workload, sizes, folder) -> the program's file, made in `folder`."""
Compile = Callable[[ahead_supervisor.CompileJob, Path, Path], dict]
"""(job, program, folder to write) -> the document of ahead.json."""
PROBE_TIMEOUT_S = 120.0
"""A probe ends when its buffers are assigned: in 7 s at most in the reference, or not within a quarter of an
hour (BERT-Base of TorchTPU at a batch of 19,870)."""
KEPT = (
    "status",
    "verdict",
    "decided_by",
    "hbm_bytes",
    "code_bytes",
    "wall_s",
    "compile_s",
    "message",
)


@dataclass(frozen=True)
class LargestBatchJob:
    """One search. sizes: the preset's, with a batch; limit: compilations at most, beside the base's.

    framework, dialect, seed, matmul_precision: what lowering needs; target_row, compiler, timeout_s:
    as in `ahead_supervisor.CompileJob`.
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
    """The document of largest_batch.json.

    base: ahead.json of the preset's own batch, which costs nothing here. scratch: keeps the probes,
    each in a folder named by its program's digest.
    """
    weights, code = base["argument_bytes"], base["code_bytes"] or 0
    known = BatchSearch(base["usable_bytes"], None if weights is None else weights + code)
    documents = [base]
    known.probes.append(_probe(base))

    def probe(batch: int) -> Probe:
        sizes = {**job.sizes, "batch": batch}
        document = _compiled(job, sizes, code, scratch, lower, compile_program)
        documents.append(document)
        return _probe(document)

    if base["status"] != "unsupported":
        search(known, job.limit, probe)
    return {
        "schema": 1,
        "workload": job.workload,
        "framework": job.framework,
        "target": job.target,
        "compiler": job.compiler,
        "sequence": job.sizes.get("sequence"),
        "fits_batch": known.fits,
        "oom_batch": known.oom,
        "limit": job.limit,
        "usable_bytes": base["usable_bytes"],
        "versions": base.get("versions", {}),
        "probes": [
            {"batch": d["sizes"]["batch"], **{key: d.get(key) for key in KEPT},
             "program_sha256": d.get("program_sha256"), "base": d is base}
            for d in documents
        ],
    }  # fmt: skip


def _probe(document: dict) -> Probe:
    demand = document["hbm_bytes"]
    if demand is not None:
        demand += document.get("code_bytes") or 0
    return Probe(document["sizes"]["batch"], document["verdict"], demand)


def _compiled(
    job: LargestBatchJob,
    sizes: dict[str, int],
    code: int,
    scratch: Path,
    lower: Lower,
    compile_program: Compile,
) -> dict:
    """Lower and compile at these sizes, or find what was compiled before the search was stopped."""
    variant = f"b{sizes['batch']}"
    try:
        program = lower(job.framework, job.workload, sizes, scratch / f"program-{variant}")
    except (OSError, subprocess.SubprocessError) as error:
        return {
            "sizes": sizes, "status": "error", "verdict": "", "decided_by": "", "hbm_bytes": None,
            "message": f"the program was not lowered: {error}",
        }  # fmt: skip
    digest = hashlib.sha256(program_text(program)).hexdigest()
    folder = scratch / f"compiled-{digest[:16]}"
    earlier = folder / "ahead.json"
    if earlier.exists():
        return documents.read(earlier)
    compilation = ahead_supervisor.CompileJob(
        job.workload, job.framework, variant, sizes,
        job.target, job.target_row, job.compiler, min(job.timeout_s, PROBE_TIMEOUT_S), code,
    )  # fmt: skip
    return compile_program(compilation, program, folder)


def lower_with(pins: Path, job: LargestBatchJob) -> Lower:
    """A Lower that asks one process of `stackwars.compilers.lower`, in the framework's environment.

    That process starts with the first program, imports the framework once, and dies with this one.
    """
    # To append: what a process wrote that has been told of is cut off.
    errors = tempfile.NamedTemporaryFile("a+b")  # noqa: SIM115
    served = (job.framework, job.dialect, job.workload)

    @cache
    def start() -> subprocess.Popen:
        return launch.start_child(
            ensure(pins), ["-m", "stackwars.compilers.lower", "--serve", *served],
            clean_environ({"TF_CPP_MIN_LOG_LEVEL": "2"}), ahead_supervisor.CAP_BYTES,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip

    def lower(framework: str, workload: str, sizes: dict[str, int], folder: Path) -> Path:
        one = {
            "framework": framework, "dialect": job.dialect, "workload": workload,
            "variant": f"b{sizes['batch']}", "sizes": sizes, "seed": job.seed,
            "matmul_precision": job.matmul_precision,
        }  # fmt: skip
        server = start()
        request = {"job": one, "output": str(folder.resolve()), "timeout_s": job.timeout_s}
        with contextlib.suppress(BrokenPipeError):  # then there is no answer either
            print(json.dumps(request), file=server.stdin, flush=True)
        status = server.stdout.readline().strip() or str(server.wait())
        lines = Path(errors.name).read_text().strip().splitlines()
        errors.truncate(0)
        if status != "0":
            # The last line names the error; those before it have a whole program's tensors in them.
            raise OSError(f"ended with {status}: {lines[-1][:300] if lines else 'no word'}")
        return folder / "program.mlir.gz"

    return lower


def main() -> None:
    """`python -m stackwars.compilers.largest_batch`: one framework's model on one target."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--job", required=True, help="file of the LargestBatchJob, as JSON")
    parser.add_argument("--pins", required=True, type=Path, help="pins file of the compiler")
    parser.add_argument("--lower-pins", required=True, type=Path, help="of the framework")
    parser.add_argument("--base", required=True, type=Path, help="ahead.json of the preset's sizes")
    parser.add_argument("--output", required=True, type=Path, help="file to write")
    arguments = parser.parse_args()
    job = LargestBatchJob(**documents.read(arguments.job))
    scratch = arguments.output.with_name(arguments.output.name + ".probes")
    scratch.mkdir(parents=True, exist_ok=True)

    def compile_program(compilation: ahead_supervisor.CompileJob, program: Path, folder: Path) -> dict:
        return ahead_supervisor.compile_into(compilation, arguments.pins, program, folder)

    base = documents.read(arguments.base)
    lower = lower_with(arguments.lower_pins, job)
    found = find(job, base, scratch, lower, compile_program)
    part = arguments.output.with_name(arguments.output.name + ".part")
    part.write_text(json.dumps(found, indent=1))
    part.replace(arguments.output)
    shutil.rmtree(scratch)
    said = f"{found['fits_batch']} fits, {found['oom_batch']} does not"
    print(
        f"[stackwars] largest batch of {job.framework} {job.workload}: {said}",
        file=sys.stderr,
        flush=True,
    )


if __name__ == "__main__":
    main()
