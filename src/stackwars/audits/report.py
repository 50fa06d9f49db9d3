"""Every audit's answer in one file: `python -m stackwars.audits.report`.

What was measured for the audits is read from the files of `--part`; what the run itself shows, from its cells.
"""

from __future__ import annotations

from pathlib import Path

from stackwars.audits import aa, audit_entries, run_verdicts, verdicts, whole_run
from stackwars.measure import documents
from stackwars.results import raw, schema
from stackwars.results.folder import chosen, parser
from stackwars.study import cells

PARTS = ("fences", "mutants", "power", "aa_interleaved", "independent")
"""The audits that are measured, each in a folder of this name."""


def report(config: dict, folder: Path, cells_csv: Path, parts: list[Path]) -> list[dict]:
    """Return all audits of the results in `folder`. parts: files <audit>/<device>/<framework>.json."""
    found = {name: [] for name in PARTS}
    for path in parts:
        found[path.parents[1].name].append(documents.read(path))
    settings, table = cells.settings(config), schema.read(cells_csv)
    table = table[table["mode"] == schema.NATIVE]
    processes = list(whole_run.processes(config, folder))
    agreement = whole_run.agreement(table, settings["matmul_precision"])
    return [
        verdicts.fences(found["fences"]),
        run_verdicts.floor(whole_run.floors(processes, table)),
        verdicts.mutants(found["mutants"]),
        run_verdicts.clock(whole_run.clocks(processes)),
        verdicts.aa(list(aa.trials(raw.read(config, folder))), [*found["power"], *found["aa_interleaved"]]),
        verdicts.power(found["power"]),
        run_verdicts.agreement(agreement),
        verdicts.independent(found["independent"]),
        run_verdicts.first_run(whole_run.first_runs(processes)),
    ]


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--part", action="append", default=[], type=Path)
    a = arguments.parse_args()
    config, folder = chosen(a)
    audits = report(config, folder.measured, folder["cells"], a.part)
    audit_entries.write(audits, folder["audits"])
    for entry in audits:
        print(f"[audit] {entry['title']}: {entry['verdict']}: {entry['detail']}")


if __name__ == "__main__":
    main()
