"""Pack a fault or a gap into one archive that a maintainer can run, and run such an archive again.

bundle.zip has the files of a reproducer, the answer, the draft of a report, and manifest.json. It is written only if
its reproduce.py shows the finding in a fresh process. `rerun` executes nothing of an archive: it reads case.json, the
programs and the arrays, and this version writes the reproducer again.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from stackwars.core import documents, machine
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.compilers import iree
from stackwars.core.launch import printable
from stackwars.core.outcome import Failed, Status
from stackwars.core.program import Program
from stackwars.core.program_text import not_donated, readable, refusal
from stackwars.core.types import as_type, redrawn
from stackwars.explain import answer as answers
from stackwars.explain import reproducer, standalone
from stackwars.explain.anonymous import names, names_left, public_words
from stackwars.explain.answer import CAUSE, SPREAD, Answer, Cause, Fault, Interval
from stackwars.explain.bench import arguments_of
from stackwars.explain.reproducer import CASE, INPUTS, OTHER, PROGRAM, REPRODUCER, Case
from stackwars.explain.task import TIME
from stackwars.explain.trials import Trials

PLAIN, ANONYMOUS = "yes", "anonymous"
BUNDLE, MANIFEST, ANSWER, REPORT = "bundle.zip", "manifest.json", "answer.json", "report.md"
NEEDED = {MANIFEST, ANSWER, REPORT, CASE, INPUTS, PROGRAM, REPRODUCER}
MOST_INPUTS, MOST_BYTES = 64 << 20, 512 << 20
"""Bytes of inputs that are packed, and of an archive's files that are read."""
FIXED, STILL, DIFFERENT, NOT_DECIDED = "fixed", "still there", "different", "not decided"
GAP, LONG = "gap", "long compilation"
ORIGINAL, TOO_LARGE = "from the search", "drawn by a seed, because the inputs of the search are too large"
REDRAWN = "drawn with the moments of the search's inputs"
FACTS = ("kind", "verdict", "compiler", "operations", "versions", "ratio", "closed", "a_ms", "b_ms", "ask")
"""Fields of a fault or a cause that have no names."""
_SHOWN = re.compile(r"FAULT: |without JAX$|ratio |result \d|compiled in |[\w-]+ \d[\w.]*$|[\d.e+-]+ ms ")
"""Lines of a reproducer that have no names: a compiler's message may have any."""
_OPTION = re.compile(r"[\w,+-]*(?:\.\w[\w,+-]*)*")
_FLAG = re.compile(rf"--iree-[\w-]+(?:={_OPTION.pattern})?")
_RATIO = re.compile(r"ratio (\d+\.\d+) \(")
_MS = re.compile(r"^([\d.e+-]+) ms and ([\d.e+-]+) ms", re.MULTILINE)
ALONE, SHORT_MS = "without JAX", 1.0
"""A line of a reproducer, and ms of a call below which its ratio then includes the cost of a call."""
_PLACE = re.compile(r"result \d+, element [^:]*")


class BundleError(ValueError):
    """An archive that cannot be written, or must not be run: one line."""


@dataclass(frozen=True)
class Manifest:
    """The content of manifest.json.

    kind: how the program ended, GAP or LONG. ratio: of a gap, as explain measured it. flags: XLA's options, or IREE's.
    machine: its kind. values: where the inputs are from. shown: the lines that reproduce.py printed. files: the SHA-256
    of each other file.
    """

    kind: str
    compiler: str
    versions: dict[str, str]
    flags: dict[str, str | bool | int | float] | list[str]
    machine: dict[str, str | int]
    is_anonymous: bool
    values: str
    shown: list[str]
    files: dict[str, str]
    ratio: Interval | None = None
    schema: int = 1


