"""Find the release of a compiler that made a program faster, slower or wrong.

The program is written once as a portable artifact (`release_program`) and compiled, called, judged and timed in each
release by processes of their own (`release_child`), in environments that are built when they are needed. A release that
cannot be had, or cannot read the program, is `unsupported`. In the order `all` every release is measured; in the order
`bisect` the newest, the oldest and two between them, and then those between two that differ.
"""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from stackwars.explain.release_runner import Runner
from stackwars.explain.release_times import NOT_RUN, UNSUPPORTED, Change, Release, chained, change, changes
from stackwars.measure import documents, machine
from stackwars.measure.log_ratio import Estimate

SCHEMA = 1
ALL, BISECT = ORDERS = ("all", "bisect")
FIRST = 4
"""Releases with which the order `bisect` begins."""


@dataclass(frozen=True)
class ReleasesJob:
    """One program in the releases of a project.

    label: what the program is called. project: jaxlib or iree. versions: newest first, of jaxlib perhaps with flags
    of XLA, `0.8.3 --xla_flag=value`. program, arguments, expected: paths relative to the repository; arguments and
    expected are "" if it has none: then they are drawn by the seed, and evaluated. framework, workload: of the
    program, if it has one. pins: of the environment that writes the artifact. settings: rounds, seconds (of calls in
    a process), bound (how much a time may change), memory_cap_gib and timeout_s of a process.
    """

    label: str
    project: str
    versions: list[str]
    program: str
    pins: str
    settings: dict[str, Any]
    order: str = BISECT
    arguments: str = ""
    expected: str = ""
    framework: str = ""
    workload: str = ""
    seed: int = 0


class Search:
    """The releases of one program: probed when they are needed, and timed against each other."""

    def __init__(self, job: ReleasesJob, runner: Any) -> None:
        self.job, self.runner = job, runner
        self.releases = {version: Release(version) for version in job.versions}
        self._groups = 0

    def run(self) -> None:
        """Measure the releases that the order asks for."""
        if self.job.order == ALL:
            self._time([one for one in self.job.versions if self._probe(one).is_ok])
            return
        ends = self._first(self.job.versions), self._first(self.job.versions[::-1])
        if None in ends:
            return
        # The ends may agree where releases between them do not.
        chosen = spread(self.job.versions, *ends)
        for one in chosen:
            self._probe(one)
        self._time(chosen)
        for newer, older in pairwise(chosen):
            self._bisect(newer, older)

    def changes(self) -> list[Change]:
        """Return the releases that changed the program's time or outcome, newest first."""
        return changes(list(self.releases.values()), self.job.versions, self.job.settings["bound"])

    def _first(self, versions: list[str]) -> str | None:
        """Return the first release that reads the program, right or not."""
        return next((one for one in versions if self._probe(one).status != UNSUPPORTED), None)

    def _bisect(self, newer: str, older: str) -> None:
        """Measure the release in the middle of two that differ, and go on with each half that differs."""
        places = self.job.versions.index(newer), self.job.versions.index(older)
        between = self.job.versions[places[0] + 1 : places[1]]
        pair = self.releases[newer], self.releases[older]
        if not between or not change(*pair, self.job.versions, self.job.settings["bound"]):
            return
        middle = between[len(between) // 2]
        if self._probe(middle).status == UNSUPPORTED:
            return
        self._time([newer, middle, older])
        self._bisect(newer, middle)
        self._bisect(middle, older)

    def _probe(self, version: str) -> Release:
        if self.releases[version].status == NOT_RUN:
            self.releases[version] = self.runner.probe(version)
        return self.releases[version]

    def _time(self, versions: list[str]) -> None:
        """Time those of these releases that are right: in every round a process of each, in alternating order."""
        self._groups += 1
        for number in range(self.job.settings["rounds"]):
            for version in versions[:: -1 if number % 2 else 1]:
                if self.releases[version].is_ok:
                    self.runner.time(self.releases[version], self._groups, number)


def spread(versions: list[str], newest: str, oldest: str) -> list[str]:
    """Return up to FIRST releases at equal distances, the newest and the oldest among them."""
    first, last = versions.index(newest), versions.index(oldest)
    places = {round(first + (last - first) * part / (FIRST - 1)) for part in range(FIRST)}
    return [versions[place] for place in sorted(places)]


def measure(job: ReleasesJob, folder: Path) -> dict[str, Any]:
    """Return the document of releases.json. folder: for the files of processes."""
    started, start = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    runner = Runner(asdict(job), folder)
    search = Search(job, runner)
    reason = runner.write_program()
    if not reason:
        search.run()
    identity = ("label", "project", "framework", "workload", "order", "settings")
    return {
        "schema": SCHEMA,
        **{key: asdict(job)[key] for key in identity},
        "stablehlo": runner.document.get("version", ""),
        "reason": reason,
        "releases": rows(list(search.releases.values())),
        "changes": [asdict(one) | {"sentence": one.sentence} for one in search.changes()],
        "started_utc": started,
        "seconds": round(time.monotonic() - start, 1),
        "machine": machine.record(),
        "source": machine.revision(),
    }


def rows(releases: list[Release]) -> list[dict[str, Any]]:
    """Return a row for each release; its ratio is to the newest that was timed, if shared rounds lead to that one."""
    timed = [one for one in releases if one.is_ok and one.times]
    result = []
    for release in releases:
        values = list(release.times.values())
        ratio = chained(timed, timed.index(release)) if release in timed[1:] else None
        if release in timed[:1]:
            ratio = Estimate(1.0, None, None)
        result.append(
            {
                **{name: getattr(release, name) for name in ("version", "status", "status_detail")},
                "ms": math.exp(sum(map(math.log, values)) / len(values)) if values else None,
                "ratio": ratio and ratio._asdict(),
                "times": [[group, number, ms] for (group, number), ms in release.times.items()],
                **release.numbers,
            }
        )
    return result


def console(document: dict[str, Any]) -> str:
    """Return a document as a table for a terminal, and its answer."""
    lines = [f"{document['label']} in {document['project']}, StableHLO {document['stablehlo'] or 'none'}"]
    if document["reason"]:
        return "\n".join([*lines, document["reason"]])
    width = max(10, *(len(row["version"]) for row in document["releases"]))
    for row in document["releases"]:
        ratio = f"{row['ratio']['value']:7.2f}" if row["ratio"] else " " * 7
        ms = f"{row['ms']:10.3f} ms {ratio}" if row["ms"] else " " * 21
        compile_s = f"{row['compile_s']:8.2f} s" if row.get("compile_s") else " " * 10
        lines.append(
            f"  {row['version']:{width}} {row['status']:12}{compile_s}{ms}  {row['status_detail'][:120]}".rstrip()
        )
    answer = [change["sentence"] for change in document["changes"]]
    measured = sum(row["status"] != NOT_RUN for row in document["releases"])
    return "\n".join([*lines, *(answer or [f"no change among {measured} releases that were tried"])])


def main() -> None:
    """`python -m stackwars.explain.releases --job FILE --output releases.json`: measure, write and print."""
    options = documents.parse_arguments(main.__doc__, "job", "output")
    with tempfile.TemporaryDirectory(prefix="releases-") as folder:
        document = measure(ReleasesJob(**documents.read(options.job)), Path(folder))
    documents.write(options.output, document)
    print(console(document))


if __name__ == "__main__":
    main()
