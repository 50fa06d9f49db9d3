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

from stackwars.explain import standalone
from stackwars.explain.graph import dtype, shape
from stackwars.measure.agreement import errors
from stackwars.setup.environments import clean_environ

REPRODUCER, PROGRAM, INPUTS = "reproduce.py", "reduced.mlir", "inputs.npz"
TEXT = 40_000
"""Most characters of a program inside the file."""
VALUES = 256
"""Most numbers of one array inside the file."""
CHECKED = 16
"""How many wrong elements of a large result are checked."""
SEED = 0
_HEADER = '''"""{doc}

usage: python {name}; it exits with 1 while the fault is there, with 0 once it is gone.
"""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

'''


@dataclass(frozen=True)
class Fault:
    """What a reproducer shows.

    doc: lines about the fault. module: xla or iree. options: XLA's debug options, or IREE's flags. program: text.
    arguments: values; None for those from `seeded`, which all are or none. expected: the right results, [] if the fault
    is not a wrong value. results: what the compiler gave in place of them. limits: of each result's errors.
    """

    doc: str
    module: str
    options: dict[str, Any] | list[str]
    program: str
    types: Sequence[tuple[tuple[int, ...], np.dtype]]
    arguments: Sequence[np.ndarray] | None
    expected: Sequence[np.ndarray] = ()
    results: Sequence[np.ndarray] = ()
    limits: Sequence[float] = ()
    timeout_s: float = 120


def seeded(types: Sequence[tuple[tuple[int, ...], np.dtype]]) -> list[np.ndarray]:
    """Return values of these shapes and element types, the same in every process."""
    rng = np.random.default_rng(SEED)
    return [
        rng.standard_normal(shape).astype(dtype)
        if np.dtype(dtype).kind in "fc"
        else rng.integers(0, 2, shape).astype(dtype)
        for shape, dtype in types
    ]


def array_types(kinds: Sequence[str]) -> list[tuple[tuple[int, ...], np.dtype]]:
    """Return shape and element type of each type of a tensor, as MLIR writes it."""
    return [(shape(kind), dtype(kind)) for kind in kinds]


def write(fault: Fault, folder: Path) -> Path:
    """Write the reproducer and the files that it needs into a folder; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PROGRAM).write_text(fault.program)
    arrays: dict[str, np.ndarray] = {}
    arguments = _arguments(fault, arrays)
    expected = [_expected(*row) for row in zip(fault.expected, fault.results, fault.limits, strict=True)]
    program = f"(HERE / {PROGRAM!r}).read_text()"
    if len(fault.program) <= TEXT and '"""' not in fault.program:
        program = f'r"""\n{fault.program}"""'
    loaded = f"INPUTS = np.load(HERE / {INPUTS!r})\n" if arrays else ""
    compile_program = getattr(standalone, f"compile_{fault.module}")
    used = (compile_program, standalone.wrong_elements, standalone.check, standalone.main)
    text = (
        _HEADER.format(doc=fault.doc.replace('"""', "'''").replace("\\", "/").strip(), name=REPRODUCER)
        + "HERE = Path(__file__).resolve().parent\n"
        + "nan, inf = np.nan, np.inf\n"
        + f"WRONG, REFUSED = {standalone.WRONG}, {standalone.REFUSED}  # exit statuses of the child\n"
        + f"PROGRAM = {program}\n{loaded}"
        + "".join(f"{line}\n" for line in arguments)
        + "EXPECTED = [  # at: places in the flattened result; an error over limit * scale is a fault\n"
        + "".join(f"    {row!r},\n" for row in expected)
        + "]\n\n\n"
        + "\n\n".join(inspect.getsource(function) for function in used)
        + '\n\nif __name__ == "__main__":\n'
        + f'    case = {{"program": PROGRAM, "options": {fault.options!r}, "arguments": ARGUMENTS, '
        + '"expected": EXPECTED}\n'
        + f"    main(case, {compile_program.__name__}, {fault.timeout_s!r})\n"
    )
    if arrays:
        np.savez_compressed(folder / INPUTS, **arrays)
    else:
        (folder / INPUTS).unlink(missing_ok=True)
    path = folder / REPRODUCER
    path.write_text(text)
    return path


def _arguments(fault: Fault, arrays: dict[str, np.ndarray]) -> list[str]:
    """Return the lines that define ARGUMENTS; adds large values to `arrays`."""
    if fault.arguments is None:
        source = inspect.getsource(seeded).replace(": Sequence[tuple[tuple[int, ...], np.dtype]]", "")
        source = source.replace(" -> list[np.ndarray]", "")
        types = [(tuple(shape), np.dtype(dtype).name) for shape, dtype in fault.types]
        return [f"SEED = {SEED}", "", "", source, "", f"ARGUMENTS = seeded({types!r})"]
    lines = ["ARGUMENTS = ["]
    for number, array in enumerate(fault.arguments):
        if array.size <= VALUES:
            inside = f"np.array({_numbers(array)}, {array.dtype.name!r}).reshape({array.shape})"
        else:
            arrays[f"a{number}"] = array
            inside = f'INPUTS["a{number}"]'
        lines.append(f"    {inside},")
    return [*lines, "]"]


def _numbers(array: np.ndarray) -> str:
    """Return the elements as Python writes them, each with no more digits than its type needs."""
    written = [str(one) if array.dtype.kind == "f" else repr(one.item()) for one in array.ravel()]
    return f"[{', '.join(written)}]"


def _expected(right: np.ndarray, found: np.ndarray, limit: float) -> dict[str, Any]:
    """Return what is checked of a result: every element if they are few, else some of the wrong ones."""
    flat, values = np.asarray(right).ravel(), np.asarray(found).ravel()
    places: Sequence[int] = range(flat.size)
    if flat.size > VALUES:
        wrong = np.flatnonzero(errors(values, flat, limit)[0])
        chosen = wrong if wrong.size else np.arange(flat.size)
        places = chosen[np.unique(np.linspace(0, len(chosen) - 1, CHECKED).astype(int))].tolist()
    finite = np.abs(flat[np.isfinite(flat)])
    return {
        "at": places,
        "values": [_short(one.item(), limit) for one in flat[list(places)]],
        "scale": float(finite.max(initial=0)) or 1.0,
        "limit": limit if flat.dtype.kind in "fc" else 0,
    }


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
