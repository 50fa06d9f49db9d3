"""Whether a program fits a device's memory, and who says so: the compiler, or the bytes.

The rule, in this order:

1. The compiler refused the program because the device's main memory (HBM) is too small: `oom`, decided
   by `compiler`. A refusal for want of on-chip memory, or of the host's, is an error and no verdict.
2. It accepted, but arguments + outputs + temporaries - aliases + code are over what a program may use:
   `oom`, decided by `bytes`. libtpu 0.0.21 accepts such programs: it does not add the outputs.
3. It accepted, and the bytes agree: `fits`, decided by `compiler`; decided by `bytes` where the
   compiler never refuses.

The code is in the sum because it lives in HBM: libtpu's own refusals count it ("overlays").
"""

from __future__ import annotations

import re

FITS, OOM = "fits", "oom"
MESSAGE_CHARACTERS = 2000
_HBM = re.compile(r"Ran out of memory (on HBM|in memory space hbm)|exceeds? available HBM", re.IGNORECASE)
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = r"([\d.]+)([KMGT]?)B?\b"
_FIGURES = {
    "available": (rf"exceeds available HBM \({_SIZE}\)", rf"Used \S+ of {_SIZE} hbm"),
    "needed": (rf"required for HLO temporaries \({_SIZE}\)", rf"Used {_SIZE} of \S+ hbm"),
    "exceeded": (rf"Exceeded hbm capacity by {_SIZE}",),
    "reserved": (rf"reserved\s+{_SIZE}",),
    "argument": (rf"^\s+arguments\s+{_SIZE}",),
    "output": (rf"Output size {_SIZE}",),
    "alias": (rf"shares {_SIZE} with arguments",),
}


def usable_bytes(row: dict, compiler: str) -> int | None:
    """Bytes of a target's main memory that a program may use, as this compiler has it; None if unknown.

    row: of the configuration; its `usable_hbm_bytes` maps compilers to bytes, for what a compiler keeps
    for itself differs by generation.
    """
    return row.get("usable_hbm_bytes", {}).get(compiler)


def refuses(row: dict) -> bool:
    """Whether a target's compiler refuses programs that are too large: XLA for GPUs does not."""
    return row["platform"] != "cuda"


def refused_for_memory(message: str) -> bool:
    """Whether a compiler's message refuses a program for want of the device's main memory."""
    return bool(_HBM.search(message))


def figures(message: str) -> dict[str, int]:
    """The sizes that a refusal tells, in bytes, rounded as it prints them (31.24G: to 0.01 GiB).

    Those of: available, needed, exceeded, reserved, argument, output, alias.
    """
    found = {}
    for name, patterns in _FIGURES.items():
        for pattern in patterns:
            match = re.search(pattern, message, re.MULTILINE)
            if match:
                found[name] = round(float(match.group(1)) * _UNITS[match.group(2)])
                break
    return found


def first_lines(message: str) -> str:
    """What is kept of a refusal: without the wire format that libtpu appends."""
    return message.split("[type.googleapis.com")[0].strip()[:MESSAGE_CHARACTERS]


def decide(
    refused: bool, hbm: int | None, code: int, usable: int | None, refuses: bool = True
) -> tuple[str, str]:
    """(verdict, decided_by) by the rule above; both empty where nothing is known.

    refused: the compiler refused for HBM. hbm, code: bytes, None where it told none. usable: of the
    target, None where unknown. refuses: whether this compiler ever refuses.
    """
    if refused:
        return OOM, "compiler"
    if hbm is None:
        return "", ""
    if usable is not None and hbm + code > usable:
        return OOM, "bytes"
    if usable is None and not refuses:
        return "", ""
    return FITS, "compiler" if refuses else "bytes"
