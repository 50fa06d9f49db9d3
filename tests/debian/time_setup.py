"""Times set-up from a bare Debian by part, and measures its disk by part: with an empty download cache and a full one.

python3 tests/debian/time_setup.py [--command "make paper"]: needs root, debootstrap and a quiet machine. The parts
are those of envs/container.sh; the command runs after it in the first tree, and its log stays in results/debian.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[2] / "src"))

from machine import Debian, available, bootstrap, remove
from stackwars.core.launch import REPOSITORY

CHECKOUT = "/srv/stackwars"
CACHE = "root/.cache"
STAMP = """while IFS= read -r line; do printf '%s %s\\n' "$EPOCHREALTIME" "$line"; done"""
PACKAGES = "packages of Debian"
"""The part that the script begins with."""
BEGINS = {
    "harness": re.compile(r"\[set-up\] building the harness environment"),
    "environment {}": re.compile(r"\[environment\] building (\S+)-\w+ from"),
}
"""The line of the output that begins each later part."""


@dataclass
class Timed:
    """One tree: seconds and megabytes by part, in order."""

    cache: str
    seconds: dict[str, float] = field(default_factory=dict)
    megabytes: dict[str, float] = field(default_factory=dict)


def split_output(output: str, start: float, end: float) -> dict[str, float]:
    """Return the seconds of each part from the stamped lines of the script's output."""
    begins = [(start, PACKAGES)]
    for line in output.splitlines():
        stamp, _, text = line.partition(" ")
        for name, pattern in BEGINS.items():
            if found := pattern.match(text):
                begins.append((float(stamp), name.format(*found.groups())))
    ends = [begin for begin, _ in begins[1:]] + [end]
    return {name: until - begin for (begin, name), until in zip(begins, ends, strict=True)}


def used_megabytes(*folders: Path) -> list[float]:
    """Return the disk that each folder takes beyond those before it: a file with two names counts once."""
    done = subprocess.run(
        ["du", "--summarize", "--one-file-system", "--block-size=1", *map(str, folders)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    sizes = {line.split("\t")[1]: int(line.split("\t")[0]) / 1e6 for line in done.stdout.splitlines()}
    return [sizes.get(str(folder), 0.0) for folder in folders]


def set_up(debian: Debian, timed: Timed, log: Path) -> None:
    """Run envs/container.sh in a tree without any of its packages; fill in the parts.

    :raises RuntimeError: with the last lines of the script, if it fails.
    """
    debian.checkout(CHECKOUT)
    checkout = debian.folder / CHECKOUT.lstrip("/")
    (timed.megabytes["checkout"],) = used_megabytes(checkout)
    start = time.time()
    done = debian.run(f"set -o pipefail; {CHECKOUT}/envs/container.sh 2>&1 | {STAMP}", log=log, timeout=7200)
    timed.seconds |= split_output(done.stdout, start, time.time())
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-15:])
        raise RuntimeError(f"expected envs/container.sh to set up {debian.release}, got:\n{tail}")
    environments = sorted(path for path in (checkout / ".envs").iterdir() if path.is_dir())
    named = {"harness": checkout / ".venv"}
    named |= {f"environment {path.name.rpartition('-')[0]}": path for path in environments}
    named["download cache, beyond files linked from it"] = debian.folder / CACHE
    everything = sum(used_megabytes(*named.values(), debian.folder))
    timed.megabytes |= dict(zip(named, used_megabytes(*named.values()), strict=True))
    timed.megabytes[PACKAGES] = everything - sum(timed.megabytes.values())


def run_after(debian: Debian, timed: Timed, command: str, log: Path) -> None:
    """Run a command in the checkout of a tree that is set up; fill in its time and disk.

    :raises RuntimeError: if it fails.
    """
    (before,) = used_megabytes(debian.folder)
    start = time.time()
    done = debian.run(f"cd {CHECKOUT} && {command}", log=log, timeout=4 * 3600)
    timed.seconds[command] = time.time() - start
    timed.megabytes[command] = used_megabytes(debian.folder)[0] - before
    if done.returncode != 0:
        raise RuntimeError(f"expected `{command}` to succeed, got {done.returncode}; its log is {log}")


def time_both(arguments: argparse.Namespace, trees: Path) -> list[Timed]:
    """Set up a tree with an empty download cache, then another with the cache of the first."""
    log = arguments.logs / "time-setup.log"
    log.unlink(missing_ok=True)
    start = time.time()
    bootstrap(arguments.release, trees / "pristine", ())
    debootstrap_s = time.time() - start
    (debootstrap_mb,) = used_megabytes(trees / "pristine")
    runs = []
    for cache in ("empty", "full"):
        timed = Timed(cache, {"debootstrap": debootstrap_s}, {"debootstrap": debootstrap_mb})
        with Debian(trees / cache, arguments.release, trees / "pristine") as debian:
            kept = trees / "cache"
            if kept.exists():
                kept.rename(debian.folder / CACHE)
            set_up(debian, timed, log)
            if arguments.command and cache == "empty":
                run_after(debian, timed, arguments.command, log)
            (debian.folder / CACHE).rename(kept)
        runs.append(timed)
    return runs


def print_table(runs: list[Timed]) -> None:
    """Print seconds and megabytes by part, one column for each state of the cache."""
    print("| part | " + " | ".join(f"s, {run.cache} cache | MB" for run in runs) + " |")
    print("| --- |" + " --- | --- |" * len(runs))
    parts = dict.fromkeys(name for run in runs for name in (*run.seconds, *run.megabytes))
    for part in parts:
        cells = [f"{run.seconds.get(part, 0):.0f} | {run.megabytes.get(part, 0):.0f}" for run in runs]
        print(f"| {part} | {' | '.join(cells)} |")
    totals = [f"{sum(run.seconds.values()):.0f} | {sum(run.megabytes.values()):.0f}" for run in runs]
    print(f"| together | {' | '.join(totals)} |", flush=True)


def main() -> None:
    """Time both trees and print the table."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--release", choices=["bookworm", "trixie"], default="bookworm")
    parser.add_argument("--command", help="runs in the first tree after set-up, e.g. 'make paper'")
    parser.add_argument("--logs", type=Path, metavar="DIR", default=REPOSITORY / "results" / "debian")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where the trees are made; 25 GB")
    arguments = parser.parse_args()
    if reason := available(arguments.release):
        sys.exit(reason)
    arguments.logs.mkdir(parents=True, exist_ok=True)
    trees = Path(tempfile.mkdtemp(prefix="time-setup-", dir=arguments.folder))
    try:
        print_table(time_both(arguments, trees))
    finally:
        remove(trees)


if __name__ == "__main__":
    main()
