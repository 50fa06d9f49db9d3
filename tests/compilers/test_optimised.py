"""What one compiler makes of a program, kept as text: whatever becomes of the compiler, there is a file."""

import gzip
import json
from pathlib import Path

import pytest

from measured import PROGRAM
from running import python
from stackwars.compilers import hlo, optimised
from stackwars.compilers.optimised import OptimiseJob
from stackwars.ir.program_text import missing_reason
from stackwars.setup.environments import REPOSITORY, Unavailable

PINS = REPOSITORY / "envs" / "xla-0.7.1.txt"
DONATED = PROGRAM.replace("32xf32>,", "32xf32> {jax.buffer_donor = true},", 1)


def job(timeout_s: float = 120) -> OptimiseJob:
    return OptimiseJob("jaxlib-0.7.1", "xla", {}, timeout_s)


def program(tmp_path: Path, text: str = PROGRAM) -> Path:
    path = tmp_path / "stablehlo.mlir.gz"
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return path


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """Makes the environment's Python one that does what a script says instead of compiling."""

    def made(script: str) -> None:
        python = tmp_path / "python"
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
        monkeypatch.setattr(optimised, "ensure", lambda pins: python)

    return made


def test_what_is_kept_says_of_which_program_and_by_which_compiler(tmp_path, compiler):
    compiler("echo 'HloModule x' > $4/optimised.hlo")
    text = optimised.optimise(job(), PINS, program(tmp_path))
    kept = tmp_path / "kept.gz"
    kept.write_bytes(gzip.compress(text.encode()))
    assert optimised.read(kept, PROGRAM.encode()) == ("jaxlib-0.7.1", "HloModule x\n")
    with pytest.raises(ValueError, match="of another program"):
        optimised.read(kept, DONATED.encode())
    with pytest.raises(ValueError, match="has kept none"):
        optimised.read(tmp_path / "nothing.gz", PROGRAM.encode())


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo 'a pass failed' >&2; exit 3", "the compiler ended with 3: a pass failed"),
        ("kill -9 $$", "the compiler ended with -9: "),
        ("exec sleep 30", "the compiler took over 1 s"),
    ],
)
def test_a_compiler_that_fails_leaves_the_reason(tmp_path, compiler, script, told):
    compiler(script)
    text = optimised.optimise(job(timeout_s=1), PINS, program(tmp_path))
    assert missing_reason(text) == told.strip()
    kept = tmp_path / "kept.gz"
    kept.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(ValueError, match=told.strip()):
        optimised.read(kept, PROGRAM.encode())


def test_without_a_program_or_a_compiler_nothing_is_compiled(tmp_path, monkeypatch):
    text = optimised.optimise(job(), PINS, program(tmp_path, "// no program: oom: at build\n"))
    assert missing_reason(text) == "oom: at build"

    def refuse(pins):
        raise Unavailable("no build for this Python")

    monkeypatch.setattr(optimised, "ensure", refuse)
    text = optimised.optimise(job(), PINS, program(tmp_path))
    assert missing_reason(text) == "no build for this Python"


@pytest.mark.env
def test_the_command_writes_what_the_compiler_makes_the_same_each_time(tmp_path):
    """Donation is left out, as in a replay, whose profile names the operations of this text."""
    (tmp_path / "job.json").write_text(json.dumps(vars(job())))
    texts = []
    for number, text in enumerate((PROGRAM, DONATED)):
        output = tmp_path / "made" / f"{number}.gz"
        handed = ["--job", tmp_path / "job.json", "--pins", PINS, "--program", program(tmp_path, text)]
        python("-m", "stackwars.compilers.optimised", *handed, "--output", output)
        compiler, found = optimised.read(output, text.encode())
        assert compiler == "jaxlib-0.7.1"
        texts.append(found)
    assert texts[0].splitlines()[1:] == texts[1].splitlines()[1:]
    kinds = [i.opcode for c in hlo.read(texts[0]).computations.values() for i in c.instructions.values()]
    assert "dot" in kinds
