"""Find the release of a compiler that made a program faster, slower or wrong.

A release is a compiler with other pins: the worker runs in its environment. The program is written once as a portable
artifact, which StableHLO guarantees to be readable for five years. Each release checks it in a process of its own, and
those in which it is right are timed against each other: in every round a fresh process of each, in alternating order.
A release that cannot be had, or cannot read the program, is `unsupported`. In the order `all` every release is
measured; in the order `bisect` the newest, the oldest and two between them, and then those between two that differ.
"""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from stackwars.core import judge, types
from stackwars.core.check import check
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.compilers import INPUT_SETS, iree
from stackwars.core.judge import Expected
from stackwars.core.machine import record, revision
from stackwars.core.outcome import Failed, Status
from stackwars.core.program import Argument, Graph, Program
from stackwars.core.program_text import not_donated, readable, with_custom_erf
from stackwars.core.ratio import FASTER, SLOWER, LogRatio, direction
from stackwars.explain.answer import Interval
from stackwars.explain.bench import arguments_of
from stackwars.explain.task import Kept, digest

SCHEMA = 2
"""Schema 1 had `ok` for what is `not judged` now, and lists for the ratios of changes."""
ALL, BISECT = ORDERS = ("all", "bisect")
SAME_HLO = "; the optimised program is the same: code generation, the runtime or a kernel library differs"
OTHER_HLO = "; the optimised program differs too, so the compiler may be the cause, or the runtime"
FIRST = 4
"""Releases with which the order `bisect` begins."""


@dataclass(frozen=True)
class ReleaseSettings:
    """rounds: of processes. seconds: of calls in a process. bound: how much a time may change. memory_cap_gib,
    timeout_s: limits of a process and of one command to it.
    """

    rounds: int = 4
    seconds: float = 0.3
    bound: float = 0.1
    memory_cap_gib: float | str = "auto"
    timeout_s: float = 300

    @property
    def limits(self) -> dict[str, Any]:
        return {"cap_gib": self.memory_cap_gib, "timeout_s": self.timeout_s}


@dataclass
class Release:
    """A program in a release of a compiler.

    times: [group, round, milliseconds of a call]; the releases of a group were measured in the same rounds. ms: their
    geometric mean. ratio: of its time to that in the newest release that was timed. compile_s: in the process that
    checked it; compile_rounds_s and cores, which a call uses: in those that timed it. hlo: a digest of the
    optimised program, see `digest_of_hlo`; "" without one. judge to flaky: the verdict on
    its values, see `judge.judge`.
    """

    version: str
    status: Status = Status.NOT_RUN
    status_detail: str = ""
    ms: float | None = None
    ratio: Interval | None = None
    times: list[tuple[int, int, float]] = field(default_factory=list)
    compile_s: float | None = None
    versions: dict[str, str] = field(default_factory=dict)
    judge: str | None = None
    wrong: int | None = None
    total: int | None = None
    l2: float | None = None
    largest: float | None = None
    where: str | None = None
    limit: float | None = None
    flaky: bool | None = None
    hlo: str = ""
    cores: list[float] = field(default_factory=list)
    compile_rounds_s: list[float] = field(default_factory=list)

    @property
    def ran(self) -> bool:
        """Its time means something: its values are right, or nothing says what they should be."""
        return self.status in (Status.OK, Status.NOT_JUDGED)


@dataclass(frozen=True)
class Change:
    """A release that differs from the one before it among those that were measured.

    kind: slower, faster, fixed, or the status that it has now. same_hlo: whether both compile to the same program; None
    if that is unknown. ratio: its time over that of the older one, if both are right. between: releases of the list
    that lie between the two. sentence: the change in words.
    """

    newer: str
    older: str
    kind: str
    detail: str
    ratio: Interval | None
    between: int
    sentence: str
    same_hlo: bool | None = None


@dataclass(frozen=True)
class Releases:
    """releases.json: a program in the releases of a project, newest first. stablehlo: the version of the artifact;
    reason: why there is none. framework, workload: of the program, if it has them.
    """

    label: str
    project: str
    order: str
    settings: ReleaseSettings
    stablehlo: str
    reason: str
    releases: list[Release]
    changes: list[Change]
    started_utc: str
    seconds: float
    machine: dict[str, Any] = field(default_factory=record)
    source: dict[str, Any] = field(default_factory=revision)
    framework: str = ""
    workload: str = ""
    schema: int = SCHEMA


