"""Write a fault as one Python file that needs a compiler and NumPy alone, and run it in a fresh process.

reproduce.py has the program's text, its inputs and what was expected, unless they are large: then it reads
reduced.mlir and inputs.npz beside it. It exits with 1 while the fault is there and with 0 once it is gone.
"""

from __future__ import annotations

import inspect
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.core.judge import Expected, errors
from stackwars.core.launch import clean_environ
from stackwars.core.types import dtype, plain, shape
from stackwars.explain import standalone

REPRODUCER, PROGRAM, INPUTS, LOG = "reproduce.py", "reduced.mlir", "inputs.npz", "reproduce.log"
TEXT = 40_000
"""Most characters of a program inside the file."""
VALUES = 256
"""Most numbers of one array inside the file."""
CHECKED = 16
"""Wrong elements of a large result that are checked at most."""
SEED = 0
_HEADER = '''"""{doc}

usage: python {name}; it exits with 1 while the fault is there, with 0 once it is gone.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

'''


@dataclass(frozen=True)
class Case:
    """A fault that a reproducer shows.

    doc: lines about the fault. module: xla or iree. options: XLA's debug options, or IREE's flags. program: text.
    arguments: values; None for those from `seeded`, which all are or none. expected: the right results; None if they
    are not known. results: what the compiler gave in place of them; [] if it gave none. first: a small program.
    seconds: of the processor, from which on compiling is the fault; 0 for other faults.
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
    arrays: dict[str, np.ndarray] = {}
    arguments = _arguments(case, arrays)
    program = f"(HERE / {PROGRAM!r}).read_text()"
    if len(case.program) <= TEXT and '"""' not in case.program:
        program = f'r"""\n{case.program}"""'
    compile_program = getattr(standalone, f"compile_{case.module}")
    used = (
        *(compile_program, standalone.wrong_elements, standalone.check_compilation, standalone.check),
        standalone.main,
    )
    compilation = f', "first": {case.first!r}, "seconds": {case.seconds:.2f}' if case.seconds else ""
    is_plain = all(kind.isbuiltin == 1 for _, kind in case.types)
    doc = case.doc.replace('"""', "'''").replace("\\", "/").strip()
    text = [
        _HEADER.format(doc=doc, name=REPRODUCER),
        "" if is_plain else "import ml_dtypes  # names of element types\n",
        "import numpy as np\n\n",
        "HERE = Path(__file__).resolve().parent\n",
        "nan, inf = np.nan, np.inf\n",
        f"WRONG, REFUSED, LONG = {standalone.WRONG}, {standalone.REFUSED}, {standalone.LONG}"
        "  # exit statuses of the child\n",
        f"PROGRAM = {program}\n",
        f"INPUTS = np.load(HERE / {INPUTS!r})\n" if arrays else "",
        *(f"{line}\n" for line in arguments),
        "EXPECTED = [  # at: places in the flattened result; an error over limit * scale is a fault\n",
        *(f"    {row!r},\n" for row in _checks(case)),
        "]\n\n\n",
        "\n\n".join(inspect.getsource(function) for function in used),
        '\n\nif __name__ == "__main__":\n',
        f'    case = {{"program": PROGRAM, "options": {case.options!r}, "arguments": ARGUMENTS, ',
        f'"expected": EXPECTED{compilation}}}\n',
        f"    main(case, {compile_program.__name__}, {case.timeout_s!r})\n",
    ]
    if arrays:
        np.savez_compressed(folder / INPUTS, **arrays)
    else:
        (folder / INPUTS).unlink(missing_ok=True)
    path = folder / REPRODUCER
    path.write_text("".join(text))
    return path


def _arguments(case: Case, arrays: dict[str, np.ndarray]) -> list[str]:
    """Return the lines that define ARGUMENTS; adds large values to `arrays`."""
    if case.arguments is None:
        source = inspect.getsource(seeded).replace(": Sequence[tuple[tuple[int, ...], np.dtype]]", "")
        source = source.replace(" -> list[np.ndarray]", "")
        types = [(tuple(shape), np.dtype(dtype).name) for shape, dtype in case.types]
        return [f"SEED = {SEED}", "", "", source, "", f"ARGUMENTS = seeded({types!r})"]
    lines = ["ARGUMENTS = ["]
    for number, array in enumerate(case.arguments):
        if array.size <= VALUES:
            inside = f"np.array({_numbers(array)}, {array.dtype.name!r}).reshape({array.shape})"
        else:
            inside = f'INPUTS["a{number}"]'
            if array.dtype.isbuiltin != 1:
                # A .npz file has no name for the element type.
                inside += f".view({array.dtype.name!r})"
                array = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
            arrays[f"a{number}"] = array
        lines.append(f"    {inside},")
    return [*lines, "]"]


def _numbers(array: np.ndarray) -> str:
    """Return the elements as Python writes them, each with no more digits than its type needs."""
    array = plain(array)
    written = [str(one) if array.dtype.kind == "f" else repr(one.item()) for one in array.ravel()]
    return f"[{', '.join(written)}]"


def _checks(case: Case) -> list[dict[str, Any]]:
    """Return what is checked of each result: every element if they are few, else some of the wrong ones."""
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


def run(path: Path, python: Path | str, timeout_s: float) -> tuple[int, str]:
    """Run a reproducer in a fresh process; return (exit status, what it printed)."""
    environ = {key: value for key, value in clean_environ({}).items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(python), path.name], cwd=path.parent, env={**environ, "PYTHONFAULTHANDLER": ""},
        capture_output=True, text=True, errors="replace", timeout=timeout_s,
    )  # fmt: skip
    return done.returncode, (done.stdout + done.stderr).strip().replace(f"{path.parent}{os.sep}", "")
