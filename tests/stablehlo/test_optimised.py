"""What one compiler makes of a program, kept as text: whatever becomes of the compiler, there is a file."""

import gzip
import json
import re
from pathlib import Path

import pytest

from measured import PROGRAM
from running import python
from stackwars.core import hlo
from stackwars.core.program_text import missing_reason
from stackwars.measure.stablehlo import optimised
from stackwars.measure.stablehlo.optimised import OptimiseJob

PINS = "envs/xla-0.7.1.txt"
DONATED = PROGRAM.replace("32xf32>,", "32xf32> {jax.buffer_donor = true},", 1)


def job() -> OptimiseJob:
    return OptimiseJob("jaxlib-0.7.1", "xla", {}, 120)


def program(tmp_path: Path, text: str = PROGRAM) -> Path:
    path = tmp_path / "stablehlo.mlir.gz"
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return path


def test_what_is_kept_says_of_which_program_and_by_which_compiler(tmp_path):
    kept = tmp_path / "kept.gz"
    kept.write_bytes(
        gzip.compress(f"{optimised.head('jaxlib-0.7.1', PROGRAM.encode())}\nHloModule x\n".encode())
    )
    assert optimised.read(kept, PROGRAM.encode()) == ("jaxlib-0.7.1", "HloModule x\n")
    with pytest.raises(ValueError, match="another program's"):
        optimised.read(kept, DONATED.encode())
    with pytest.raises(ValueError, match="has kept none"):
        optimised.read(tmp_path / "nothing.gz", PROGRAM.encode())


def test_a_compiler_that_fails_leaves_the_reason(tmp_path):
    """core's tests of a worker have its other ends; this Python has no XLA."""
    text = optimised.optimise(job(), program(tmp_path))
    assert re.match("the compiler failed: .*No module named", missing_reason(text))
    kept = tmp_path / "kept.gz"
    kept.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(ValueError, match="the compiler failed"):
        optimised.read(kept, PROGRAM.encode())


def test_without_a_program_or_a_compiler_nothing_is_compiled(tmp_path, monkeypatch):
    text = optimised.optimise(job(), program(tmp_path, "// no program: oom: at build\n"))
    assert missing_reason(text) == "oom: at build"
    monkeypatch.setattr(optimised, "why_unavailable", lambda: "no build for this Python")
    text = optimised.optimise(job(), program(tmp_path))
    assert missing_reason(text) == "no build for this Python"


@pytest.mark.env
def test_the_command_writes_what_the_compiler_makes_the_same_each_time(tmp_path):
    """Donation is left out, as in a replay, whose profile names the operations of this text."""
    (tmp_path / "job.json").write_text(json.dumps(vars(job())))
    texts = []
    for number, text in enumerate((PROGRAM, DONATED)):
        output = tmp_path / "made" / f"{number}.gz"
        handed = ["--job", tmp_path / "job.json", "--program", program(tmp_path, text), "--output", output]
        python("-m", "stackwars.measure.stablehlo.optimised", *handed, pins=PINS)
        compiler, found = optimised.read(output, text.encode())
        assert compiler == "jaxlib-0.7.1"
        texts.append(found)
    assert texts[0].splitlines()[1:] == texts[1].splitlines()[1:]
    kinds = [i.opcode for c in hlo.read(texts[0]).computations.values() for i in c.instructions.values()]
    assert "dot" in kinds
