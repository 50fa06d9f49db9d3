#!/usr/bin/env python3
"""A stand-in for kubectl: `create` keeps the Job in a folder and runs its script here, as a pod would.

KUBECTL_JOBS: the folder. KUBECTL_FAILS: a part of a name; a Job with it is not run and has failed. It schedules
nothing: what a Job asks of its node is for the test to read.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import yaml

JOBS = Path(os.environ["KUBECTL_JOBS"])


def create() -> str:
    job = yaml.safe_load(sys.stdin)
    name = f"{job['metadata']['generateName']}{len(list(JOBS.glob('*.yaml'))):05d}"
    (JOBS / f"{name}.yaml").write_text(yaml.safe_dump(job))
    failing = os.environ.get("KUBECTL_FAILS")
    if failing and failing in name:
        (JOBS / f"{name}.end").write_text("Failed")
        return name
    container = job["spec"]["template"]["spec"]["containers"][0]
    ran = f'{" ".join(container["command"])} && end=Complete || end=Failed; printf $end >"{JOBS}/{name}.end"'
    subprocess.Popen(
        ["/bin/sh", "-c", ran], cwd=container["workingDir"], start_new_session=True,
        env={**os.environ, "STACKWARS_NODE": f"node-of-{name}"},
        stdin=subprocess.DEVNULL, stdout=(JOBS / f"{name}.log").open("w"), stderr=subprocess.STDOUT,
    )  # fmt: skip
    return name


def main() -> None:
    """create -f - -o name | get job.batch/<name> -o jsonpath=... | delete ..."""
    if sys.argv[1] == "create":
        print(f"job.batch/{create()}")
    elif sys.argv[1] == "get":
        name = sys.argv[2].removeprefix("job.batch/")
        if not (JOBS / f"{name}.yaml").exists():
            sys.exit(f'Error from server (NotFound): jobs.batch "{name}" not found')
        end = JOBS / f"{name}.end"
        print(end.read_text() if end.exists() else "")


if __name__ == "__main__":
    main()
