"""Evaluate programs in the environment of the judge: `evaluate_probe.py FOLDER`.

FOLDER has programs.json, {name: text}, and arguments.npz, "name/place". Writes facts.json and results.npz, in which
"name/how/place" has the results by each way of evaluation: interpreter and compiled, in float64 and as it is.
"""

import json
import sys
from pathlib import Path

import numpy as np

from stackwars.compilers.evaluate import Program
from stackwars.compilers.xla import Compiler


def main() -> None:
    folder = Path(sys.argv[1])
    Compiler("cpu", {})
    given = np.load(folder / "arguments.npz")
    facts, results = {}, {}
    for name, text in json.loads((folder / "programs.json").read_text()).items():
        program = Program(text)
        facts[name] = {
            key: getattr(program, key) for key in ("operations", "accumulation", "work", "interpretable")
        }
        arrays = [given[key] for key in given if key.partition("/")[0] == name]
        for how in ("interpreter", "compiled") if program.interpretable else ():
            for double in (False, True):
                found = getattr(program, how)(double)(arrays)
                results |= {f"{name}/{how}{64 if double else 32}/{n}": one for n, one in enumerate(found)}
    (folder / "facts.json").write_text(json.dumps(facts))
    np.savez(folder / "results.npz", **results)


if __name__ == "__main__":
    main()
