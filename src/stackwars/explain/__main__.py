"""`stackwars explain`: two StableHLO files, or one, in the jaxlib of this Python, by the steps of `make explain`.

Exit status: 0 if every program is right and the first is not slower than the second by more than the bound; 1 if one is
wrong, crashes, hangs, is refused or cannot be judged, or if they compute different things; 2 if the first is slower; 3
if the command cannot be followed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import NoReturn

from stackwars.explain import local

CANNOT = 3


class Parser(argparse.ArgumentParser):
    """A parser whose exit status for a wrong command is not that of a slow program."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(CANNOT, f"{self.prog}: {message}\n")


def parser() -> argparse.ArgumentParser:
    result = Parser(prog="stackwars", description="Explain why programs differ.")
    commands = result.add_subparsers(dest="command", required=True, metavar="explain")
    explain = commands.add_parser(
        "explain", help="who is slow, wrong, crashed or refused, and why", description=__doc__
    )
    explain.add_argument("a", type=Path, metavar="A", help="a StableHLO file (.mlir or .mlir.gz): the suspect")
    explain.add_argument("b", type=Path, nargs="?", metavar="B", help="one that it is compared with")
    explain.add_argument(
        "--inputs", type=Path, help="an .npz with the arguments' values, as arg0, arg1 and so on"
    )
    explain.add_argument(
        "--bound", type=float, default=0.1, help="the gap that is worth explaining (default 0.1: 10 %%)"
    )
    explain.add_argument(
        "--json", action="store_true", help="print explain.json, and all else to standard error"
    )
    explain.add_argument("--output", type=Path, help="folder to write into (default explain/<name>)")
    explain.add_argument("--name", help="of the answer (default: the files' names)")
    return result


def main(arguments: list[str] | None = None) -> NoReturn:
    options = parser().parse_args(arguments)
    say = sys.stderr if options.json else sys.stdout
    try:
        document = local.explain(
            [path for path in (options.a, options.b) if path],
            inputs=options.inputs,
            bound=options.bound,
            output=options.output,
            name=options.name or "",
            say=lambda text: print(text, file=say, flush=True),
        )
    except local.BadInput as error:
        print(error, file=sys.stderr)
        sys.exit(CANNOT)
    if options.json:
        print(json.dumps(document, indent=1))
    sys.exit(document["exit_status"])


if __name__ == "__main__":
    main()
