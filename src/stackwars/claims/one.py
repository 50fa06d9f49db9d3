"""One claim from what it alone needs: ``python -m stackwars.claims.one ID`` writes claims/<id>.json and .txt.

The tables are made by the same functions as the paper's, from a configuration that has only the claim's
workloads and frameworks, in a folder of the claim's own.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from stackwars.claims import decide, definitions
from stackwars.claims.definitions import ClaimError, Claims
from stackwars.claims.needs import check, restricted
from stackwars.results import schema, tables
from stackwars.results.folder import Folder, chosen, parser


def decide_one(identity: str, config: dict, folder: Folder) -> dict[str, Any]:
    """Return the row of claims.csv of one claim, from what was measured for it.

    The tables go to claims/<id>/ in the folder, where program_forms.json must be for a claim about the
    structure of programs. The reference's claim is the one that its own tables decide.

    :raises ClaimError: if there is no such claim, or the configuration lacks something that it needs.
    """
    claim = definitions.load().claim(identity)
    check(config, claim)
    if config["results"] == "reference":
        every = schema.read(folder["claims"])
        found = every[every["id"] == identity]
    else:
        only = restricted(config, claim)
        own = Folder(folder.results / "claims" / identity, folder.measured)
        tables.write(only, own)
        found = decide.decide_all(Claims([claim]), decide.dataset_of(only, own))
        schema.write(found, own["claims"])
    return {key: None if value != value else value for key, value in found.iloc[0].to_dict().items()}


def format_verdict(row: dict[str, Any]) -> str:
    """Return the id and the verdict, what is claimed, and the evidence, on a line each."""
    count = f" ({row['margin']})" if row["margin"] else ""
    return f"{row['id']}: {row['verdict']}{count}\n  {row['sentence']}\n  {row['evidence']}\n"


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("claim")
    a = arguments.parse_args()
    config, folder = chosen(a)
    try:
        row = decide_one(a.claim, config, folder)
    except ClaimError as error:
        sys.exit(str(error))
    path = folder.results / "claims" / a.claim
    path.with_suffix(".json").write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
    path.with_suffix(".txt").write_text(format_verdict(row), encoding="utf-8")


if __name__ == "__main__":
    main()
