"""Write a fault or a gap as one Python file that needs a compiler and NumPy alone, and run it in a fresh process.

reproduce.py has the program's text, its inputs and what was expected, unless they are large: then it reads
reduced.mlir and inputs.npz beside it. It exits with 1 while the fault is there and with 0 once it is gone. case.json
and inputs.npz have all of a case, so that `read` returns it.
"""

from __future__ import annotations

import inspect
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.core import documents
from stackwars.core.judge import Expected, errors
from stackwars.core.launch import clean_environ
from stackwars.core.types import DTYPES, dtype, plain, read_npz, shape
from stackwars.explain import answer, standalone

REPRODUCER, PROGRAM, INPUTS, LOG = "reproduce.py", "reduced.mlir", "inputs.npz", "reproduce.log"
CASE, OTHER = "case.json", "other.mlir"
TEXT = 40_000
"""Most characters of a program inside the file."""
VALUES = 256
"""Most numbers of one array inside the file."""
CHECKED = 16
"""Wrong elements of a large result that are checked at most."""
SEED = 0
TYPES = {np.dtype(kind).name: np.dtype(kind) for kind in DTYPES.values()}
_HEADER = '''"""{doc}

usage: python {name}; it exits with 1 while the fault is there, with 0 once it is gone.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

'''


@dataclass(frozen=True)
class Case:
    """A fault, or a gap between two programs, that a reproducer shows.

    doc: lines about the fault. module: xla or iree. options: XLA's debug options, or IREE's flags. program: text.
    arguments: values; None for those from `seeded`, which all are or none. expected: the right results; None if they
    are not known. results: what the compiler gave in place of them; [] if it gave none. first: a small program.
    seconds: of the processor, from which on compiling is the fault; 0 for other faults. other: a program that is
    faster by more than the bound, with its types and arguments. checks: what is compared of each result, if it was
    read; by default it follows from expected and results.
    """

    doc: str
    module: str
    options: dict[str, Any] | list[str]
    program: str
    types: Sequence[tuple[tuple[int, ...], np.dtype]]
    arguments: Sequence[np.ndarray] | None
    expected: Expected | None = None
    results: Sequence[np.ndarray] = ()
    timeout_s: float = 120
    first: str = ""
    seconds: float = 0.0
    other: str = ""
    other_types: Sequence[tuple[tuple[int, ...], np.dtype]] = ()
    other_arguments: Sequence[np.ndarray] | None = None
    bound: float = 0.0
    checks: Sequence[dict[str, Any]] | None = None


@dataclass(frozen=True)
class Check:
    """scale: the largest size of a result's right values. limit: of an error over it."""

    scale: float
    limit: float


@dataclass(frozen=True)
class Record:
    """The content of case.json: a `Case` without programs and arrays. Types are shapes with NumPy's names."""

    doc: str
    module: str
    options: dict[str, str | bool | int | float] | list[str]
    types: list[tuple[list[int], str]]
    other_types: list[tuple[list[int], str]]
    is_seeded: bool
    checks: list[Check]
    timeout_s: float
    first: str
    seconds: float
    bound: float


def seeded(types: Sequence[tuple[tuple[int, ...], np.dtype]]) -> list[np.ndarray]:
    """Return values of these shapes and element types, the same in every process."""
    rng = np.random.default_rng(SEED)
    return [
        rng.standard_normal(shape).astype(dtype)
        if "float" in np.dtype(dtype).name or np.dtype(dtype).kind == "c"
        else rng.integers(0, 2, shape).astype(dtype)
        for shape, dtype in types
    ]


def array_types(kinds: Sequence[str]) -> list[tuple[tuple[int, ...], np.dtype]]:
    """Return shape and element type of each type of a tensor, as MLIR writes it."""
    return [(shape(kind), dtype(kind)) for kind in kinds]


