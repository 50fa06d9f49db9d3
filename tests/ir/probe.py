"""Run in the jax environment: facts and excerpts of the fixtures as JSON, for test_programs.py."""

import json
import sys
from pathlib import Path

from stackwars.ir import excerpt, facts, module

FIXTURES = Path(__file__).parent / "fixtures"
ODD = {
    "no_program": "// no program: oom, refused at build\n",
    "unreadable": "module { func.func @main() { foo.bar } }",
    "truncated": (FIXTURES / "mha_jax.mlir").read_text()[:1200],
    "empty": "",
}


def lines(found: excerpt.Excerpt) -> list[str]:
    return [line for _, line in found.lines()]


def attempt(cut, parsed) -> list[str] | str:
    try:
        return lines(cut(parsed))
    except module.ProgramError as error:
        return str(error)


def main() -> None:
    result = {"facts": {}, "descriptions": sorted(facts.DESCRIPTIONS)}
    for path in sorted(FIXTURES.glob("*.mlir*")):
        stem = path.name.split(".")[0]
        text = module.read(path)
        parsed = module.parse(text)
        result["facts"][stem] = facts.facts(text)
        for cut in (excerpt.whole, excerpt.projection, excerpt.normalisation):
            result.setdefault(cut.__name__, {})[stem] = attempt(cut, parsed)
    for name, text in ODD.items():
        result["facts"][name] = facts.facts(text)
    json.dump(result, sys.stdout)


main()
