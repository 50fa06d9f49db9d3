"""Run the processes of releases: the one that writes the portable program, and those that compile, call and time it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.compilers import arguments, check, iree
from stackwars.explain import release_program
from stackwars.explain.release_times import UNSUPPORTED, Release
from stackwars.measure import documents, judge, launch, limits, process_status
from stackwars.setup import environments

PINS = environments.REPOSITORY / "envs" / "releases"
CHILD = Path(__file__).with_name("release_child.py")
LEAST = 5
"""Calls of a process that are timed at least."""
VERDICT = ("judge", "wrong", "total", "l2", "largest", "where", "flaky")
CALLS = (0, 1, 0)
"""The set of inputs of each call that is judged."""


def pins(project: str, version: str) -> Path:
    """Return the pins of a release, behind whose version flags of XLA may stand."""
    return PINS / f"{project}-{version.partition(' ')[0]}.txt"


class Runner:
    """The processes of one program in the releases of a project. job: as of `releases.ReleasesJob`."""

    def __init__(self, job: dict[str, Any], folder: Path) -> None:
        self.job, self.folder = job, folder.resolve()
        self.document: dict[str, Any] = {}
        self._pythons: dict[str, Path] = {}
        self._processes = 0

    def write_program(self) -> str:
        """Write the artifact, the arguments and missing expected values; return why that is not possible, or ""."""
        job = self.folder / "job.json"
        documents.write(job, self.job)
        command = ["-m", release_program.__name__, "--job", str(job), "--output", str(self.folder)]
        python = environments.ensure(environments.REPOSITORY / self.job["pins"])
        report = self._launch(python, command, self.folder / "log.txt")
        path = self.folder / release_program.DOCUMENT
        if not path.exists():
            return f"the program was not written: {process_status.status(report, [])[1]}"
        self.document = documents.read(path)
        expected = self.folder / release_program.EXPECTED / judge.DOCUMENT
        if "reason" not in self.document and not self.job["expected"] and not expected.exists():
            release_program.write_no_judge(
                self.folder, f"the reference evaluation ended its process: {last_line(report.log_tail)}"
            )
        return self.document.get("reason", "")

    def probe(self, version: str) -> Release:
        """Return a release with its outcome, from a process that compiles the program, calls it and is judged."""
        release = Release(version)
        print(f"[releases] {self.job['project']} {version}", file=sys.stderr, flush=True)
        try:
            self._pythons[version] = environments.ensure(pins(self.job["project"], version))
        except environments.Unavailable as error:
            release.status, release.status_detail = UNSUPPORTED, error.reason
            return release
        place, report = self._run(version, judged=True, seconds=0)
        events = documents.read_events(place)
        release.status, release.status_detail = outcome(report, events)
        named = {event["event"]: event for event in events}
        release.numbers |= {
            "compile_s": named.get("compiled", {}).get("seconds"),
            "versions": named.get("build", {}).get("versions", {}),
        }
        if release.is_ok:
            verdict = self._verdict(place)
            release.numbers |= {key: verdict and verdict[key] for key in VERDICT}
            if problem := judge.problem(verdict):
                release.status, release.status_detail = "wrong", problem
        for path in place.glob("*.npy"):
            path.unlink()
        return release

    def time(self, release: Release, group: int, number: int) -> None:
        """Add the time of a call to a release, from a process of its own in this round of a group."""
        place, report = self._run(release.version, judged=False, seconds=self.job["settings"]["seconds"])
        events = documents.read_events(place)
        status, detail = outcome(report, events)
        if status != "ok":
            # It was right in its first process: the fault comes and goes.
            release.status, release.status_detail = status, f"in a later process: {detail}"
            return
        named = {event["event"]: event for event in events}
        timed = named["timed"]
        release.times[group, number] = float(np.median(timed["wall_ns"])) / 1e6
        release.numbers.setdefault("cores", []).append(sum(timed["cpu_ns"]) / sum(timed["wall_ns"]))
        release.numbers.setdefault("compile_rounds_s", []).append(named["compiled"]["seconds"])

    def _verdict(self, place: Path) -> dict[str, Any] | None:
        outputs = {}
        for number, which in enumerate(CALLS):
            count = len(list(place.glob(f"result-{number}-*.npy")))
            results = [np.load(place / f"result-{number}-{at}.npy") for at in range(count)]
            outputs |= check.keyed(str(number), which, arguments.named(self.document, results))
        given = self.job["expected"]
        folder = environments.REPOSITORY / given if given else self.folder / release_program.EXPECTED
        return judge.judge(outputs, judge.read(folder))

    def _run(self, version: str, judged: bool, seconds: float) -> tuple[Path, launch.ExitReport]:
        """Run one process of a release; return its folder, and how it ended."""
        self._processes += 1
        place = self.folder / f"process-{self._processes}"
        place.mkdir()
        given = {
            "project": self.job["project"], "program": str(self.folder / release_program.ARTIFACT),
            "arguments": dict(enumerate(self.document["arguments"])), "folder": str(place),
            "judged": judged, "seconds": seconds, "least": LEAST, "flags": iree.FLAGS,
        }  # fmt: skip
        documents.write(place / "job.json", given)
        command = [str(CHILD), str(place / "job.json")]
        _, _, flags = version.partition(" ")
        return place, self._launch(self._pythons[version], command, place / "log.txt", flags)

    def _launch(self, python: Path, command: list[str], log: Path, flags: str = "") -> launch.ExitReport:
        environ = environments.clean_environ({"XLA_FLAGS": flags} if flags else {})
        cap = limits.cap_bytes(self.job["settings"]["memory_cap_gib"])
        timeout_s = self.job["settings"]["timeout_s"]
        return launch.run_child(python, command, environ, cap, timeout_s, log=log)


def outcome(report: launch.ExitReport, events: list[dict]) -> tuple[str, str]:
    """Return the status of a release's process, and why it is not ok in one line."""
    status, detail = process_status.status(report, events)
    if status == "crash":
        is_compiled = any(event["event"] == "compiled" for event in events)
        doing = "while it was called" if is_compiled else "while the program was compiled"
        detail = f"{detail.partition(',')[0]} {doing}; {last_line(report.log_tail)}"
    return status, " ".join(detail.split())[:400]


def last_line(log: str) -> str:
    """Return the last line of a log that says more than a stack trace does, in words."""
    said = check.last_line(log)
    return f"last line: {said}" if said else "it said nothing"
