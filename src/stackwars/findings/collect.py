"""What the results say: findings.json.

A finding has an id, a verdict and the numbers behind it. Templates switch their sentences on the
verdict and print the numbers; no sentence decides anything by itself. Numbers that do not exist
are null. Verdict words are those of :mod:`stackwars.results.verdicts` and
:mod:`stackwars.results.compiler_verdicts`.
"""

from __future__ import annotations

import json
from typing import Any

import pandas

from stackwars.audits import audit_entries, fault_entries
from stackwars.findings import latency, run
from stackwars.findings.audits import audit_findings
from stackwars.findings.beyond import beyond_findings
from stackwars.findings.edits import edit_findings
from stackwars.findings.faults import fault_findings
from stackwars.findings.fit import fit_findings
from stackwars.findings.fused import fused_findings
from stackwars.findings.growth import growth_findings
from stackwars.findings.lecture import lecture_findings
from stackwars.findings.matrix import matrix_findings
from stackwars.findings.op_times import op_time_finding
from stackwars.findings.precision import precision_findings
from stackwars.findings.programs import program_findings
from stackwars.findings.protocol import held_out_finding, protocol_findings
from stackwars.findings.sharding import sharding_findings
from stackwars.findings.split import sources_elsewhere, split_findings
from stackwars.findings.stacks import stack_findings
from stackwars.findings.successor import Programs, successor_findings
from stackwars.findings.targets import target_findings
from stackwars.results import matrix_subsets, whole_programs
from stackwars.results.folder import Folder
from stackwars.results.published import read_lecture
from stackwars.results.read_cells import (
    of_study,
    read_frame,
    read_json,
    read_published,
    read_ratios,
)
from stackwars.results.read_compilers import (
    read_ahead,
    read_default_precision,
    read_gap_causes,
    read_largest_batches,
    read_metrics,
    read_op_times,
    read_replay,
    read_split,
    read_structure,
)
from stackwars.results.verdicts import Finding
from stackwars.results.whole_study import of_workloads, read_whole
from stackwars.setup.device import ONE_THREAD
from stackwars.study.comparisons import Comparison, told

READ = {
    "frame": read_frame,
    "ratios": read_ratios,
    "replay": read_replay,
    "split": read_split,
    "ahead": read_ahead,
    "largest_batch": read_largest_batches,
    "metrics": read_metrics,
    "structure": read_structure,
}
"""The tables that findings are made from, each with its reader."""


def all_findings(files: Folder) -> list[Finding]:
    """Every finding, in the order in which the paper speaks of them."""
    context, there = read_json(files["context"]), read_published(files["published"])
    frame, ratios, replay, split, ahead, largest_batch, metrics, structure = (
        of_study(read(files[name]), context) for name, read in READ.items()
    )
    default = of_study(read_default_precision(files["ahead"]), context)
    pairs = told(context)
    of_successor = (
        whole_programs.read(files[name], READ[name], context)
        for name in ("structure", "largest_batch")
    )
    stacks = stack_findings(read_whole(files["stacks"], context), context["beside"])
    first = latency.ratio_findings("first", frame, ratios)
    steady = latency.ratio_findings("steady", frame, ratios)
    one_core = latency.ratio_findings("steady", frame, ratios, ONE_THREAD)
    return [
        *run.run_findings(frame, context),
        *run.shape_findings(frame),
        *protocol_findings(frame, ratios, context),
        held_out_finding(pandas.read_csv(files["held_out"])),
        *steady,
        *one_core,
        *latency.core_findings(steady, one_core),
        *first,
        latency.gemm_finding(first, there, pairs[0]),
        *latency.stabilising_findings(frame, there),
        *latency.first_run_findings(frame),
        latency.bert_finding(frame, there, pairs[0]),
        *run.memory_findings(frame, there),
        *run.agreement_findings(frame, ratios, there),
        *split_findings(replay, split, context),
        *sources_elsewhere(READ["split"](files["split"]), split, context),
        *edit_findings(replay, split, pairs),
        *_op_times(files, pairs[0], context),
        *fit_findings(ahead, frame, there, pairs),
        *target_findings(ahead, largest_batch, pairs),
        *precision_findings(ahead, default),
        *program_findings(metrics, structure, pairs),
        *successor_findings(Programs(*of_successor), Programs(structure, largest_batch), pairs[0]),
        *audit_findings(audit_entries.read(files["audits"])),
        *fault_findings(fault_entries.read(files["faults"])),
        run.precision_finding(frame),
        *stacks,
        *fused_findings(pandas.read_csv(files["fused"])),
        *lecture_findings(stacks, read_lecture(files["lecture"])),
        *beyond_findings(read_whole(files["beyond"], context)),
        *growth_findings(*(of_workloads(files, name, context) for name in ("growth", "shapes"))),
        *sharding_findings(of_workloads(files, "sharding", context), pairs),
        *matrix_findings(
            *(read_whole(files[name], context) for name in ("matrix", "matrix_effects")),
            _subsets(files, context),
        ),
    ]


def _op_times(files: Folder, pair: Comparison, context: dict) -> list[Finding]:
    """None without their tables: no claim needs them, so where one is decided alone they are not made."""
    if not (files["op_times"].exists() and files["gap_causes"].exists()):
        return []
    op_times = of_study(read_op_times(files["op_times"]), context)
    return [op_time_finding(op_times, read_gap_causes(files["gap_causes"]), pair, context)]


def _subsets(files: Folder, context: dict) -> pandas.DataFrame:
    """matrix_subsets.csv; runs that were accepted before there was one have none."""
    if files["matrix_subsets"].exists():
        return read_whole(files["matrix_subsets"], context)
    return pandas.DataFrame(columns=[*matrix_subsets.COLUMNS, "here"])


def write_findings(files: Folder) -> None:
    """Read the results and write findings.json."""
    document = {"schema": 1, "findings": all_findings(files)}
    text = json.dumps(document, indent=1, default=_plain)
    files["findings"].write_text(text + "\n", encoding="utf-8")


def write(config: dict, files: Folder) -> None:
    """As every step of a run is called."""
    write_findings(files)


def _plain(value: Any) -> Any:
    """NumPy scalars as Python numbers."""
    return value.item()
