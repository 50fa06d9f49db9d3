"""Read and write a program's text, and find a missing program's reason, precision, type and source lines in it.

It serves processes that have no MLIR bindings, such as torch's, or that must not wait for a parser.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from pathlib import Path, PurePosixPath

import numpy as np

NO_PROGRAM = "// no program:"
"""First words of a file with the reason for a missing program."""
MOST_BYTES = 1 << 30
"""The largest file that is read: a small packed one may unpack to any size."""
LEGALISE = (
    "builtin.module(func.func(chlo-legalize-to-stablehlo,stablehlo-legalize-deprecated-ops,"
    "stablehlo-legalize-composite-to-call))"
)
"""MLIR's passes that leave only StableHLO; nested in func.func, as the composites' legalisation requires."""
_TYPE = re.compile(r"tensor<(?:\d+x|\?x)*([a-z]\w*)")
_DEFINED = re.compile(r"^(#loc\d*) = loc\((.*)\)\s*$")
_DONATED = re.compile(
    r", {0}| \{{{0}\}}|(?<=\{{){0}, ".format(
        r"(?:tf\.aliasing_output = \d+ : i32|jax\.buffer_donor = true|mhlo\.input_output_alias = \[[^\]]*\])"
    )
)
"""Attribute of an argument whose memory a result takes over."""


def read(path: Path) -> str:
    """Return the text of a file, unpacked if its name ends in .gz. Raises OSError."""
    return read_bytes(path).decode()


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file, unpacked if its name ends in .gz.

    :raises OSError: if it cannot be read, is not packed, or has more than MOST_BYTES.
    """
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        try:
            data = file.read(MOST_BYTES + 1)
        except (EOFError, zlib.error) as error:
            raise OSError(str(error)) from None
    if len(data) > MOST_BYTES:
        raise OSError(f"more than {MOST_BYTES / 2**30:g} GiB")
    return data


def write(path: Path, text: str) -> None:
    """Write a text into a packed file, whose bytes depend on its name and the text alone."""
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        file.write(text.encode())


def no_program_line(why: str) -> str:
    """Return the text of a file without a program."""
    return f"{NO_PROGRAM} {why}".splitlines()[0] + "\n"


def missing_reason(text: str) -> str | None:
    """Return the reason if the text is the line that a cell or a lowering writes without a program; else None."""
    line = text.strip()
    return line.removeprefix(NO_PROGRAM).strip() if line.startswith(NO_PROGRAM) else None


def refusal(text: str) -> str:
    """Return why no worker can run a program that compilers may accept; "" if nothing is known against it."""
    if text.lstrip().startswith("HloModule"):
        return (
            "expected StableHLO, got HLO; fix: print the program before XLA has it, by "
            "`jax.jit(f).lower(x).as_text()` or `xm.get_stablehlo([y])`"
        )
    if "!quant." in text:
        return "expected elements of plain types, got quantised ones (!quant); fix: dequantise them"
    if match := re.search(r"\bxla\w*_python_\w*callback\b", text):
        return (
            f"it calls back into the Python process that made it ({match[0]}), so no other process can run it"
        )
    if (match := re.search(r"mhlo\.num_partitions = (\d+)", text)) and int(match[1]) > 1:
        return f"it is divided among {match[1]} devices and a worker has one; fix: lower it for one device"
    return ""


def readback(text: str) -> dict[str, str]:
    """Return `precision` and `dtype` of a program's dot_general, dot and convolution operations.

    Several values are joined by `+` in alphabetical order. Without any product, precision is empty and dtype is the
    results' type. Both are empty if the text is not a program.
    """
    precisions: set[str] = set()
    types: set[str] = set()
    for product in re.findall(r"\"?stablehlo\.(?:dot_general|dot|convolution)\b.*", text):
        # dot and dot_general have `precision = [A, B]`, convolution `precision_config = [#stablehlo<precision A>`.
        listed = re.search(r"precision(?: = \[|_config = \[)([^\]]*)\]", product)
        levels = re.findall(r"\b(DEFAULT|HIGHEST|HIGH)\b", listed[1]) if listed else []
        precisions.update(levels or ["DEFAULT"])
        types.update(_TYPE.findall(product))
    if not types:
        results = re.search(r"^    return .*? : (.*)$", text, re.MULTILINE)
        types.update(_TYPE.findall(results[1]) if results else [])
    return {"precision": "+".join(sorted(precisions)), "dtype": "+".join(sorted(types))}


