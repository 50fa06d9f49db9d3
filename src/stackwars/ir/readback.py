"""Precision and element type of a program's matrix products, read from its text alone.

For processes that have no MLIR bindings (torch's environment) and must not wait for a parser.
"""

from __future__ import annotations

import re

_PRODUCT = re.compile(r"\"?stablehlo\.(?:dot_general|dot|convolution)\b.*")
# dot_general and dot have `precision = [A, B]`, convolution `precision_config = [#stablehlo<precision A>`.
_PRECISION = re.compile(r"precision(?: = \[|_config = \[)([^\]]*)\]")
_LEVEL = re.compile(r"\b(DEFAULT|HIGHEST|HIGH)\b")
_TYPE = re.compile(r"tensor<(?:\d+x|\?x)*([a-z]\w*)")
_RETURN = re.compile(r"^    return .*? : (.*)$", re.MULTILINE)


def readback(text: str) -> dict[str, str]:
    """`precision` and `dtype` of a program's dot_general, dot and convolution operations.

    Several values are joined by `+` in alphabetical order. Without any product, precision is empty
    and dtype is that of the results. Both are empty where the text holds no program.
    """
    precisions: set[str] = set()
    types: set[str] = set()
    for product in _PRODUCT.findall(text):
        listed = _PRECISION.search(product)
        precisions.update((_LEVEL.findall(listed[1]) if listed else []) or ["DEFAULT"])
        types.update(_TYPE.findall(product))
    if not types:
        results = _RETURN.search(text)
        types.update(_TYPE.findall(results[1]) if results else [])
    return {"precision": "+".join(sorted(precisions)), "dtype": "+".join(sorted(types))}
