"""Pack a fault or a gap into one archive that a maintainer can run, and run such an archive again.

bundle.zip has the files of a reproducer, the answer, the draft of a report, and manifest.json. It is written only if
its reproduce.py shows the finding in a fresh process. `rerun` executes nothing of an archive: it reads case.json, the
programs and the arrays, and this version writes the reproducer again.
"""

from __future__ import annotations

import contextlib
import getpass
import inspect
import re
import shutil
import socket
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import ModuleType

import numpy as np

from stackwars.core import documents, machine
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.compilers import iree
from stackwars.core.launch import printable
from stackwars.core.outcome import Failed, Status
from stackwars.core.program import Program
from stackwars.core.program_text import not_donated, readable, refusal
from stackwars.core.types import as_type, read_npz, redrawn
from stackwars.explain import answer as answers
from stackwars.explain import reproducer, standalone
from stackwars.explain.answer import CAUSE, SPREAD, Answer, Cause, Fault
from stackwars.explain.bench import arguments_of
from stackwars.explain.reduction import Trials
from stackwars.explain.reproducer import CASE, INPUTS, OTHER, PROGRAM, REPRODUCER, Case
from stackwars.explain.task import TIME

PLAIN, ANONYMOUS = "yes", "anonymous"
BUNDLE, MANIFEST, ANSWER, REPORT = "bundle.zip", "manifest.json", "answer.json", "report.md"
MOST_INPUTS, MOST_BYTES = 64 << 20, 512 << 20
"""Bytes of inputs that are packed, and of an archive's files that are read."""
FIXED, STILL, DIFFERENT, NOT_DECIDED = "fixed", "still there", "different", "not decided"
FACTS = ("kind", "verdict", "compiler", "operations", "versions", "ratio", "closed", "a_ms", "b_ms", "ask")
"""Fields of a fault or a cause that have no names."""
_SHOWN = re.compile(r"FAULT: |ratio |result \d|compiled in |[\w-]+ \d[\w.]*$|[\d.e+-]+ ms ")
"""Lines of a reproducer that have no names: a compiler's message may have any."""
_OPTION = re.compile(r"[\w,+-]*(?:\.\w[\w,+-]*)*")
_FLAG = re.compile(rf"--iree-[\w-]+(?:={_OPTION.pattern})?")
SHORT = 5
"""A name of at most so many letters is searched as a word; a longer one is found in longer words too."""
_SYNTAX = """module func public private main tensor dense array dims dim sizes init across dimensions applies cond
default high highest permutation return true false index token contracting batching precision comparator reducer"""
_WORD = re.compile(r"[^\W\d]\w*")
_NAMED = re.compile(r'[%@#!]([A-Za-z_][\w$.-]*)|"([^"\n]*)"|//(.*)')
_NO_NAME = re.compile(
    r"|v\d+|main|part|f\d+|(?:mhlo|stablehlo|chlo|func|builtin)(?:\.[\w.]+)?|lapack_\w+"
    r"|0x[0-9A-Fa-f]*|\w+\[[\d,]*\](?:\{[\d,]*\})?"
)
"""Matches what follows a sigil or stands in quotes in an anonymous program."""
_DIGITS = re.compile(r"0x[0-9a-f]+|[0-9a-f]{64}")


class BundleError(ValueError):
    """An archive that cannot be written, or must not be run: one line."""


