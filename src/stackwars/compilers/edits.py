"""Edited programs: one suspected cause of a difference changed, everything else left as it was.

An edit answers "is it this?": if the edited program is as fast as the other framework's, it was.
Runs in a compiler's environment. A program that is to be read by two generations of XLA is edited
in the older one, since each reads what an older one printed and not the reverse.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from stackwars.compilers import (
    arguments,
    edit_erf,
    edit_layernorm,
    edit_precision,
    edit_pretransposed_weights,
)
from stackwars.compilers.arguments import Entry


class Edit(NamedTuple):
    """One edit. changes: what it does to a program, a sentence. apply: (module, entries) -> the
    entries as they are after it; it changes the module in place, and raises ValueError where the
    program has nothing of the kind. Run it where the module's context and a location are current.
    """

    changes: str
    apply: Callable[[Any, list[Entry]], list[Entry]]


EDITS = {
    "pretransposed_weights": Edit(
        "Weights that the program transposes in every call are handed over transposed: those of a "
        "matrix multiplication as (in, out), of a convolution as (height, width, in, out).",
        edit_pretransposed_weights.apply,
    ),
    "explicit_layernorm": Edit(
        "Layer normalisation written as batch_norm_training over reshaped rows becomes arithmetic "
        "with the same formula on the last axis of the array as it was before the reshape.",
        edit_layernorm.apply,
    ),
    "erf_for_erfc": Edit(
        "The complementary error function, which XLA expands into two polynomials and an "
        "exponential, becomes one minus the error function.",
        edit_erf.apply,
    ),
    "default_precision": Edit(
        "Matrix multiplications and convolutions at the highest precision are at the default one.",
        edit_precision.apply,
    ),
}
"""{name: edit}. None of them knows a workload or a framework."""


def apply(text: str, entries: list[Entry], name: str) -> tuple[str, list[Entry]]:
    """(the program's text after the edit, its arguments' entries after the edit).

    entries: the program's arguments, in its order. Raises ValueError for an unknown edit, for
    entries that are not this program's, and where the program has nothing that the edit changes.
    """
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir

    if name not in EDITS:
        raise ValueError(f"expected one of the edits {', '.join(EDITS)}; got {name!r}")
    with mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        entries = EDITS[name].apply(module, entries)
        module.operation.verify()
        return str(module), entries


def applicable(text: str, entries: list[Entry]) -> list[str]:
    """The edits that would change this program, in the order of EDITS."""
    found = []
    for name in EDITS:
        try:
            apply(text, entries, name)
        except ValueError:
            continue
        found.append(name)
    return found


def main() -> None:
    """`python -m stackwars.compilers.edits`: an edited program, and its arguments.json beside it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--program", required=True, type=Path, help="folder with the program to edit")
    parser.add_argument("--edit", required=True, action="append", help="may be given several times")
    parser.add_argument("--output", required=True, type=Path, help="folder to write the edited one to")
    a = parser.parse_args()
    text = gzip.decompress((a.program / "program.mlir.gz").read_bytes()).decode()
    document, entries = arguments.load(a.program / "arguments.json")
    document["edited_from_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    for name in a.edit:
        text, entries = apply(text, entries, name)
    document["edits"] = a.edit
    document["program_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    document["arguments"] = arguments.dump(entries)
    a.output.mkdir(parents=True, exist_ok=True)
    with gzip.GzipFile(a.output / "program.mlir.gz", "wb", mtime=0) as file:
        file.write(text.encode())
    (a.output / "arguments.json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
