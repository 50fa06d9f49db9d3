"""The process that compiles one program for this machine's CPU and writes what the compiler has made of it.

It runs in a compiler's environment.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from stackwars import compilers
from stackwars.compilers.ahead import program_text
from stackwars.compilers.optimised import TEXT
from stackwars.compilers.replay import not_donated
from stackwars.setup.device import CPU


def main() -> None:
    """`python -m stackwars.compilers.optimised_child FOLDER`: read FOLDER/spec.json, write beside it."""
    folder = Path(sys.argv[1])
    spec = json.loads((folder / "spec.json").read_text())
    compiler = compilers.load(spec["module"]).Compiler(CPU, spec["options"])
    # As a replay compiles it, so that the operations have the names that they have in its profile.
    program = compiler.compile(not_donated(program_text(Path(spec["program"])).decode()))
    (folder / TEXT).write_text(program.optimised_hlo())
    sys.stdout.flush()
    # As in a cell: nothing is left to clean up.
    os._exit(0)


if __name__ == "__main__":
    main()