def releases(
    program: Program,
    versions: Sequence[str],
    spec_of: Callable[[str, str], CompilerSpec],
    *,
    project: str,
    evaluator: Worker,
    expected: Expected | None = None,
    order: str = BISECT,
    settings: ReleaseSettings = ReleaseSettings(),
    kept: Kept | None = None,
    say: Callable[[str], None] = print,
) -> Releases:
    """Measure a program in releases.

    versions: newest first. spec_of: returns the compiler of a project and a release, or raises Failed. project: jaxlib
    or iree. evaluator: of an XLA that is no suspect. expected: by default as the evaluator computes them. kept: what
    earlier runs measured, which is not measured again. say: gets a line for each step.
    """
    started, start = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    stablehlo, reason, rows, changes = "", program.missing, list(map(Release, versions)), []
    try:
        if not reason:
            portable, expected, stablehlo = _portable(program, project, evaluator, expected)
    except (Failed, ValueError) as error:
        reason = str(error)
    if not reason:
        processes = Processes(portable, expected, partial(spec_of, project), settings, kept or Kept(), say)
        search = Search(versions, settings, processes)
        search.run(order)
        rows, changes = list(search.releases.values()), search.changes()
    summarise(rows)
    seconds = round(time.monotonic() - start, 1)
    return Releases(
        *(program.label, project, order, settings, stablehlo, reason, rows, changes, started, seconds)
    )


def _portable(
    program: Program, project: str, evaluator: Worker, expected: Expected | None
) -> tuple[Program, Expected, str]:
    """Return the program as an artifact, with arguments of its types; its expected values; StableHLO's version."""
    text = readable(not_donated(program.text))
    # CHLO is legalised; for its error function all releases of XLA have a custom call, which IREE refuses.
    written = iree.rewritten(text) if project == "iree" else with_custom_erf(text)
    graph = evaluator.graph(text)
    artifact, version = evaluator.portable(written)
    program = replace(program, text=artifact, arguments=_typed(program, graph))
    if expected:
        # Disputed values are of programs that differ; one program can still be timed in all releases.
        return program, replace(expected, disputed=False), version
    try:
        expected = judge.expected_values(evaluator, graph, program.arguments, text=text)
    except (Failed, ValueError) as error:
        expected = Expected(reason=f"the reference evaluation failed: {str(error)[:300]}")
    return replace(program, named=None), expected, version


def _typed(program: Program, graph: Graph) -> tuple[Argument, ...]:
    """Return arguments with values of the program's types, which are computed once."""

    def value(argument: Argument, kind: str) -> Callable[[int], np.ndarray]:
        return cache(lambda which: types.as_type(argument(which), kind))

    rows = ((one, graph.types[place]) for place, one in arguments_of(program, graph).items())
    return tuple(
        Argument(f"{one.key or number} as {kind}", value(one, kind), one.is_fixed)
        for number, (one, kind) in enumerate(rows)
    )


