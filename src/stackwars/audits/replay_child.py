"""The process of a replay, for the workloads of the audits as well, perhaps with one thing broken.

`python -m stackwars.audits.replay_child FOLDER`. The specification is a replay's, with `mutant`, one of
MUTANTS or `mutant.DEAD_OUTPUT`, or HONEST for none.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from stackwars import compilers
from stackwars.audits import mutant
from stackwars.audits.depth_child import add_workloads
from stackwars.compilers import replay

DEAD_OUTPUT = mutant.dead_output.__name__
MUTANTS = [name for name in mutant.MUTANTS if name != mutant.half_fence.__name__]
"""What can be broken of a replayed program."""
_RETURN = re.compile(r"^ *return (%\S+) : (tensor<\S+>)$", re.MULTILINE)


def unused(text: str) -> str:
    """The StableHLO program with zeros for the result of its main function, which is its first.

    Raises ValueError where no line returns one tensor.
    """
    made, count = _RETURN.subn(
        r"    %zeros = stablehlo.constant dense<0.0> : \2\n    return %zeros : \2", text, count=1
    )
    if not count:
        raise ValueError(f"expected a line `return %x : tensor<...>`; the program is {text[:500]}")
    return made


def dead_output(compiler: type) -> None:
    """What the program computes is not used for its output, so the compiler leaves it out."""
    compile_text = compiler.compile

    def compile_unused(self: Any, text: str) -> Any:
        return compile_text(self, unused(text))

    compiler.compile = compile_unused


def main() -> None:
    spec = json.loads(Path(sys.argv[1], "spec.json").read_text())
    module = compilers.load(spec["module"])
    if spec["mutant"] == DEAD_OUTPUT:
        dead_output(module.Compiler)
    elif spec["mutant"] != mutant.HONEST:
        mutant.MUTANTS[spec["mutant"]](module.Program)
    add_workloads()
    replay.main()


if __name__ == "__main__":
    main()
