"""Runs `make smoke` in a fresh checkout on bare Debians, as root and as an ordinary user.

python3 tests/debian/try_smoke.py: every combination, one after the other. As root the command must
succeed at once. An ordinary user's first try must end within a minute with the line that installs what
is missing; that line is then run as root, and the second try must succeed. Needs root and debootstrap.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[2] / "src"))

from machine import Debian, available, bootstrap, remove
from stackwars.core.launch import REPOSITORY

USER = "reader"
CHECKOUT = "/srv/stackwars"
ADVICE = re.compile(r"^\s*(sudo apt-get update && sudo apt-get install .*)$", re.MULTILINE)
ADVICE_S = 60
LAST_LINES = 8


class Failed(Exception):
    """A step that did not end as it must; says which."""


@dataclass
class Trial:
    """One run. problem: "" if it went well. seconds: of the command. paper: bytes of paper.pdf, 0 if none."""

    name: str
    log: Path
    problem: str = ""
    seconds: float = 0.0
    paper: int = 0


def note(log: Path, line: str) -> None:
    """A line of this program, on the terminal and in the log."""
    line = f"[try_smoke] {time.strftime('%H:%M:%S')} {line}"
    print(line, flush=True)
    with log.open("a") as file:
        file.write(line + "\n")


def step(debian: Debian, log: Path, command: str, user: str, environ: dict) -> tuple[int, str, float]:
    """Run a command: its exit status, output and seconds."""
    note(log, f"{debian.release}, {user}: {command}")
    start = time.monotonic()
    done = debian.run(command, user, environ, log, timeout=4 * 3600)
    seconds = time.monotonic() - start
    note(log, f"exit status {done.returncode} after {seconds:.0f} s")
    return done.returncode, done.stdout, seconds


def follow_advice(debian: Debian, log: Path, command: str, environ: dict) -> None:
    """An ordinary user's first try, which must fail fast, then what it says. Raises Failed."""
    code, said, seconds = step(debian, log, command, USER, environ)
    advice = ADVICE.findall(said)
    if code == 0 or len(advice) != 1:
        raise Failed(f"expected a failure with one line `sudo apt-get update && ...`; found {advice}")
    if seconds > ADVICE_S:
        raise Failed(f"expected the advice within {ADVICE_S} s; it took {seconds:.0f} s")
    # As it stands, but that a bare Debian has no sudo, and no terminal to ask on.
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    code, _, _ = step(debian, log, advice[0].replace("sudo ", ""), "root", quiet)
    if code != 0:
        raise Failed("the line that was printed does not install")


def attempt(debian: Debian, kind: str, command: str, cache: Path | None, trial: Trial) -> None:
    """The command on one bare Debian; fills in the trial. Raises Failed."""
    user = "root" if kind == "root" else USER
    if user == USER:
        debian.add_user(USER)
    environ = debian.share_cache(cache / kind, user) if cache else {}
    debian.checkout(CHECKOUT, user)
    command = f"cd {CHECKOUT} && {command}"
    if user == USER:
        follow_advice(debian, trial.log, command, environ)
    code, _, trial.seconds = step(debian, trial.log, command, user, environ)
    paper = debian.folder / CHECKOUT.lstrip("/") / "paper.pdf"
    trial.paper = paper.stat().st_size if paper.exists() else 0
    if code != 0:
        raise Failed(f"the command ended with {code}")


def report(trial: Trial) -> None:
    """What became of a trial, after the last lines of its log."""
    lines = trial.log.read_text(errors="replace").splitlines()[-LAST_LINES:]
    print(f"\n== {trial.name}: {trial.problem or 'well'} ({trial.log})")
    print("\n".join(f"   {line}" for line in lines))
    paper = f"{trial.paper} bytes" if trial.paper else "none"
    print(f"   {trial.seconds:.0f} s, paper.pdf: {paper}", flush=True)


def trials(arguments: argparse.Namespace, trees: Path) -> list[Trial]:
    """Every combination asked for, one after the other: cells need the machine for themselves."""
    found = []
    for release in arguments.release:
        pristine = trees / f"{release}-pristine"
        bootstrap(release, pristine)
        for kind in arguments.user:
            trial = Trial(f"{release}-{kind}", arguments.logs / f"{release}-{kind}.log")
            trial.log.write_text("")
            keep = arguments.keep is not None
            try:
                with Debian(trees / trial.name, release, pristine, keep) as debian:
                    attempt(debian, kind, arguments.command, arguments.cache, trial)
            except (Failed, RuntimeError, subprocess.SubprocessError) as error:
                trial.problem = str(error)
                note(trial.log, trial.problem)
            found.append(trial)
        remove(pristine)
    return found


def main() -> None:
    """Run the combinations, report on each; exit with 1 if any failed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    both = ["bookworm", "trixie"]
    parser.add_argument("--release", nargs="+", choices=both, default=both)
    kinds = ["root", "ordinary"]
    parser.add_argument("--user", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--command", default="make smoke")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the trees in this folder")
    parser.add_argument("--logs", type=Path, metavar="DIR", default=REPOSITORY / "results" / "debian")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="the installer's cache, kept there")
    arguments = parser.parse_args()
    for release in arguments.release:
        if reason := available(release):
            sys.exit(reason)
    arguments.logs.mkdir(parents=True, exist_ok=True)
    trees = arguments.keep or Path(tempfile.mkdtemp(prefix="try-smoke-"))
    trees.mkdir(parents=True, exist_ok=True)
    try:
        found = trials(arguments, trees)
    finally:
        if arguments.keep is None:
            remove(trees)
    for trial in found:
        report(trial)
    sys.exit(int(any(trial.problem for trial in found)))


if __name__ == "__main__":
    main()
