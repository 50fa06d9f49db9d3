"""Table of a cluster's nodes: which one measured what."""

from __future__ import annotations

from typing import Any

from stackwars import workloads
from stackwars.measure.limits import GIB
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.tabular import Float, row, span, table


def nodes_table(nodes: list[dict[str, Any]]) -> str:
    """A row for each node and device, with the node's peak there and the workloads that it measured.

    nodes: those of context.json.
    """
    ragged = r">{\raggedright\arraybackslash}"
    return table(
        Float(
            label="tab:nodes",
            caption="Which Node Measured What",
            columns=rf"l{ragged}p{{0.17\linewidth}}rr{ragged}p{{0.12\linewidth}}lrr{ragged}p{{0.28\linewidth}}",
            note="Peak: rate of a product of matrices and bandwidth of a copy, measured on that node. Cells "
            "and replays of one workload and device are measured on one node; those of two nodes are not "
            "compared. Origin: this run.",
            wide=True,
        ),
        [
            row(
                [
                    "Node",
                    "Processor",
                    "Cores",
                    "GiB",
                    "System",
                    "Device",
                    "GFLOP/s",
                    "GB/s",
                    "Workloads",
                ]
            )
        ],
        map(_line, nodes) if nodes else [row([span(9, "this run was not made on a cluster")])],
    )


def _line(node: dict[str, Any]) -> str:
    peak = node["peak"]
    rates = [peak[key] for key in ("gflop_per_s", "copy_gb_per_s")] if peak else []
    return row(
        [
            escape(node["node"]),
            escape(node["cpu_model"]),
            node["cores"],
            f"{node['memory_bytes'] / GIB:.0f}",
            escape(node["os"]),
            escape(node["device"]),
            *([significant(rate, 3) for rate in rates] or ["---", "---"]),
            escape(", ".join(workloads.load(name).TITLE for name in node["workloads"])),
        ]
    )
