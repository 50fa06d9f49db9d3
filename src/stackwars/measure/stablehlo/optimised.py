"""Write the optimised HLO that this machine's compiler makes from an emitted program, as text.

Runs in the compiler's environment. The compiler runs in a worker, and however that ends, a file is written: without an
optimised program, it has the line that says why.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from stackwars.core import documents, program_text
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.outcome import Failed
from stackwars.setup.environments import why_unavailable

CAP_GIB = 8
_HEAD = re.compile(r"// optimised by ([\w.-]+) of the program (\w+)")


@dataclass(frozen=True)
class OptimiseJob:
    """One compilation. compiler: its name in the configuration; module, options: as in a ReplayJob; timeout_s: of
    the compilation."""

    compiler: str
    module: str
    options: dict[str, str]
    timeout_s: float


def optimise(job: OptimiseJob, program: Path) -> str:
    """Return the file's text: a line that names the program and the compiler, then the HLO."""
    text = program_text.read(program)
    if why := program_text.missing_reason(text) or why_unavailable():
        return program_text.no_program_line(why)
    spec = CompilerSpec(job.compiler, job.module, job.options)
    try:
        with Worker(spec, cap_gib=CAP_GIB, timeout_s=job.timeout_s) as worker:
            # A replay compiles it the same way, so that operations have the names of its profile.
            worker.load("program", text)
            return f"{head(job.compiler, text.encode())}\n{worker.hlo('program')}"
    except Failed as failed:
        return program_text.no_program_line(f"the compiler failed: {failed}")


def head(compiler: str, program: bytes) -> str:
    """Return the first line of the file."""
    return f"// optimised by {compiler} of the program {hashlib.sha256(program).hexdigest()}"


def read(path: Path, program: bytes) -> tuple[str, str]:
    """Return (the compiler's name, the HLO) of a file.

    :raises ValueError: with the reason if it has none.
    """
    if not path.exists():
        raise ValueError("this run has kept none")
    text = program_text.read(path)
    if why := program_text.missing_reason(text):
        raise ValueError(why)
    first, _, hlo = text.partition("\n")
    result = _HEAD.match(first)
    if result is None or result[2] != hashlib.sha256(program).hexdigest():
        raise ValueError("expected the optimised form of this program, got another program's")
    return result[1], hlo


def main() -> None:
    """Run `python -m stackwars.measure.stablehlo.optimised`: one program, into one compressed file."""
    a = documents.parse_arguments(main.__doc__, "job", "program", "output")
    text = optimise(documents.read_job(OptimiseJob, a.job), a.program)
    a.output.parent.mkdir(parents=True, exist_ok=True)
    program_text.write(a.output, text)


if __name__ == "__main__":
    main()
