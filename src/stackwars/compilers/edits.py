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

from stackwars.compilers import arguments, edit_rewrites, stablehlo
from stackwars.compilers.arguments import Entry
from stackwars.ir.program_text import missing_reason, no_program_line
from stackwars.setup.environments import why_unavailable

_OPERANDS = "precision_config"
_HIGHEST, _DEFAULT = "#stablehlo<precision HIGHEST>", "#stablehlo<precision DEFAULT>"


class Edit(NamedTuple):
    """One edit. changes: what it does to a program, a sentence. apply: (module, entries) -> the
    entries as they are after it; it changes the module in place, and raises ValueError where the
    program has nothing of the kind. Run it where the module's context and a location are current.
    """

    changes: str
    apply: Callable[[Any, list[Entry]], list[Entry]]


def _erf_for_erfc(module: Any, entries: list[Entry]) -> list[Entry]:
    """Replace every `chlo.erfc(x)` by `1 - chlo.erf(x)`.

    GELU multiplies by the result, so that the rounding (an absolute 6e-8) stays far below parity.
    """
    from jaxlib.mlir import ir

    found = stablehlo.named(module, "chlo.erfc")
    if not found:
        raise ValueError("expected a program with chlo.erfc; this has none: no edit to make")
    for op in found:
        with ir.InsertionPoint(op):
            kind = op.results[0].type
            erf = stablehlo.make("chlo.erf", kind, [op.operands[0]])
            one = stablehlo.constant(1.0, erf, stablehlo.shape(erf))
            result = stablehlo.make("stablehlo.subtract", kind, [one, erf])
        op.results[0].replace_all_uses_with(result)
        op.erase()
    return entries


def _default_precision(module: Any, entries: list[Entry]) -> list[Entry]:
    """Change every HIGHEST of a product's operands to DEFAULT, which a TPU computes from bfloat16.

    On a CPU both give the same values. An operand without a precision is at DEFAULT.
    """
    from jaxlib.mlir import ir

    products = [
        op
        for name in ("stablehlo.dot_general", "stablehlo.convolution")
        for op in stablehlo.named(module, name)
    ]
    result = [op for op in products if _OPERANDS in op.attributes and _HIGHEST in str(op.attributes[_OPERANDS])]
    if not result:
        raise ValueError("expected a product at HIGHEST precision; this has none: no edit to make")
    for op in result:
        changed = str(op.attributes[_OPERANDS]).replace(_HIGHEST, _DEFAULT)
        op.attributes[_OPERANDS] = ir.Attribute.parse(changed)
    return entries


EDITS = {
    "pretransposed_weights": Edit(
        "Weights that the program transposes in every call are handed over transposed: those of a "
        "matrix multiplication as (in, out), of a convolution as (height, width, in, out).",
        edit_rewrites.pretranspose_weights,
    ),
    "explicit_layernorm": Edit(
        "Layer normalisation written as batch_norm_training over reshaped rows becomes arithmetic "
        "with the same formula on the last axis of the array as it was before the reshape.",
        edit_rewrites.spell_out_layernorm,
    ),
    "erf_for_erfc": Edit(
        "The complementary error function, which XLA expands into two polynomials and an "
        "exponential, becomes one minus the error function.",
        _erf_for_erfc,
    ),
    "default_precision": Edit(
        "Matrix multiplications and convolutions at the highest precision are at the default one.",
        _default_precision,
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
    result = []
    for name in EDITS:
        try:
            apply(text, entries, name)
        except ValueError:
            continue
        result.append(name)
    return result


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
    if why := missing_reason(text) or why_unavailable():
        text, entries = no_program_line(why), []
    else:
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