@dataclass(frozen=True)
class Manifest:
    """The content of manifest.json.

    flags: XLA's options, or IREE's. machine: its kind. values: where the inputs are from. shown: the lines that
    reproduce.py printed.
    """

    compiler: str
    versions: dict[str, str]
    flags: dict[str, str | bool | int | float] | list[str]
    machine: dict[str, str | int]
    values: str
    shown: list[str]


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
        values = "drawn by a seed" if case.arguments is None else "from the search"
        if is_anonymous:
            values = values if case.arguments is None else "drawn with the moments of the search's inputs"
            case = _anonymous(case, found, spec, evaluator)
        with tempfile.TemporaryDirectory(prefix="stackwars-") as temporary:
            files = Path(temporary)
            shown = _shown(case, files, spec, is_anonymous)
            if is_anonymous:
                _describe(case, found, shown, files)
            else:
                shutil.copy(folder / "explain.json", files / ANSWER)
                shutil.copy(folder / "explain.md", files / REPORT)
            versions = answer.table.versions.get(spec.name, {})
            manifest = Manifest(spec.name, versions, case.options, _machine(), values, shown)
            documents.write(files / MANIFEST, asdict(manifest))
            if is_anonymous:
                modules = (standalone, reproducer, answers, sys.modules[__name__])
                public = public_words(modules, case.program + case.other, spec.name, str(_machine()))
                if left := names_left(files, names_of(answer, programs, folder), public):
                    raise BundleError(f"expected no name in an anonymous bundle, got {left}; fix: rename it")
            shutil.make_archive(str(path.with_suffix("")), "zip", files)
    except (ValueError, OSError, Failed) as error:
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
    """Return the case of a gap between two programs. Its inputs are left out if they are too large."""
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
    if sum(map(_bytes, values)) > MOST_INPUTS:
        values = [None, None]
    packages = (f"{name}=={version}" for name, version in table.versions.get(spec.name, {}).items())
    return Case(
        f"{spec.name}: {found.a} takes longer than {found.b}: {found.detail}\n"
        f"Seen with: pip install {' '.join(packages)}",
        *(spec.module, spec.options if spec.is_xla else iree.flags(spec.options)),
        *(texts[0], types[0], values[0]),
        other=texts[1],
        other_types=types[1],
        other_arguments=values[1],
        bound=table.bound,
    )


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
        if trial.status in (Status.NOT_JUDGED, Status.ERROR):
            raise BundleError(
                f"without names, it is {trial.status}: {trial.outcome.detail}; fix: BUNDLE={PLAIN}"
            )
        expected = trial.expected or trials.expected(whole, trials.arguments(whole))
        right = None if expected.reason else expected
        return replace(case, checks=None, expected=right, results=trial.results)


def _shown(case: Case, folder: Path, spec: CompilerSpec, is_anonymous: bool) -> list[str]:
    """Write a case into a folder and return the lines that its reproducer prints, without names if it is anonymous.

    :raises BundleError: if the reproducer does not show the finding.
    """
    status, printed = reproducer.show(case, folder, spec.python)
    lines = printed.splitlines()
    if status != 1 or not _fault(lines):
        fix = f"; fix: BUNDLE={PLAIN}" if is_anonymous else ""
        raise BundleError(f"its reproducer does not show it in a fresh process: {' '.join(lines[-2:])}{fix}")
    return [line for line in lines if _SHOWN.match(line)] if is_anonymous else lines


def _describe(case: Case, found: Fault | Cause, shown: Sequence[str], folder: Path) -> None:
    """Write the answer and the draft of a report without names."""
    documents.write(folder / ANSWER, {key: value for key, value in asdict(found).items() if key in FACTS})
    lines = [f"# {case.doc}", "", f"`python {REPRODUCER}`:", "", "```", *shown, "```", ""]
    (folder / REPORT).write_text("\n".join([*lines, "```mlir", case.program.strip(), "```", ""]))


def _kind(found: Fault | Cause) -> str:
    return str(found.kind) if isinstance(found, Fault) else "gap" if found.b else "long compilation"


def _machine() -> dict[str, str | int]:
    """Return the kind of this machine, without its name."""
    return {key: value for key, value in machine.record().items() if key in ("cpu_model", "cores", "os")}


# Names that an anonymous bundle must not have


def names_of(answer: Answer, programs: Sequence[Program], folder: Path) -> set[str]:
    """Return words that tell where programs are from: their identifiers, files, source lines, this user and machine."""
    found = {socket.gethostname(), machine.node()}
    with contextlib.suppress(KeyError, OSError):  # a user without a name
        found.add(getpass.getuser())
    texts = [answer.name, answer.title, answer.command, *answer.programs.values(), *answer.sizes]
    for place in (Path.cwd(), Path.home(), folder.resolve(), Path(answer.inputs), Path(answer.workload)):
        found.update(place.parts)
        texts.append(str(place))
    for program in programs:
        texts += [program.label, program.file, *filter(None, set(program.sources))]
        if isinstance(program.text, str):
            texts += [" ".join(filter(None, match.groups())) for match in _NAMED.finditer(program.text)]
    found.update(word for text in texts for word in _WORD.findall(text))
    return {name.lower() for name in found if len(name) > 2}


