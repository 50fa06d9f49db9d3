"""Judge what a program gave by its expected values.

`expected.npz` has them: `output0` and `output1`, the output of a call with each set of inputs (`output0/1` and so on
are further results), and `state/<name>`, what
the first call leaves of a workload that updates its state. `expected.json` says who computed them and the limits of
the errors. Both are made by `stackwars.compilers.expected`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.measure import documents
from stackwars.measure.agreement import Agreement, agreement

ARRAYS, DOCUMENT = "expected.npz", "expected.json"
OUTPUT = "output"
"""The name of the result that a call returns; of several, the others are output/1, output/2 and so on."""
OUTPUTS = "values.npz"
"""What a process leaves of its outputs: {"<call>/<key of the expected values>": array}."""


def output_names(count: int) -> list[str]:
    """Return the names of a call's results."""
    return [f"{OUTPUT}/{number}" if number else OUTPUT for number in range(count)]


def value_key(name: str, which: int) -> str | None:
    """Return the key of a result's expected values, of a call with this set of inputs; None if it has none.

    What a program updates is expected after the first call alone.
    """
    output, _, number = name.partition("/")
    if output == OUTPUT:
        return f"{OUTPUT}{which}/{number}" if number else f"{OUTPUT}{which}"
    return f"state/{name}" if which == 0 else None


def output_values(returned: np.ndarray | tuple[np.ndarray, ...], which: int) -> dict[str, np.ndarray]:
    """Return what a call with this set of inputs returned, an array or several, by the keys of expected values."""
    each = returned if isinstance(returned, tuple) else (returned,)
    return {value_key(name, which): value for name, value in zip(output_names(len(each)), each, strict=True)}


@dataclass(frozen=True)
class Expected:
    """The expected values of a workload at some sizes.

    judge: what computed them; reason: why there are none, else ""; disputed: whether that is because two frontends'
    programs compute different things. limits: of the relative L2 error and of an element's error over the largest
    value, by key. values: by key; a file's are read as they are used.
    """

    judge: str
    reason: str
    limits: dict[str, float]
    values: Mapping[str, np.ndarray]
    disputed: bool = False


def write(folder: Path, values: Mapping[str, np.ndarray], document: dict[str, Any]) -> None:
    """Write expected values, and in the document their judge, reason and limits.

    Values in float64 are written in float32 if its rounding is far below their limit.
    """
    folder.mkdir(parents=True, exist_ok=True)
    half = 2.0**-25
    small = {
        key: value.astype(np.float32)
        if value.dtype == np.float64 and document["limits"][key] > 8 * half and _fits_float32(value)
        else value
        for key, value in values.items()
    }
    np.savez(folder / ARRAYS, **small)
    documents.write(folder / DOCUMENT, document)


def _fits_float32(values: np.ndarray) -> bool:
    size = np.abs(values[np.isfinite(values)])
    return not size.size or bool(size.max() < np.finfo(np.float32).max)


def read(folder: Path) -> Expected:
    """Read the expected values in a folder."""
    document = documents.read(folder / DOCUMENT)
    values = {} if document["reason"] else np.load(folder / ARRAYS)
    is_disputed = document.get("disputed", False)
    return Expected(document["judge"], document["reason"], document["limits"], values, is_disputed)


def judge(outputs: Mapping[str, np.ndarray], expected: Expected) -> dict[str, Any] | None:
    """Return the verdict on a program's outputs, of the worst of them; None if there are no expected values.

    outputs: {"<call>/<key>": array}. {"judge", "wrong", "total", "l2", "largest", "where", "limit", "flaky"}: as of
    `Agreement`, and None for an infinite error; flaky: calls with the same inputs differ, and one of them is wrong.
    """
    if expected.reason:
        return None
    worst, limit, flaky = Agreement(0, 0, 0.0, 0.0), 0.0, False
    for key, right in expected.values.items():
        calls = [outputs[name] for name in outputs if name.partition("/")[2] == key]
        verdicts = [agreement(values, right, expected.limits[key]) for values in calls]
        if not calls:
            verdicts = [Agreement(right.size, right.size, np.inf, np.inf, f"no result {key}")]
        differ = any(values.tobytes() != calls[0].tobytes() for values in calls[1:])
        flaky |= differ and any(verdict.wrong for verdict in verdicts)
        for verdict in verdicts:
            if not worst.total or (bool(verdict.wrong), verdict.largest) > (bool(worst.wrong), worst.largest):
                worst, limit = verdict, expected.limits[key]
    return {
        "judge": expected.judge,
        **{key: getattr(worst, key) for key in ("wrong", "total", "where")},
        **{
            key: float(error) if np.isfinite(error := getattr(worst, key)) else None
            for key in ("l2", "largest")
        },
        "limit": limit,
        "flaky": flaky,
    }


def worst(verdicts: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Return the worst of several processes' verdicts; None if none was judged."""
    known = [verdict for verdict in verdicts if verdict]
    if not known:
        return None
    result = max(known, key=lambda verdict: (bool(verdict["wrong"]), _or_infinite(verdict["largest"])))
    wrong = sum(bool(verdict["wrong"]) for verdict in known)
    return result | {"flaky": 0 < wrong < len(known) or any(verdict["flaky"] for verdict in known)}


def _or_infinite(error: float | None) -> float:
    return np.inf if error is None else error


def problem(verdict: dict[str, Any] | None) -> str:
    """Return what is wrong, in words; "" if nothing is, or nothing was judged."""
    if not verdict or not verdict["wrong"]:
        return ""
    kind = "flaky: " if verdict["flaky"] else ""
    error = "" if verdict["largest"] is None else f", largest error {verdict['largest']:.1e}"
    where = f" ({verdict['where']})" if verdict["where"] else ""
    return f"{kind}{verdict['wrong']:,} of {verdict['total']:,} elements wrong{where}{error}, by {verdict['judge']}"
