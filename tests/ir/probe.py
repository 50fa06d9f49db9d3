"""Run in the jax environment: excerpts of the fixtures as JSON, for test_programs.py."""

import json
import sys
from pathlib import Path

from stackwars.ir import excerpt, metrics, module

FIXTURES = Path(__file__).parent / "fixtures"
ODD = {
    "no_program": "// no program: oom, refused at build\n",
    "truncated": (FIXTURES / "mha_jax.mlir").read_text()[:1200],
}


def lines(found: excerpt.Excerpt) -> list[str]:
    return [line for _, line in found.lines()]


def attempt(cut, program) -> list[str] | str:
    try:
        return lines(cut(module.parse(program)))
    except module.ProgramError as error:
        return str(error)


def main() -> None:
    result = {"metrics": {}}
    for path in sorted(FIXTURES.glob("*.mlir*")):
        stem = path.name.split(".")[0]
        text = module.read(path)
        result["metrics"][stem] = metrics.metrics(module.parse(text))
        for cut in (excerpt.whole, excerpt.projection, excerpt.normalisation):
            result.setdefault(cut.__name__, {})[stem] = attempt(cut, text)
    for name, text in ODD.items():
        result.setdefault("odd", {})[name] = module.missing(text) or attempt(excerpt.whole, text)
    json.dump(result, sys.stdout)


main()
