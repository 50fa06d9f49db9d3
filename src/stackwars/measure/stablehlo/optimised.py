"""Write the optimised HLO that this machine's compiler makes from an emitted program, as text.

Runs in the compiler's environment. The compiler runs in a fork, and however that ends, a file is written: without an
optimised program, it has the line that says why.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from stackwars.core import documents, launch, limits, program_text
from stackwars.core.launch import printable
from stackwars.setup.environments import why_unavailable

CAP_BYTES = 8 * limits.GIB
_HEAD = re.compile(r"// optimised by ([\w.-]+) of the program (\w+)")


@dataclass(frozen=True)
class OptimiseJob:
    """One compilation. compiler: its name in the configuration; module, options: as in a ReplayJob; timeout_s: of
    the whole process."""

    compiler: str
    module: str
    options: dict[str, str]
    timeout_s: float


def optimise(job: OptimiseJob, program: Path) -> str:
    """Return the file's text: a line that names the program and the compiler, then the HLO."""
    text = program_text.read(program)
    if why := program_text.missing_reason(text) or why_unavailable():
        return program_text.no_program_line(why)
    with tempfile.TemporaryDirectory() as folder:
        hlo, log = Path(folder, "optimised.hlo"), Path(folder, "log.txt")
        report = launch.run_forked(partial(compile_here, job, text, hlo), CAP_BYTES, job.timeout_s, log)
        if report.exit_code == 0:
            return f"{head(job.compiler, text.encode())}\n{hlo.read_text()}"
    last = printable(report.log_tail.rpartition("\n")[2])
    why = f"the compiler ended with {report.exit_code}: {last}"
    if report.timed_out:
        why = f"the compiler took over {job.timeout_s:g} s"
    elif report.over_cap:
        why = "the compiler was killed at its memory cap"
    return program_text.no_program_line(why)


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
        raise ValueError("what is kept is of another program")
    return result[1], hlo


def compile_here(job: OptimiseJob, text: str, hlo: Path) -> None:
    """Compile a program for this machine's CPU, and write its optimised HLO."""
    from stackwars.core import compilers
    from stackwars.setup.device import CPU

    compiler = compilers.load(job.module).Compiler(CPU, job.options)
    # A replay compiles it the same way, so that operations have the names of its profile.
    hlo.write_text(compiler.compile(program_text.not_donated(text)).optimised_hlo())


def main() -> None:
    """Run `python -m stackwars.measure.stablehlo.optimised`: one program, into one compressed file."""
    a = documents.parse_arguments(main.__doc__, "job", "program", "output")
    text = optimise(documents.read_job(OptimiseJob, a.job), a.program)
    a.output.parent.mkdir(parents=True, exist_ok=True)
    program_text.write(a.output, text)


if __name__ == "__main__":
    main()
