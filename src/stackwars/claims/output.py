"""claims.csv: written, read and handed to the paper's templates."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas

from stackwars.claims.verdicts import CLAIM_VERDICTS
from stackwars.results.folder import Folder
from stackwars.results.read_cells import read_table
from stackwars.results.whole_study import sources

COLUMNS: dict[str, str] = {
    "id": "its name; the workflow has a target claim_<id>",
    "origin": "published (the original paper's), transferred (asked of the CPU instead of a TPU) or ours",
    "sentence": "what is claimed",
    "verdict": "supported, contradicted, not decided, or not testable here",
    "evidence": "what the verdict rests on: a count of the findings, then their numbers",
    "human_minutes": "a person's time for it",
    "compute_minutes": "wall time of what it needs: of the reference run, else of this one",
}


def write_claims(rows: Iterable[dict], path: Path) -> None:
    """Rows of COLUMNS as claims.csv."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pandas.DataFrame(rows, columns=list(COLUMNS)).to_csv(path, index=False)


def read_claims(path: Path) -> list[dict]:
    """The rows of claims.csv; minutes that were not measured are None."""
    table = read_table(path, list(COLUMNS))
    return [
        {key: None if pandas.isna(value) else value for key, value in row.items()}
        for row in table.to_dict("records")
    ]


def verdicts_by_run(files: Folder) -> dict[str, dict[str, str]]:
    """{accepted run: {claim: its verdict by that run alone}}, the newest run first."""
    paths = {one.run: one.folder / files["claims"].name for one in sources(files)[1:]}
    return {
        run: {claim["id"]: claim["verdict"] for claim in read_claims(path)}
        for run, path in paths.items()
        if path.exists()
    }


class Judged:
    """The claims of a run for the templates: by id, and by what they have in common."""

    def __init__(self, rows: list[dict]) -> None:
        self._by_id = {row["id"]: row for row in rows}

    def __call__(self, identity: str) -> dict:
        """One claim. Raises KeyError, naming those there are."""
        if identity not in self._by_id:
            known = ", ".join(self._by_id)
            raise KeyError(f"expected a claim, came the id {identity!r}; known are {known}")
        return self._by_id[identity]

    def group(self, **wanted: str) -> list[dict]:
        """The claims whose columns have these values, in their order."""
        return [row for row in self._by_id.values() if all(row[k] == v for k, v in wanted.items())]

    def tally(self, origin: str) -> dict[str, int]:
        """How many claims of this origin have each verdict, all verdicts being there."""
        return {v: len(self.group(origin=origin, verdict=v)) for v in CLAIM_VERDICTS}