@dataclass
class Processes:
    """The processes of a program in releases: one that checks it, and one for each time.

    The fields are as of `releases`; the program is an artifact. spec_of: gets the version alone.
    """

    program: Program
    expected: Expected
    spec_of: Callable[[str], CompilerSpec]
    settings: ReleaseSettings
    kept: Kept
    say: Callable[[str], None]
    specs: dict[str, CompilerSpec] = field(default_factory=dict)

    @cached_property
    def _content(self) -> str:
        """A digest of what is measured, and how."""
        arrays = hashlib.sha256()
        for argument in self.program.arguments:
            for which in range(1 if argument.is_fixed else INPUT_SETS):
                arrays.update(argument(which).tobytes())
        return digest(self.program.text, arrays.hexdigest(), self.expected.document(), self.settings)

    def check(self, version: str) -> Release:
        """Return a release with its outcome, from a process that compiles the program, calls it and is judged."""
        try:
            spec = self.specs[version] = self.spec_of(version)
            row = self.kept.once(digest(self._content, spec), lambda: self._checked(version, spec))
            release = Release(**row | {"status": Status(row["status"])})
        except Failed as failed:
            release = Release(version, failed.outcome.status, failed.outcome.detail)
        detail = f", {release.status_detail}" if release.status_detail else ""
        self.say(f"{version}: {release.status}{detail}")
        return release

    def _checked(self, version: str, spec: CompilerSpec) -> dict[str, Any]:
        """Return a release's fields.

        :raises Failed: for an error of its environment, which another run may not have.
        """
        hlo = ""
        with Worker(spec, **self.settings.limits) as worker:
            packages = worker.versions()
            checked = check(worker, self.program, self.expected)
            if spec.is_xla and (checked.ran or checked.outcome.status is Status.WRONG):
                # An old release may have no text of it.
                with suppress(Failed):
                    hlo = digest_of_hlo(worker.hlo(self.program.label))
        if checked.outcome.status is Status.ERROR:
            raise Failed(checked.outcome)
        numbers = {"compile_s": checked.compile_s, "versions": packages, "hlo": hlo, **(checked.verdict or {})}
        return asdict(Release(version, checked.outcome.status, checked.outcome.detail, **numbers))

    def time(self, releases: Sequence[Release], group: int, number: int) -> None:
        """Add a round of a group to releases: the time of a call in a process of each."""
        specs = [self.specs[release.version] for release in releases]
        rows = self.kept.once(digest(self._content, specs, number), lambda: list(map(self._timed, specs)))
        for release, row in zip(releases, rows, strict=True):
            if "status" in row:
                # It was right in its first process: the fault comes and goes.
                release.status = Status(row["status"])
                release.status_detail = f"in a later process: {row['detail']}"
                continue
            release.times.append((group, number, row["ms"]))
            release.cores.append(row["cores"])
            release.compile_rounds_s.append(row["compile_s"])
        times = ", ".join(f"{one.version} {one.times[-1][2]:.3f} ms" for one in releases if one.ran)
        self.say(f"round {number + 1} of {self.settings.rounds}: {times}")

    def _timed(self, spec: CompilerSpec) -> dict[str, Any]:
        label = self.program.label
        try:
            with Worker(spec, **self.settings.limits) as worker:
                compile_s = worker.load(label, self.program.text)
                worker.place(label, self.program.arguments)
                wall, cpu = worker.time([label], self.settings.seconds)[label]
        except Failed as failed:
            return {"status": failed.outcome.status, "detail": failed.outcome.detail}
        cores = float(cpu.sum() / wall.sum())
        return {"ms": float(np.median(wall)) / 1e6, "cores": cores, "compile_s": compile_s}