def source_lines(text: str) -> list[str | None] | None:
    """Return the file of each line, by its last folder and name, and its line; None for a text without locations.

    >>> source_lines('%0 = stablehlo.tanh %a : tensor<2xf32> loc("/home/x/workloads/mha.py":31:8)')
    ['workloads/mha.py:31']
    """
    lines = text.splitlines()
    aliases = {match[1]: match[2] for line in lines if (match := _DEFINED.match(line))}
    sources = [
        _resolved(used[1], aliases, frozenset())
        if not _DEFINED.match(line) and (used := re.search(r"\bloc\((.*)\)\s*$", line))
        else None
        for line in lines
    ]
    return sources if any(sources) else None


def sources_of_plain(plain: str, located: str) -> list[str | None] | None:
    """Return the source of each line of a text, from the same text printed with locations; None if it has none.

    :raises ValueError: if they are not line by line the same text.
    """
    sources = source_lines(located)
    if sources is None:
        return None
    located_lines = zip(located.splitlines(), sources, strict=True)
    result = [source for line, source in located_lines if not _DEFINED.match(line)]
    count = len(plain.splitlines())
    if len(result) != count:
        raise ValueError(
            f"expected the {count} lines of the plain text, got {len(result)}; fix: print both from one program"
        )
    return result


def dump_sources(sources: list[str | None]) -> dict:
    """Return sources as JSON: each name once, and the number of each line's name, or -1, in one string."""
    names = sorted({source for source in sources if source})
    places = {name: place for place, name in enumerate(names)} | {None: -1}
    return {"names": names, "lines": " ".join(str(places[source]) for source in sources)}


def load_sources(document: dict) -> list[str | None]:
    """Return the sources that `dump_sources` wrote."""
    names = [*document["names"], None]
    return [names[int(place)] for place in document["lines"].split()]


def short_path(path: str) -> str:
    """Return a path's last folder and name."""
    return "/".join(PurePosixPath(path).parts[-2:])


def place(location: str) -> str:
    """Return "file:line" of an MLIR location, with the file's `short_path`; "" if it has none.

    >>> place('loc("jit(f)/add"("/home/x/softmax.py":12:4))')
    'x/softmax.py:12'
    """
    match = re.search(r'"([^"]+)":(\d+):\d+', location)
    return f"{short_path(match[1])}:{match[2]}" if match else ""


def _resolved(location: str, aliases: dict[str, str], seen: frozenset[str]) -> str | None:
    """Return the first file of a location or of the locations that it refers to."""
    if file := place(location):
        return file
    for alias in re.findall(r"#loc\d*", location):
        if alias in aliases and alias not in seen:
            source = _resolved(aliases[alias], aliases, seen | {alias})
            if source:
                return source
    return None


def not_donated(text: str) -> str:
    """Return the program without the attributes by which a result takes over an argument's memory."""
    return _DONATED.sub("", text)


def readable(text: str) -> str:
    """Return the program in a form that every generation of MLIR reads: truth values one by one.

    In hexadecimal, LLVM of 2025 printed them as bits (jaxlib 0.7.1, TensorFlow 2.21), and the next prints and reads
    bytes.
    """
    return re.sub(r'dense<"0x([0-9A-Fa-f]+)"> : tensor<((?:\d+x)+)i1>', _spelled_out, text)


def _spelled_out(match: re.Match) -> str:
    digits, extents = match.groups()
    shape = [int(extent) for extent in extents.split("x")[:-1]]
    count, data = math.prod(shape), bytes.fromhex(digits)
    values = np.frombuffer(data, np.uint8)
    if len(data) == math.ceil(count / 8):
        values = np.unpackbits(values, count=count, bitorder="little")
    elif len(data) != count:
        return match[0]
    return f"dense<{json.dumps(values.astype(bool).reshape(shape).tolist())}> : tensor<{extents}i1>"


def with_chlo_erf(text: str) -> str:
    """Return the program with CHLO's error function in place of the custom call that torch_xla emits for it."""
    call = r"stablehlo\.custom_call @mhlo\.erf\((%[\w#]+)\)(?: \{.*\})? : \((tensor<\S+>)\) -> (tensor<\S+>)"
    return re.sub(call, r"chlo.erf \1 : \2 -> \3", text)


def with_custom_erf(text: str) -> str:
    """Return the program with the custom call of the error function that all releases of XLA know, not CHLO's."""
    call = r"stablehlo.custom_call @mhlo.erf(\1) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (\2) -> \3"
    return re.sub(r"chlo\.erf (%[\w#]+) : (tensor<\S+>) -> (tensor<\S+>)", call, text)