def pack(
    answer: Answer,
    folder: Path,
    programs: Sequence[Program],
    compilers: Sequence[CompilerSpec],
    evaluator: CompilerSpec,
    is_anonymous: bool = False,
) -> str:
    """Write bundle.zip of an answer's first reproducible finding into its folder; return what was done, in a line."""
    path = folder / BUNDLE
    path.unlink(missing_ok=True)
    specs, known = ({one.name: one for one in compilers}, {one.label: one for one in programs})
    try:
        found = _reproducible(answer)
        spec = specs[found.compiler]
        if found.script:
            case = _saved(folder / ("faults" if isinstance(found, Fault) else "causes") / found.name)
        else:
            case = _gap(found, (known[found.a], known[found.b]), spec, evaluator, answer.table)
        values = TOO_LARGE if case.arguments is None and not found.script else ORIGINAL
        if is_anonymous:
            values = values if case.arguments is None else REDRAWN
            case = _anonymous(case, found, spec, evaluator)
        with tempfile.TemporaryDirectory(prefix="stackwars-") as temporary:
            _write(Path(temporary), case, found, spec, answer, folder, values, is_anonymous)
            if is_anonymous:
                modules = (standalone, reproducer, answers, sys.modules[__name__])
                public = public_words(modules, case.program + case.other, spec.name, str(_machine()))
                if left := names_left(Path(temporary), names(answer, programs, folder), public):
                    raise BundleError(f"expected no name in an anonymous bundle, got {left}; fix: rename it")
            zip_files(Path(temporary), path)
    except (ValueError, Failed, subprocess.TimeoutExpired) as error:
        return f"no {path}: {' '.join(str(error).split())[:500]}"
    return f"wrote {path}: stackwars rerun {path} tells whether it is fixed"


def _reproducible(answer: Answer) -> Fault | Cause:
    """Return the first finding with a reproducer, or the first gap in time between two programs in one compiler."""
    for found in (*answer.faults, *answer.causes):
        if found.script and getattr(found, "reproduced", True):
            return found
        is_gap = isinstance(found, Cause) and found.ask == TIME and found.verdict in (CAUSE, SPREAD)
        if is_gap and found.b and not found.other:
            return found
    raise BundleError(
        "nothing here has a reproducer: no fault that was reduced, and no gap between two programs"
    )


def _saved(folder: Path) -> Case:
    """Return the case that a search wrote."""
    if not (folder / CASE).exists():
        raise BundleError(
            f"expected {folder / CASE}, got none; fix: delete this answer's folder, and explain again"
        )
    case = reproducer.read(folder)
    if (count := _bytes(case.arguments)) > MOST_INPUTS:
        raise BundleError(
            f"expected inputs of at most {MOST_INPUTS >> 20} MiB, got {count >> 20}; fix: smaller ones"
        )
    return case


def _gap(
    found: Cause,
    pair: tuple[Program, Program],
    spec: CompilerSpec,
    evaluator: CompilerSpec,
    table: answers.Table,
) -> Case:
    texts, types, values = [], [], []
    with Worker(evaluator) as reader:
        for program in pair:
            graph = reader.graph(program.text)
            text = program.text if isinstance(program.text, str) else reader.pretty(program.text)
            texts.append(readable(not_donated(text)) if spec.is_xla else iree.rewritten(text))
            kinds = [graph.types[value] for value in graph.arguments]
            types.append(reproducer.array_types(kinds))
            gets = arguments_of(program, graph).values()
            values.append([as_type(get(0), kind) for get, kind in zip(gets, kinds, strict=True)])
    kept = (None, None) if sum(map(_bytes, values)) > MOST_INPUTS else values
    doc = f"{spec.name}: {found.a} takes longer than {found.b}: {found.detail}\n{_packages(table.versions, spec.name)}"
    return Case(
        *(doc, spec.module, spec.options if spec.is_xla else iree.flags(spec.options)),
        *(texts[0], types[0], kept[0]),
        other=texts[1],
        other_types=types[1],
        other_arguments=kept[1],
        bound=table.bound,
    )


def _packages(versions: dict[str, dict[str, str]], name: str) -> str:
    return f"Seen with: pip install {' '.join(f'{one}=={version}' for one, version in versions.get(name, {}).items())}"


def _bytes(arrays: Iterable[np.ndarray] | None) -> int:
    return sum(array.nbytes for array in arrays or ())


