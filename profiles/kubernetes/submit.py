"""Create the Kubernetes Job of one job of the workflow; prints its name, as Snakemake expects of it."""

from __future__ import annotations

import argparse
import re
import subprocess
from pathlib import Path

from jinja2 import Environment, StrictUndefined

TEMPLATE = Path(__file__).with_name("job.yaml.j2")


def job(name: str, pool: str, alone: bool, cores: int, memory: str, script: str, folder: str) -> str:
    """The Job as YAML. name: of the rule or group; script: what the pod runs; folder: the checkout."""
    # A name of Kubernetes has 63 characters, ten of them for what makes it unique.
    name = re.sub("[^a-z0-9]+", "-", f"stackwars-{name}".lower())[:50].strip("-")
    template = Environment(undefined=StrictUndefined).from_string(TEMPLATE.read_text())
    return template.render(
        name=name, pool=pool, alone=alone, cores=cores, memory=memory, script=script, folder=folder
    )


def main() -> None:
    """Read what Snakemake says of the job from the command line."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--name", required=True)
    parser.add_argument("--pool", required=True)
    parser.add_argument("--alone", type=int, required=True, help="more than 0 for what is timed")
    parser.add_argument("--cores", type=int, required=True)
    parser.add_argument("--memory", required=True)
    parser.add_argument("script")
    asked = parser.parse_args()
    spec = job(
        asked.name,
        asked.pool,
        asked.alone > 0,
        asked.cores,
        asked.memory,
        asked.script,
        str(Path.cwd()),
    )
    command = ["kubectl", "create", "-f", "-", "-o", "name"]
    subprocess.run(command, input=spec, text=True, check=True)


if __name__ == "__main__":
    main()