def write(case: Case, folder: Path) -> Path:
    """Write the reproducer and the files that it needs into a folder; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PROGRAM).write_text(case.program)
    (folder / OTHER).unlink(missing_ok=True)
    if case.other:
        (folder / OTHER).write_text(case.other)
    rows = _checks(case)
    _save(case, rows, folder)
    sides = [("ARGUMENTS", "a", case.types, case.arguments)]
    entry = {"program": "PROGRAM", "options": repr(case.options), "arguments": "ARGUMENTS"}
    compile_program = getattr(standalone, f"compile_{case.module}")
    used = [compile_program]
    if case.other:
        sides.append(("OTHERS", "b", case.other_types, case.other_arguments))
        entry |= {"other": "OTHER", "others": "OTHERS", "bound": repr(case.bound)}
        used += [standalone.time_both, standalone.compare]
        constants = "PROCESSES, STUDENT, SECONDS"
    else:
        entry["expected"] = "EXPECTED"
        if case.seconds:
            entry |= {"first": repr(case.first), "seconds": f"{case.seconds:.2f}"}
        used += [standalone.wrong_elements, standalone.check_compilation, standalone.check, standalone.main]
        constants = "WRONG, REFUSED, LONG"
    is_plain = all(kind.isbuiltin == 1 for _, kind in (*case.types, *case.other_types))
    is_large = any(array.size > VALUES for *_, arrays in sides for array in arrays or ())
    doc = case.doc.replace('"""', "'''").replace("\\", "/").strip()
    text = [
        _HEADER.format(doc=doc, name=REPRODUCER),
        "" if is_plain else "import ml_dtypes  # names of element types\n",
        "import numpy as np\n\n",
        "HERE = Path(__file__).resolve().parent\n",
        "nan, inf = np.nan, np.inf\n",
        f"{constants} = {', '.join(str(getattr(standalone, name)) for name in constants.split(', '))}\n",
        f"PROGRAM = {_text(case.program, PROGRAM)}\n",
        f"OTHER = {_text(case.other, OTHER)}\n" if case.other else "",
        f"INPUTS = np.load(HERE / {INPUTS!r})\n" if is_large else "",
        _seeded_source() if any(arrays is None for *_, arrays in sides) else "",
        *(f"{line}\n" for side in sides for line in _arguments(*side)),
        "EXPECTED = [  # at: places in the flattened result; an error over limit * scale is a fault\n",
        *(f"    {row!r},\n" for row in rows),
        "]\n\n\n",
        "\n\n".join(inspect.getsource(function) for function in used),
        '\n\nif __name__ == "__main__":\n',
        f"    case = {{{', '.join(f'{key!r}: {value}' for key, value in entry.items())}}}\n",
        f"    {used[-1].__name__}(case, {compile_program.__name__}, {case.timeout_s!r})\n",
    ]
    path = folder / REPRODUCER
    path.write_text("".join(text))
    return path


def _text(program: str, file: str) -> str:
    """Return a program as an expression of Python. A text that could end the literal is read from its file."""
    is_safe = '"""' not in program and program.endswith("\n")
    return f'r"""\n{program}"""' if is_safe and len(program) <= TEXT else f"(HERE / {file!r}).read_text()"


def _seeded_source() -> str:
    source = inspect.getsource(seeded).replace(": Sequence[tuple[tuple[int, ...], np.dtype]]", "")
    return f"SEED = {SEED}\n\n\n{source.replace(' -> list[np.ndarray]', '')}\n\n"


def _arguments(
    name: str,
    prefix: str,
    types: Sequence[tuple[tuple[int, ...], np.dtype]],
    arrays: Sequence[np.ndarray] | None,
) -> list[str]:
    """Return the lines that define a program's arguments. prefix: of the names of large ones in the inputs' file."""
    if arrays is None:
        return [f"{name} = seeded({[(tuple(shape), np.dtype(dtype).name) for shape, dtype in types]!r})"]
    lines = [f"{name} = ["]
    for number, array in enumerate(arrays):
        if array.size <= VALUES:
            inside = f"np.array({_numbers(array)}, {array.dtype.name!r}).reshape({array.shape})"
        else:
            inside = f'INPUTS["{prefix}{number}"]'
            if array.dtype.isbuiltin != 1:
                inside += f".view({array.dtype.name!r})"
        lines.append(f"    {inside},")
    return [*lines, "]"]


def _save(case: Case, rows: Sequence[dict[str, Any]], folder: Path) -> None:
    """Write case.json, and all arrays of a case."""
    types, other_types = (
        [(list(shape), np.dtype(dtype).name) for shape, dtype in one] for one in (case.types, case.other_types)
    )
    record = Record(
        *(case.doc, case.module, case.options, types, other_types, case.arguments is None),
        *([Check(row["scale"], row["limit"]) for row in rows], float(case.timeout_s), case.first),
        *(case.seconds, case.bound),
    )
    documents.write(folder / CASE, asdict(record))
    arrays = {f"at{number}": np.array(row["at"], np.int64) for number, row in enumerate(rows)}
    arrays |= {f"right{number}": np.array(row["values"]) for number, row in enumerate(rows)}
    for prefix, values in (("a", case.arguments), ("b", case.other_arguments)):
        for number, array in enumerate(values or ()):
            if array.dtype.isbuiltin != 1:
                # A .npz file has no name for the element type.
                array = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)
            arrays[f"{prefix}{number}"] = array
    np.savez_compressed(folder / INPUTS, **arrays)