def _anonymous(case: Case, found: Fault | Cause, spec: CompilerSpec, evaluator: CompilerSpec) -> Case:
    """Return a case without names and weights, with inputs that are drawn again, and its right results.

    :raises BundleError: if the fault is gone with them.
    """
    rng = np.random.default_rng(reproducer.SEED)
    arguments, others = (
        None if arrays is None else [redrawn(array, rng) for array in arrays]
        for arrays in (case.arguments, case.other_arguments)
    )
    with Worker(evaluator) as reader:
        program, other = (text and reader.anonymous(text) for text in (case.program, case.other))
        case = replace(
            case, doc=f"{spec.name}: {_kind(found)}", program=program, other=other,
            arguments=arguments, other_arguments=others,
        )  # fmt: skip
        if not isinstance(found, Fault):
            return case
        arrays = reproducer.seeded(case.types) if arguments is None else arguments
        with Worker(spec, timeout_s=case.timeout_s) as suspect:
            trials = Trials(suspect, reader, reader.graph(program), arrays)
            whole = trials.subsets.whole()
            trial = trials.try_subset(whole, emitted=program)
        if trial.status in (Status.OK, Status.NOT_JUDGED, Status.ERROR):
            changed = "without names, and with other constants and inputs"
            raise BundleError(f"{changed}, it is {trial.status}: {trial.outcome.detail}; fix: BUNDLE={PLAIN}")
        expected = trial.expected or trials.expected(whole, trials.arguments(whole))
        right = None if expected.reason else expected
        return replace(case, checks=None, expected=right, results=trial.results)


def _write(
    folder: Path,
    case: Case,
    found: Fault | Cause,
    spec: CompilerSpec,
    answer: Answer,
    output: Path,
    values: str,
    is_anonymous: bool,
) -> None:
    """Write the files of a bundle.

    :raises BundleError: if its reproducer does not show the finding.
    """
    status, shown = _run(case, folder, spec.python)
    if status != 1 or not _fault(shown):
        raise BundleError(f"its reproducer does not show it in a fresh process: {' '.join(shown[-2:])}")
    if is_anonymous:
        shown = [line for line in shown if _SHOWN.match(line)]
        documents.write(folder / ANSWER, {key: value for key, value in asdict(found).items() if key in FACTS})
        listing = ["```", *shown, "```", "", "```mlir", case.program.strip(), "```"]
        (folder / REPORT).write_text(
            "\n".join([f"# {case.doc}", "", f"`python {REPRODUCER}`:", "", *listing, ""])
        )
    else:
        for name, source in ((ANSWER, "explain.json"), (REPORT, "explain.md")):
            (folder / name).write_bytes((output / source).read_bytes())
    manifest = Manifest(
        *(_kind(found), spec.name, answer.table.versions.get(spec.name, {}), case.options),
        *(_machine(), is_anonymous, values, shown),
        {file.name: _digest(file.read_bytes()) for file in sorted(folder.iterdir())},
        ratio=getattr(found, "ratio", None),
    )
    documents.write(folder / MANIFEST, asdict(manifest))


def zip_files(folder: Path, path: Path) -> None:
    """Write the files of a folder into an archive, whose bytes depend on them alone."""
    part = path.with_name(f"{path.name}.part")
    with zipfile.ZipFile(part, "w") as archive:
        for file in sorted(folder.iterdir()):
            archive.writestr(zipfile.ZipInfo(file.name), file.read_bytes(), zipfile.ZIP_DEFLATED)
    part.replace(path)


def _kind(found: Fault | Cause) -> str:
    return str(found.kind) if isinstance(found, Fault) else GAP if found.b else LONG


def _machine() -> dict[str, str | int]:
    """Return the kind of this machine, without its name."""
    return {key: value for key, value in machine.record().items() if key in ("cpu_model", "cores", "os")}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _run(case: Case, folder: Path, python: Path | str) -> tuple[int, list[str]]:
    """Write a reproducer into a folder and run it; return its exit status and the lines that it printed."""
    processes = standalone.PROCESSES if case.other else 3
    script = reproducer.write(case, folder)
    status, printed = reproducer.run(script, python or sys.executable, processes * (case.timeout_s + 10))
    return status, printed.splitlines()


# Again


def rerun(path: Path, python: Path | str = "") -> tuple[str, str]:
    """Run an archive's case in an environment; return (FIXED, STILL, DIFFERENT or NOT_DECIDED, in words).

    python: the environment's, which has a compiler and NumPy; by default this one.

    :raises BundleError: for an archive that is none, before anything runs.
    """
    with tempfile.TemporaryDirectory(prefix="stackwars-") as temporary:
        manifest, case = read(path, Path(temporary) / "read")
        try:
            status, lines = _run(replace(case, doc=BUNDLE), Path(temporary) / "run", python)
        except (subprocess.TimeoutExpired, OSError) as error:
            return NOT_DECIDED, f"it did not run: {error}"
    return verdict(manifest, status, lines)


