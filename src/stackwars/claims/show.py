"""A decided claim for a terminal: ``python -m stackwars.claims.show results/full/claims/<id>.json``."""

from __future__ import annotations

import argparse
from pathlib import Path

from stackwars.results.read_cells import read_json


def spoken(row: dict) -> str:
    """Id and verdict, what is claimed, and the evidence, on a line each."""
    return f"{row['id']}: {row['verdict']}\n  {row['sentence']}\n  {row['evidence']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    print(spoken(read_json(parser.parse_args().file)))


if __name__ == "__main__":
    main()
