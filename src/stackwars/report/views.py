"""Which views of the report show what a finding rests on: fragments of its address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stackwars import frameworks
from stackwars.results.folder import Folder
from stackwars.results.verdicts import Finding
from stackwars.results.whole_study import read_whole
from stackwars.setup.device import CPU, ONE_THREAD

Link = tuple[str, str]
"""What a link says, and the fragment that it leads to."""
_CELLS = {
    *("steady", "steady_1t", "first", "gemm_first", "cores", "stabilising", "split", "bert_first", "memory"),
    *("agreement", "source", "stack", "versus", "best", "dispatch", "lecture", "beyond_ratio", "form"),
    "losses",
}  # fmt: skip
"""Kinds of findings that come from calls of cells."""
_STAGES = {
    **dict.fromkeys(("steady", "steady_1t", "cores", "agreement", "source"), "steady"),
    **dict.fromkeys(("first", "gemm_first"), "first"),
}
"""Kinds that are a ratio of ratios.csv: of which stage."""
_RATIOS = {*_STAGES, "stack", "beyond_ratio"}
"""Kinds that rest on the baseline's cell as well."""
_PROGRAMS = {
    *("effect", "generations", "source", "control", "edit", "same", "size", "layout", "fusions", "claim"),
    *("hbm", "temporaries", "cycles", "largest_batch", "oom_published", "default_precision", "bert_graph"),
}  # fmt: skip
"""Kinds that come from programs: their texts, or what compilers make of them."""
_PROFILED = {"effect", "generations", "source", "control", "edit", "previous"}
_MATRIX = {"effect", "generations", "previous", "matrix_effect", "matrix_largest"}
_WHOLE = {"stack", "versus", "best", "dispatch", "lecture", "beyond_ratio", "form", "losses"}
"""Kinds of the studies whose rows may be of an accepted run."""
_ABOUT = {"bert_first": "bert_base", "bert_graph": "bert_base"}


class Views:
    """What a report shows, by the document that it is made from."""

    def __init__(self, document: dict[str, Any], folder: Folder, context: dict) -> None:
        ran = [cell for cell in document["cells"] if cell["status"] != "not run"]
        self.cells = {(cell["device"], cell["framework"], cell["workload"]) for cell in ran}
        self.titles = {cell["title"]: cell["workload"] for cell in document["cells"]}
        self.baselines = {
            (row["device"], row["framework"], row["workload"]): row["baseline"]
            for row in document["ratios"]
        }
        self.shown = {
            "programs": {one["workload"] for one in document["programs"]},
            "graph": {one["workload"] for one in document["graphs"]},
            "timeline": {one["workload"] for one in document["timeline"]["calls"]},
            "matrix": {one["workload"] for one in document["matrix"]},
        }
        self.audits = {one["id"] for one in document["audits"]}
        tables = [folder[name] for name in ("stacks", "beyond")]
        self.runs = {key: run for path in tables for key, run in _runs(path, context).items()}

    def of(self, finding: Finding, voted: str = "") -> tuple[list[Link], str]:
        """The links of a finding, and where else it comes from; voted: whom of a summary's the vote is of."""
        device, _, rest = finding["id"].rpartition(":")
        kind, *names = rest.split("/")
        if kind == "audit":
            shown = names[0] in self.audits
            return ([("audit", f"audits/{names[0]}")] if shown else []), ""
        known = {*self.titles.values(), *self.shown["matrix"]}
        workload = finding.get("workload") or _ABOUT.get(kind)
        workload = workload or next((name for name in names if name in known), None)
        workload = workload or self.titles.get(voted.partition(" under ")[0])
        if workload is None:
            return [], ""
        run = self.runs.get(workload, "") if kind in _WHOLE else ""
        if run:
            return [], f"cells of the accepted run {run}"
        sides = [name.partition("+")[0] for name in names]
        sides = [name for name in sides if name in frameworks.names()]
        devices = {"cores": [CPU, ONE_THREAD], "steady_1t": [ONE_THREAD]}.get(kind, [device or CPU])
        links = [link for one in devices for link in self._measured(kind, one, sides, workload)]
        return links + self._programs(kind, workload), ""

    def _measured(self, kind: str, device: str, sides: list[str], workload: str) -> list[Link]:
        links: list[Link] = []
        keys = [(device, side, workload) for side in sides]
        on = "" if device == CPU else f" on {device}"
        if kind in _STAGES:
            links += [
                (
                    f"comparison{on}",
                    f"comparisons?stage={_STAGES[kind]}&workload={workload}&framework={side}&device={device}",
                )
                for _, side, _ in keys
                if (device, side, workload) in self.baselines
            ]
        if kind in _CELLS:
            bases = [self.baselines.get(key, "") for key in keys] if kind in _RATIOS else []
            every = dict.fromkeys([*keys, *((device, base, workload) for base in bases)])
            links += [
                (f"{frameworks.title(side)}{on}", f"cell/{device}/{side}/{workload}")
                for _, side, _ in every
                if (device, side, workload) in self.cells
            ]
        return links

    def _programs(self, kind: str, workload: str) -> list[Link]:
        wanted = [
            ("programs", "programs", f"programs/{workload}", kind in _PROGRAMS),
            ("graph", "graph", f"graph/{workload}", kind in _PROGRAMS),
            ("timeline", "timeline", f"timeline/{workload}", kind in _PROFILED),
            ("matrix", "matrix", f"start?workload={workload}", kind in _MATRIX),
        ]
        return [
            (text, fragment)
            for view, text, fragment, asked in wanted
            if asked and workload in self.shown[view]
        ]


def _runs(path: Path, context: dict) -> dict[str, str]:
    """Workload -> the accepted run that its rows are of; empty for this run."""
    if not path.exists():
        return {}
    table = read_whole(path, context).drop_duplicates("workload")
    return dict(zip(table["workload"], table["run"], strict=True))