def verdict(manifest: Manifest, status: int, lines: Sequence[str]) -> tuple[str, str]:
    """Return the verdict on what a reproducer prints now, and both results in words."""
    both = printable(f"{_described(lines)}; recorded: {_described(manifest.shown)}")
    word = _verdict(manifest, status, lines)
    times = [float(ms) for pair in _MS.findall("\n".join(lines)) for ms in pair]
    if (
        word in (FIXED, DIFFERENT)
        and (ALONE in lines) != (ALONE in manifest.shown)
        and min(times, default=2) < SHORT_MS
    ):
        return NOT_DECIDED, f"{both}; without JAX a call takes longer: install it in that environment"
    is_same = status == 0 and word == NOT_DECIDED
    return word, f"{both}; it is the same release" if is_same else both


def _verdict(manifest: Manifest, status: int, lines: Sequence[str]) -> str:
    if status == 0:
        # Nothing was repaired in a release that had the fault.
        is_same = any(f"{name} {version}" in lines for name, version in manifest.versions.items())
        return NOT_DECIDED if is_same else FIXED
    if status != 1 or not _fault(lines):
        return NOT_DECIDED
    (now, then), (places, recorded) = (
        [pattern.findall("\n".join(shown)) for shown in (lines, manifest.shown)] for pattern in (_RATIO, _PLACE)
    )
    faults = {re.sub(r"\d+", "N", _fault(shown)) for shown in (lines, manifest.shown)}
    # By their logarithms, half to twice as large.
    is_near = not (now and then) or float(then[0]) ** 0.5 <= float(now[0]) <= float(then[0]) ** 2
    is_alike = not (places and recorded) or bool(set(places) & set(recorded))
    return STILL if len(faults) == 1 and is_near and is_alike else DIFFERENT


def _fault(lines: Sequence[str]) -> str:
    """Return the line that says what a reproducer has shown; "" if there is none."""
    return next((line for line in reversed(lines) if line.startswith("FAULT: ")), "")


def _described(lines: Sequence[str]) -> str:
    """Return the first number that a reproducer printed, its last line, and the compiler's version."""
    measured = next((line for line in lines if re.match(r"ratio |result \d|compiled in ", line)), "")
    version = next((line for line in lines if re.fullmatch(r"[a-z-]+ \d[\w.]*", line)), "")
    end = (_fault(lines) or lines[-1]).removeprefix("FAULT: ") if lines else "nothing printed"
    return ", ".join(filter(None, (measured, end, version)))


def read(path: Path, folder: Path) -> tuple[Manifest, Case]:
    """Return the manifest and the case of an archive. Its files are written into a folder, but not its code.

    :raises BundleError: for other files, one that is missing or has another digest, and a case that could write files
        or call back into Python.
    """
    try:
        data = _files(path)
        manifest = answers.parse(Manifest, json.loads(data.pop(MANIFEST)))
        digests = {name: _digest(content) for name, content in data.items()}
        if changed := [
            name for name in digests | manifest.files if digests.get(name) != manifest.files.get(name)
        ]:
            raise ValueError(f"{changed[0]}: expected the digest of the manifest, got another")
        folder.mkdir(parents=True)
        for name in data.keys() & {CASE, INPUTS, PROGRAM, OTHER}:
            (folder / name).write_bytes(data[name])
        case = reproducer.read(folder)
        is_flags = isinstance(case.options, list)
        options = case.options if is_flags else [*case.options, *case.options.values()]
        pattern = _FLAG if is_flags else _OPTION
        if strange := [one for one in options if isinstance(one, str) and not pattern.fullmatch(one)]:
            raise ValueError(f"expected options of a compiler without paths, got {strange[0]}")
        if why := next(filter(None, map(refusal, (case.program, case.other, case.first))), ""):
            raise ValueError(why)
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise BundleError(f"{path}: not run: {' '.join(str(error).split())[:500]}") from None
    return manifest, case


def _files(path: Path) -> dict[str, bytes]:
    """Return the content of an archive's files.

    :raises ValueError: for files of other names, and for too many bytes.
    """
    with zipfile.ZipFile(path) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
        if strange := sizes.keys() - NEEDED - {OTHER}:
            raise ValueError(f"expected the files of a bundle, got {min(strange)}")
        if missing := NEEDED - sizes.keys():
            raise ValueError(f"expected the file {min(missing)}, got none")
        if sum(sizes.values()) > MOST_BYTES:
            raise ValueError(f"expected at most {MOST_BYTES >> 20} MiB, got {sum(sizes.values()) >> 20}")
        return {name: archive.read(name) for name in sizes}