def read(folder: Path) -> Case:
    """Return the case that `write` wrote into a folder. Nothing of it is executed.

    :raises ValueError: if the files hold something else.
    """
    record = answer.parse(Record, documents.read(folder / CASE))
    if record.module not in ("xla", "iree") or isinstance(record.options, list) != (record.module == "iree"):
        raise ValueError(f"{folder / CASE}: expected xla with options or iree with flags, got {record.module}")
    if not all(map(math.isfinite, (record.timeout_s, record.seconds, record.bound))):
        raise ValueError(f"{folder / CASE}: expected finite numbers, got another one")
    arrays = read_npz(folder / INPUTS)

    def numbers(name: str) -> np.ndarray:
        if name not in arrays:
            raise ValueError(f"{INPUTS}: expected numbers as {name}, got none; fix: pack it again")
        return arrays[name]

    def side(prefix: str, recorded: Sequence[tuple[list[int], str]]) -> tuple[list, list[np.ndarray] | None]:
        if strange := {name for _, name in recorded} - TYPES.keys():
            raise ValueError(f"expected an element type of {', '.join(TYPES)}, got {min(strange)}")
        types = [(tuple(extents), TYPES[name]) for extents, name in recorded]
        if record.is_seeded:
            return types, None
        return types, [
            numbers(f"{prefix}{number}").view(kind).reshape(at) for number, (at, kind) in enumerate(types)
        ]

    (types, values), (others, other_values) = side("a", record.types), side("b", record.other_types)
    checks = [
        {"at": numbers(f"at{number}").tolist(), "values": numbers(f"right{number}").tolist()} | asdict(check)
        for number, check in enumerate(record.checks)
    ]
    return Case(
        *(record.doc, record.module, record.options, (folder / PROGRAM).read_text(), types, values),
        timeout_s=min(record.timeout_s, 600.0),
        first=record.first,
        seconds=record.seconds,
        other=(folder / OTHER).read_text() if (folder / OTHER).exists() else "",
        other_types=others,
        other_arguments=other_values,
        bound=record.bound,
        checks=checks,
    )


def _numbers(array: np.ndarray) -> str:
    """Return the elements as Python writes them, each with no more digits than its type needs."""
    array = plain(array)
    written = [str(one) if array.dtype.kind == "f" else repr(one.item()) for one in array.ravel()]
    return f"[{', '.join(written)}]"


def _checks(case: Case) -> list[dict[str, Any]]:
    """Return what is checked of each result: every element if they are few, else some of the wrong ones."""
    if case.checks is not None:
        return list(case.checks)
    if case.expected is None:
        return []
    rows, expected = [], case.expected
    for number, (key, right) in enumerate(expected.values.items()):
        limit = expected.limits[key]
        right = plain(np.asarray(right)).ravel()
        values = plain(np.asarray(case.results[number])).ravel() if case.results else right
        places = np.flatnonzero(expected.certain.get(key, np.ones(right.size, bool)))
        if len(places) > VALUES:
            wrong = places[errors(values[places], right[places], limit)[0]]
            chosen = wrong if wrong.size else places
            places = chosen[np.unique(np.linspace(0, len(chosen) - 1, CHECKED).astype(int))]
        finite = np.abs(right[np.isfinite(right)])
        rows.append(
            {
                "at": range(right.size) if len(places) == right.size else places.tolist(),
                "values": [_short(one.item(), limit) for one in right[places]],
                "scale": float(finite.max(initial=0)) or 1.0,
                "limit": limit if right.dtype.kind in "fc" else 0,
            }
        )
    return rows


def _short(value: Any, limit: float) -> Any:
    """Return a number with no more digits than a comparison within the limit needs."""
    return float(f"{value:.9g}") if isinstance(value, float) and limit > 1e-8 else value


def show(case: Case, folder: Path, python: Path | str = "") -> tuple[int, str]:
    """Write a reproducer into a folder and run it; return (exit status, what it printed), 2 if it does not end.

    python: of an environment with the compiler; by default this one.
    """
    path = write(case, folder)
    try:
        processes = standalone.PROCESSES if case.other else 3
        return run(path, python or sys.executable, processes * (case.timeout_s + 10))
    except (subprocess.TimeoutExpired, OSError) as error:
        return 2, f"it did not run: {error}"


def run(path: Path, python: Path | str, timeout_s: float) -> tuple[int, str]:
    """Run a reproducer in a fresh process; return (exit status, what it printed)."""
    environ = {key: value for key, value in clean_environ({}).items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(python), path.name], cwd=path.parent, env={**environ, "PYTHONFAULTHANDLER": ""},
        capture_output=True, text=True, errors="replace", timeout=timeout_s,
    )  # fmt: skip
    return done.returncode, (done.stdout + done.stderr).strip().replace(f"{path.parent}{os.sep}", "")
