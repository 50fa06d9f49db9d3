"""The optimised HLO of a program as it was emitted, by the compiler that replays it here; kept as text.

The compiler has a process of its own, and whatever becomes of that, a file is written: where there is no
optimised program, the line that says why.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from stackwars.ir import program_text
from stackwars.measure import documents, launch, limits
from stackwars.measure.launch import printable
from stackwars.setup.environments import Unavailable, clean_environ, ensure

CAP_BYTES = 8 * limits.GIB
TEXT = "optimised.hlo"
"""What the child leaves in its folder."""
_HEAD = re.compile(r"// optimised by ([\w.-]+) of the program (\w+)")


@dataclass(frozen=True)
class OptimiseJob:
    """How to compile. compiler: its name in the configuration; module, options: as of a replay; timeout_s: of
    the whole process, in seconds."""

    compiler: str
    module: str
    options: dict[str, str]
    timeout_s: float


def optimise(job: OptimiseJob, pins: Path, program: Path) -> str:
    """The text to keep: a line that says of which program and by which compiler, and the HLO."""
    text = program_text.read(program)
    why = program_text.missing_reason(text)
    if why is not None:
        return program_text.no_program_line(why)
    try:
        python = ensure(pins)
    except Unavailable as error:
        return program_text.no_program_line(str(error))
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        spec = {**asdict(job), "program": str(program.resolve())}
        documents.write(folder / "spec.json", spec)
        why = _run(python, folder, job.timeout_s)
        if why is not None:
            return program_text.no_program_line(why)
        return f"{head(job.compiler, text.encode())}\n{(folder / TEXT).read_text()}"


def head(compiler: str, program: bytes) -> str:
    """The first line of what is kept."""
    return f"// optimised by {compiler} of the program {hashlib.sha256(program).hexdigest()}"


def read(kept: Path, program: bytes) -> tuple[str, str]:
    """(the compiler's name, the HLO) of a kept file. Raises ValueError, which says why there is none."""
    if not kept.exists():
        raise ValueError("this run has kept none")
    text = program_text.read(kept)
    if why := program_text.missing_reason(text):
        raise ValueError(why)
    first, _, hlo = text.partition("\n")
    result = _HEAD.match(first)
    if result is None or result[2] != hashlib.sha256(program).hexdigest():
        raise ValueError("what is kept is of another program")
    return result[1], hlo


def _run(python: Path, folder: Path, timeout_s: float) -> str | None:
    """Why the child has left no text; None if it has."""
    report = launch.run_child(
        python, ["-m", __spec__.name, "--child", str(folder)], clean_environ({"TMPDIR": str(folder)}),
        CAP_BYTES, timeout_s, log=folder / "log.txt", cwd=folder,
    )  # fmt: skip
    if report.exit_code == 0:
        return None
    if report.timed_out:
        return f"the compiler took over {timeout_s:g} s"
    if report.over_cap:
        return "the compiler was killed at its memory cap"
    said = report.not_started or report.log_tail.rpartition("\n")[2]
    return printable(f"the compiler ended with {report.exit_code}: {said}")


def compile_here(folder: Path) -> None:
    """Compile the program of `folder`/spec.json for this machine's CPU, in the compiler's own environment."""
    from stackwars import compilers
    from stackwars.setup.device import CPU

    spec = documents.read(folder / "spec.json")
    compiler = compilers.load(spec["module"]).Compiler(CPU, spec["options"])
    # As a replay compiles it, so that the operations have the names that they have in its profile.
    program = compiler.compile(program_text.not_donated(program_text.read(Path(spec["program"]))))
    (folder / TEXT).write_text(program.optimised_hlo())
    sys.stdout.flush()
    # Nothing is left to clean up, and the compiler's own teardown can crash.
    os._exit(0)


def main() -> None:
    """`python -m stackwars.compilers.optimised`: one program, into one compressed file."""
    a = documents.parse_arguments(main.__doc__, "job", "pins", "program", "output")
    text = optimise(OptimiseJob(**documents.read(a.job)), a.pins, a.program)
    a.output.parent.mkdir(parents=True, exist_ok=True)
    program_text.write(a.output, text)


if __name__ == "__main__":
    compile_here(Path(sys.argv[2])) if sys.argv[1] == "--child" else main()