def public_words(modules: Iterable[ModuleType], programs: str, *others: str) -> set[str]:
    """Return words that tell nothing: of this package's modules, of StableHLO's operations, and of other texts."""
    operations = re.findall(r"\b(?:stablehlo|chlo|mhlo)\.(\w+)", programs)
    text = " ".join([*map(inspect.getsource, modules), *operations, *others, _SYNTAX])
    return set(_WORD.findall(text.lower()))


def names_left(folder: Path, names: Iterable[str], public: Iterable[str]) -> str:
    """Return the first name found in a folder's files, with its file; "" if there is none.

    public: words that are no names. Programs may have no identifiers, strings and comments but those that every
    anonymous one has, and .npz files numbers alone.
    """
    public = set(public)
    wanted = sorted(set(names) - public)
    for path in sorted(folder.iterdir()):
        if path.suffix == ".npz":
            for name, array in read_npz(path).items():
                if not re.fullmatch(r"(?:[ab]|at|right)\d+", name) or array.dtype.kind not in "biufc":
                    return f"{path.name}: {name}"
            continue
        text = path.read_text()
        for match in _NAMED.finditer(text) if path.suffix == ".mlir" else ():
            if not _NO_NAME.fullmatch(next(filter(None, match.groups()), "")):
                return f"{path.name}: {match[0]}"
        words = {word for word in re.findall(r"\w+", text.lower()) if not _DIGITS.fullmatch(word)} - public
        for name in wanted:
            if name.isidentifier():
                found = next(
                    (word for word in words if name == word or (len(name) > SHORT and name in word)), ""
                )
            else:
                found = name if name in text.lower() else ""
            if found:
                return f"{path.name}: {found}"
    return ""


# Again


def rerun(path: Path, python: Path | str = "") -> tuple[str, str]:
    """Run an archive's case in an environment; return (FIXED, STILL, DIFFERENT or NOT_DECIDED, in words).

    python: the environment's, which has a compiler and NumPy; by default this one.

    :raises BundleError: for an archive that is none, before anything runs.
    """
    with tempfile.TemporaryDirectory(prefix="stackwars-") as temporary:
        manifest, case = read(path, Path(temporary) / "read")
        status, printed = reproducer.show(replace(case, doc=BUNDLE), Path(temporary) / "run", python)
    return verdict(manifest, status, printed.splitlines())


def verdict(manifest: Manifest, status: int, lines: Sequence[str]) -> tuple[str, str]:
    """Return the verdict on what a reproducer prints now, and both results in words."""
    both = printable(f"{_described(lines)}; recorded: {_described(manifest.shown)}")
    if status not in (0, 1) or (status == 1 and not _fault(lines)):
        return NOT_DECIDED, both
    # Nothing was repaired in a release that had the fault.
    if status == 0 and any(f"{name} {version}" in lines for name, version in manifest.versions.items()):
        return NOT_DECIDED, f"{both}; it is the same release"
    if status == 1 and _is_alike(lines, manifest.shown):
        return STILL, both
    return FIXED if status == 0 else DIFFERENT, both


def _is_alike(lines: Sequence[str], shown: Sequence[str]) -> bool:
    """Return whether two runs show one fault, at one of the same places, or gaps of about the same size."""
    texts = ["\n".join(lines), "\n".join(shown)]
    faults = {re.sub(r"\d+", "N", _fault(one)) for one in (lines, shown)}
    now, then = (set(re.findall(r"result \d+, element [^:]*", text)) for text in texts)
    ratios = [float(one[1]) for text in texts if (one := re.search(r"ratio (\d+\.\d+) \(", text))]
    # By their logarithms, half to twice as large.
    is_near = len(ratios) < 2 or ratios[1] ** 0.5 <= ratios[0] <= ratios[1] ** 2
    return len(faults) == 1 and is_near and (not now or not then or bool(now & then))


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
    """Return the manifest and the case of an archive, whose data alone are written into a folder.

    :raises BundleError: for other files, and for a case that could write files or call back into Python.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            data = [
                one for one in archive.infolist() if one.filename in (MANIFEST, CASE, INPUTS, PROGRAM, OTHER)
            ]
            if (size := sum(one.file_size for one in data)) > MOST_BYTES:
                raise ValueError(f"expected at most {MOST_BYTES >> 20} MiB, got {size >> 20}")
            archive.extractall(folder, data)
        manifest = answers.parse(Manifest, documents.read(folder / MANIFEST))
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
