"""One claim from what it alone needs: ``python -m stackwars.claims.one`` writes <id>.json.

The results are put together by the same functions as the paper's, from a configuration that has
only the claim's workloads and frameworks, in a folder of the claim's own.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pandas

from stackwars.claims import definitions
from stackwars.claims.decide import decide_all
from stackwars.claims.definitions import ClaimError
from stackwars.claims.needs import check, restricted
from stackwars.findings.collect import write_findings
from stackwars.measure import documents
from stackwars.results import ahead, split
from stackwars.results.aggregate import aggregate
from stackwars.results.read_compilers import METRIC_KEYS, STRUCTURE_KEYS
from stackwars.study.config import validate

FORM = {"metrics": METRIC_KEYS, "structure": STRUCTURE_KEYS}


def decide_one(
    identity: str, config: dict, folder: Path, published: Path, form: dict[str, Path], output: Path
) -> dict:
    """The row of claims.csv of one claim, from the results of ``folder``.

    form: ir_metrics.csv and structure.csv by ``metrics`` and ``structure``, for a claim about the
    programs' form; else empty. The tables go to ``output``. Raises ClaimError.
    """
    claims = definitions.load()
    claim = claims.claim(identity)
    check(config, claim)
    chosen = restricted(config, claim)
    aggregate(chosen, folder, output)
    split.write(chosen, folder, output)
    ahead.compile_ahead(chosen, folder).to_csv(output / "compile_ahead.csv", index=False)
    ahead.largest_batches(chosen, folder).to_csv(output / "largest_batch.csv", index=False)
    for name, keys in FORM.items():
        if name not in form:
            form = form | {name: output / f"{name}.csv"}
            pandas.DataFrame(columns=keys).to_csv(form[name], index=False)
    names = {"ahead": "compile_ahead"}
    files = {
        name: output / f"{names.get(name, name)}.csv"
        for name in ("frame", "ratios", "replay", "split", "ahead", "largest_batch")
    }
    files |= form | {"published": published, "audits": folder / "audits.json"}
    files |= {name: output / f"{name}.json" for name in ("context", "findings")}
    write_findings(files, files["findings"])
    only = definitions.Claims([claim], [])
    return decide_all(only, config, files, folder)[0]


def main() -> None:
    """`python -m stackwars.claims.one ID --config FILE --results FOLDER ... --output FILE`."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("claim")
    parser.add_argument("--config", required=True, type=documents.read)
    parser.add_argument("--results", required=True, type=Path)
    parser.add_argument("--published", type=Path, default=Path("paper/published/tables.csv"))
    for name in FORM:
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--output", required=True, type=Path)
    a = parser.parse_args()
    form = {name: path for name in FORM if (path := getattr(a, name))}
    try:
        row = decide_one(
            a.claim, validate(a.config), a.results, a.published, form, a.output.with_suffix("")
        )
    except ClaimError as error:
        sys.exit(str(error))
    a.output.write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
