"""One claim from what it alone needs: ``python -m stackwars.claims.one ID`` writes claims/<id>.json and .txt.

The results are put together by the same functions as the paper's, from a configuration that has
only the claim's workloads and frameworks, in a folder of the claim's own.
"""

from __future__ import annotations

import json
import sys

import pandas

from stackwars.claims import definitions
from stackwars.claims.decide import decide_all
from stackwars.claims.definitions import ClaimError
from stackwars.claims.needs import check, needed_programs, restricted
from stackwars.findings.collect import write_findings
from stackwars.results import (
    ahead,
    beyond,
    fused,
    growth,
    held_out,
    matrix,
    sharding,
    split,
    stacks,
    whole_programs,
)
from stackwars.results.aggregate import aggregate
from stackwars.results.folder import Folder, chosen, parser
from stackwars.results.read_compilers import METRIC_KEYS, STRUCTURE_KEYS

FORM = {"metrics": METRIC_KEYS, "structure": STRUCTURE_KEYS}


def decide_one(identity: str, config: dict, folder: Folder) -> dict:
    """The row of claims.csv of one claim, from what was measured for it.

    The tables go to claims/<id>/ in the folder, where ir_metrics.csv and structure.csv must be for a claim
    about the programs' form. Raises ClaimError.
    """
    claim = definitions.load().claim(identity)
    check(config, claim)
    only = restricted(config, claim)
    own = Folder(folder.results / "claims" / identity, folder.measured)
    tables = (split, ahead, stacks, beyond, growth, sharding, matrix, fused)
    for write in (aggregate, *(table.write for table in tables)):
        write(only, own)
    for name, keys in FORM.items():
        if not needed_programs(config, claim) or not own[name].exists():
            pandas.DataFrame(columns=keys).to_csv(own[name], index=False)
    whole_programs.write(only, own)
    held_out.write(only, own)
    write_findings(own)
    return decide_all(definitions.Claims([claim], []), config, own)[0]


def spoken(row: dict) -> str:
    """Id and verdict, what is claimed, and the evidence, on a line each."""
    return f"{row['id']}: {row['verdict']}\n  {row['sentence']}\n  {row['evidence']}\n"


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("claim")
    a = arguments.parse_args()
    config, folder = chosen(a)
    try:
        row = decide_one(a.claim, config, folder)
    except ClaimError as error:
        sys.exit(str(error))
    made = folder.results / "claims" / a.claim
    made.with_suffix(".json").write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
    made.with_suffix(".txt").write_text(spoken(row), encoding="utf-8")


if __name__ == "__main__":
    main()