class Search:
    """The releases of one program: checked when they are needed, and timed against each other."""

    def __init__(self, versions: Sequence[str], settings: ReleaseSettings, processes: Processes) -> None:
        """versions: newest first."""
        self._versions, self._settings, self._processes = list(versions), settings, processes
        self.releases = {version: Release(version) for version in versions}
        self._groups = 0

    def run(self, order: str) -> None:
        if order == ALL:
            self._time([one for one in self._versions if self._check(one).ran])
            return
        possible = (one for one in self._versions if self._check(one).status != Status.UNSUPPORTED)
        newest = next(possible, None)
        if newest is None:
            return
        oldest = next(one for one in self._versions[::-1] if self._check(one).status != Status.UNSUPPORTED)
        # The ends may agree where releases between them do not.
        chosen = spread(self._versions, newest, oldest)
        for one in chosen:
            self._check(one)
        self._time(chosen)
        for newer, older in pairwise(chosen):
            self._bisect(newer, older)

    def changes(self) -> list[Change]:
        """Return the changes from each measured release to the next newer one, newest first."""
        unknown = (Status.NOT_RUN, Status.UNSUPPORTED)
        known = [release for release in self.releases.values() if release.status not in unknown]
        return [change for pair in pairwise(known) if (change := self.change(*pair))]

    def change(self, newer: Release, older: Release) -> Change | None:
        """Return how a release differs from an older one: in its outcome, or by a ratio of times beyond its interval
        and the bound. None if it does not.
        """
        between = self._versions.index(older.version) - self._versions.index(newer.version) - 1
        where = newer.version if not between else f"one of {between + 1} releases up to {newer.version}"
        names = (newer.version, older.version)
        if newer.status != older.status:
            kind, detail = str(newer.status), newer.status_detail
            if newer.ran:
                kind, detail = "fixed", older.status_detail
            sentence = f"{where}: {kind} (in {older.version} it is not){': ' + detail if detail else ''}"
            return Change(*names, kind, detail, None, between, sentence)
        log = log_ratio(newer, older)
        if not newer.ran or log is None or abs(log.log) <= math.log1p(self._settings.bound):
            return None
        ratio = log.estimate()
        kind = direction(ratio)
        if kind not in (SLOWER, FASTER):
            return None
        interval = "" if ratio.low is None else f" (95 %: {ratio.low:.2f} to {ratio.high:.2f})"
        sentence = f"{where} takes {ratio.value:.2f} times as long as {older.version}{interval}: {kind}"
        same = newer.hlo == older.hlo if newer.hlo and older.hlo else None
        sentence += {True: SAME_HLO, False: OTHER_HLO, None: ""}[same]
        return Change(*names, kind, "", Interval.of(ratio), between, sentence, same)

    def _bisect(self, newer: str, older: str) -> None:
        """Measure the release in the middle of two that differ, and go on with each half that differs."""
        between = self._versions[self._versions.index(newer) + 1 : self._versions.index(older)]
        if not between or not self.change(self.releases[newer], self.releases[older]):
            return
        middle = between[len(between) // 2]
        if self._check(middle).status == Status.UNSUPPORTED:
            return
        self._time([newer, middle, older])
        self._bisect(newer, middle)
        self._bisect(middle, older)

    def _check(self, version: str) -> Release:
        if self.releases[version].status == Status.NOT_RUN:
            self.releases[version] = self._processes.check(version)
        return self.releases[version]

    def _time(self, versions: list[str]) -> None:
        """Time those of these releases that are right in the rounds of a new group."""
        self._groups += 1
        for number in range(self._settings.rounds):
            ordered = [self.releases[version] for version in versions[:: -1 if number % 2 else 1]]
            if right := [release for release in ordered if release.ran]:
                self._processes.time(right, self._groups, number)


_NAME = re.compile(r"%[\w.\-]+")
_OPERAND_TYPE = re.compile(r"[a-z]\w*\[[\d,<=]*\](\{[^{}]*\})? (?=%)")
"""The type of an operand, which only some releases print."""
_ABOUT = re.compile(
    r', (metadata|origin|frontend_attributes)=\{("(\\.|[^"\\])*"|\{("(\\.|[^"\\])*"|[^{}"])*\}|[^{}"])*\}'
)
"""Attributes that say where an operation is from."""


def digest_of_hlo(text: str) -> str:
    """Return a digest of an optimised program without its names, metadata and numbers of operations.

    Names are counted in their order of appearance. Tables of files, which newer releases print, are left out, and so is
    the head of the module, which names options.
    """
    names: dict[str, str] = {}
    lines = [line for line in text.splitlines() if " = " in line or line.startswith(("%", "ENTRY"))]
    texts = [
        _NAME.sub(
            lambda match: names.setdefault(match[0], f"%{len(names)}"),
            _OPERAND_TYPE.sub("", _ABOUT.sub("", line)),
        )
        # The head of a computation names its parameters again.
        for line in (line.strip().partition(" (")[0] if line.endswith("{") else line.strip() for line in lines)
    ]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def spread(versions: Sequence[str], newest: str, oldest: str) -> list[str]:
    """Return up to FIRST releases at equal distances, the newest and the oldest among them."""
    first, last = versions.index(newest), versions.index(oldest)
    places = {round(first + (last - first) * part / (FIRST - 1)) for part in range(FIRST)}
    return [versions[place] for place in sorted(places)]


def log_ratio(one: Release, other: Release) -> LogRatio | None:
    """Return the ratio of the times of two releases; None unless they were measured in the same rounds."""
    ours, theirs = ({(group, number): ms for group, number, ms in each.times} for each in (one, other))
    shared = sorted(ours.keys() & theirs.keys())
    return LogRatio.of_rounds([ours[key] / theirs[key] for key in shared]) if shared else None


def chained(releases: Sequence[Release], wanted: int) -> Interval | None:
    """Return the ratio of a release's time to that of the first, through neighbours that share rounds.

    Rounds of the first and the release are taken if they share some. None if there is no such chain.
    """
    total = log_ratio(releases[wanted], releases[0])
    if not total:
        steps = [log_ratio(older, newer) for newer, older in pairwise(releases[: wanted + 1])]
        if None in steps:
            return None
        total = steps[0]
        for step in steps[1:]:
            total = total.plus(step)
    return Interval.of(total.estimate())


def summarise(releases: Sequence[Release]) -> None:
    """Set each release's time, and its ratio to the newest that was timed, if shared rounds lead to that one."""
    timed = [one for one in releases if one.ran and one.times]
    for release in releases:
        if release.times:
            logs = [math.log(ms) for _, _, ms in release.times]
            release.ms = math.exp(sum(logs) / len(logs))
    for place, release in enumerate(timed):
        release.ratio = chained(timed, place) if place else Interval(1.0)
