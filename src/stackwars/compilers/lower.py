"""A framework's StableHLO of one workload, made in the framework's environment without weights.

The program is the text that the framework's cell compiles; LLaMA 8B's takes seconds and 0.8 GiB.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import resource
import sys
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from unittest import mock

from stackwars.compilers import arguments
from stackwars.workloads import values


@dataclass(frozen=True)
class Job:
    """One program: a framework's, for a workload at these sizes.

    variant: `base`, or what distinguishes the sizes from the preset's; matmul_precision: as cells.
    """

    framework: str
    dialect: str
    workload: str
    variant: str
    sizes: dict[str, int]
    seed: int
    matmul_precision: str


def lower(job: Job) -> tuple[str, dict]:
    """(the program's text, the document for arguments.json)."""
    start = time.perf_counter()
    framework = import_module(f"stackwars.compilers.lower_{job.framework}")
    workload = import_module(f"stackwars.workloads.{job.workload}")
    dialect = import_module(f"stackwars.workloads.{job.workload}.in_{job.dialect}")
    stand_ins = {name: getattr(arguments, name) for name in ("leaf", "activations", "images")}
    with mock.patch.multiple(values, **stand_ins):
        inputs = workload.inputs(job.sizes, job.seed)
        text, used, unused = framework.lower(
            dialect.build, job.sizes, job.seed, inputs, job.matmul_precision
        )
    return text, {
        "schema": 1,
        "framework": job.framework,
        "workload": job.workload,
        "variant": job.variant,
        "sizes": job.sizes,
        "seed": job.seed,
        "matmul_precision": job.matmul_precision,
        "program_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "versions": framework.versions(),
        "lower_s": round(time.perf_counter() - start, 3),
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "unused": [entry.name for entry in unused],
        "arguments": arguments.dump(used),
    }


def main() -> None:
    """`python -m stackwars.compilers.lower --job JSON --output DIR`: program.mlir.gz, arguments.json."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--job", required=True, help="the Job, as JSON")
    parser.add_argument("--output", required=True, type=Path, help="folder to write into")
    a = parser.parse_args()
    text, document = lower(Job(**json.loads(a.job)))
    a.output.mkdir(parents=True, exist_ok=True)
    with gzip.GzipFile(a.output / "program.mlir.gz", "wb", mtime=0) as file:
        file.write(text.encode())
    (a.output / "arguments.json").write_text(json.dumps(document, indent=1) + "\n")
    sys.stdout.flush()
    sys.stderr.flush()
    # The frameworks' own teardown can crash after the work is done.
    os._exit(0)


if __name__ == "__main__":
    main()
