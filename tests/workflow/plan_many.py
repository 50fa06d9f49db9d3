"""How long Snakemake plans a large study; nothing is measured.

    PYTHONPATH=src:tests .venv/bin/python tests/workflow/plan_many.py --cells 10000

The toy study of `study` with as many cells, of ten frameworks, and beside it the same number of jobs in a
Snakefile of two rules without code: what Snakemake itself takes. Prints the seconds of CPU and of the clock
of the fastest of some dry runs; a shared machine changes the latter more.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

import study
from checkout import OVERLAY

FRAMEWORKS = 10
BARE = """
CELLS = {cells}
rule all:
    input: expand("out/{{cell}}/cell.json", cell=range(CELLS))
rule cell:
    input: "source"
    output: "out/{{cell}}/cell.json"
    log: "log/{{cell}}/cell"
    shell: "measure {{output}}"
"""


def large(folder: Path, cells: int) -> None:
    """A toy study of so many cells: copies of `ours`, compared with it, and of GEMM."""
    frameworks = ["ours", *(f"ours_{number}" for number in range(1, FRAMEWORKS))]
    workloads = [f"gemm_{number}" for number in range(cells // FRAMEWORKS)]
    study.make(folder)
    source = folder / "src" / "stackwars"
    for name in frameworks[1:]:
        shutil.copy(source / "frameworks" / "ours.py", source / "frameworks" / f"{name}.py")
    for name in workloads:
        shutil.copy(source / "workloads" / "gemm.py", source / "workloads" / f"{name}.py")
    path = folder / "config" / "config.yaml"
    config = yaml.safe_load(path.read_text())
    config["frameworks"] = {name: {"environments": {"cpu": "ours"}} for name in frameworks}
    config["comparisons"] = [
        {"subject": name, "baseline": "ours", "compare": ["cells"]} for name in frameworks[1:]
    ]
    config |= {"workloads": workloads, "studies": {"tables": {"frameworks": frameworks}}}
    del config["growth"], config["sharding"], config["odd_sizes"]
    config |= {
        "device_workloads": {},
        "devices": ["cpu"],
        "settings": config["settings"] | study.SETTINGS,
    }
    config |= {
        "audits": {"frameworks": [], "replays": [], "workloads": [], "trials": {}},
        "aot_compilations": config["aot_compilations"][:1],
    }
    config["paper"] = {"listings": [], "graphs": []}
    sizes = dict.fromkeys(workloads, config["presets"]["full"]["sizes"]["gemm"])
    config["presets"] = {"full": {"measure": ["tables"], "sizes": sizes}}
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    (folder / OVERLAY).write_text("preset: full\n")


def bare(folder: Path, cells: int) -> None:
    """The same cells, of rules without code."""
    folder.mkdir()
    (folder / "source").touch()
    (folder / "Snakefile").write_text(BARE.format(cells=cells))


def planned(folder: Path, target: str) -> tuple[float, float, int]:
    """Seconds of CPU and of the clock that a dry run takes, and how many jobs it plans."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "snakemake", "-n", "--quiet", "rules", "--cores", "1"]
    command += ["--scheduler", "greedy", target]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": ""}, capture_output=True, text=True
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, study.planned(done.stdout + done.stderr)["total"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=3, help="dry runs, of which the fastest counts")
    parser.add_argument("--keep", type=Path, help="make the study here and leave it, to profile")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for name, make, target in (("study", large, "all"), ("bare", bare, "all")):
            folder = (a.keep or Path(scratch)) / name
            make(folder, a.cells)
            runs = [planned(folder, target) for _ in range(a.times)]
            cpu, wall, jobs = (min(column) for column in zip(*runs, strict=True))
            print(f"{name}: {jobs} jobs, {cpu:.1f} s of CPU, {wall:.1f} s", flush=True)


if __name__ == "__main__":
    main()
