"""Tables of programs for several devices: those that ran here, and those that were compiled for slices."""

from __future__ import annotations

from stackwars.compilers.collectives import KINDS
from stackwars.paper.latex import escape, significant
from stackwars.paper.tables.rows import runs_of
from stackwars.paper.tables.tabular import Float, row, span, table
from stackwars.results.values import is_missing
from stackwars.results.verdicts import Finding

KIB, MIB, GIB = 2**10, 2**20, 2**30
HEADS = {
    "all_reduce": "AR",
    "all_gather": "AG",
    "reduce_scatter": "RS",
    "all_to_all": "A2A",
    "collective_permute": "CP",
}


def sharded_table(findings: list[Finding]) -> str:
    """A row for each workload, way and frontend.

    findings: those of ``sharded/...``.
    """
    known = [f for f in findings if f["id"].startswith("sharded/")]
    kinds, absent = _kinds(known)
    devices = sorted({f["devices"] for f in known})
    lines, previous = [], None
    for (title, way, frontend), group in _grouped(known, "title", "way", "frontend_title"):
        of = {f["devices"]: f for f in group}
        last = of[max(of)]
        head = f"{title}, {way}"
        if last["rel_l2"] is None:
            values = [span(len(kinds) + len(devices) + 2, escape(last["status"]))]
        else:
            worst = max(f["rel_l2"] for f in group if f["rel_l2"] is not None)
            values = [
                *(str(int(last[key])) for key in ("emitted", *kinds)),
                *(_scaled(of.get(n, {}).get("bytes"), KIB) for n in devices),
                f"{worst:.0e}",
            ]
        lines.append(row([escape(head) if head != previous else "", escape(frontend), *values]))
        previous = head
    return table(
        Float(
            label="tab:sharded",
            caption="Collectives of Programs Divided among Devices of This Machine",
            columns="ll" + "r" * (len(kinds) + len(devices) + 2),
            note=f"On {max(devices, default=0)} devices: collectives in the program as it was emitted, then "
            "all-reduces (AR), all-gathers (AG), reduce-scatters (RS), all-to-alls (A2A) and permutes (CP) in "
            "the program as XLA divided it. KiB: of their results, on one device. Error: the largest relative "
            "$L_2$ distance of a result to that of one device. " + absent + runs_of(known),
            wide=True,
            size=r"\scriptsize",
        ),
        [
            row(
                [
                    *("Workload", "Frontend", "{Emitted}"),
                    *(f"{{{HEADS[kind]}}}" for kind in kinds),
                    *(f"{{KiB on {n}}}" for n in devices),
                    "{Error}",
                ]
            )
        ],
        lines or [row([span(len(kinds) + 4, "nothing was divided")])],
    )


def slice_table(findings: list[Finding]) -> str:
    """A row for each workload, framework and slice.

    findings: those of ``slice/...``.
    """
    known = [f for f in findings if f["id"].startswith("slice/")]
    kinds, absent = _kinds(known)
    lines, previous = [], None
    for (title, framework), group in _grouped(known, "title", "frontend_title"):
        for one in sorted(group, key=lambda f: f["devices"]):
            head = f"{title}, {one['way']}"
            counts = [_count(one[kind]) for kind in kinds]
            lines.append(
                row(
                    [
                        escape(head) if head != previous else "",
                        escape(framework),
                        str(int(one["devices"])),
                        _scaled(one["device_bytes"], GIB),
                        escape(one["verdict"] if one["status"] == "ok" else one["status"]),
                        *counts,
                        _scaled(one["bytes"], MIB),
                    ]
                )
            )
            previous = head
    return table(
        Float(
            label="tab:slices",
            caption="Programs Compiled for Slices of TPU v6e",
            columns="llrrl" + "r" * (len(kinds) + 1),
            note="GiB: that each chip needs, its code left out. The collectives are those that the "
            "TPU's compiler chose, named as in Table~\\ref{tab:sharded}; MiB: of their results, on one chip. "
            + absent
            + runs_of(known),
            wide=True,
            size=r"\scriptsize",
        ),
        [
            row(
                [
                    *("Workload", "Framework", "{Chips}", "{GiB}", "Verdict"),
                    *(f"{{{HEADS[kind]}}}" for kind in kinds),
                    "{MiB}",
                ]
            )
        ],
        lines or [row([span(len(kinds) + 6, "nothing was compiled for a slice")])],
    )


def _grouped(findings: list[Finding], *keys: str) -> list[tuple[tuple, list[Finding]]]:
    """The findings by these fields, in the order in which each first stands."""
    groups: dict[tuple, list[Finding]] = {}
    for one in findings:
        groups.setdefault(tuple(one[key] for key in keys), []).append(one)
    return list(groups.items())


def _kinds(findings: list[Finding]) -> tuple[list[str], str]:
    """The kinds of collectives that some program has, and a line for the note about the others."""
    found = [kind for kind in KINDS if any(f[kind] for f in findings if not is_missing(f[kind]))]
    absent = [HEADS[kind] for kind in KINDS if kind not in found]
    return found, f"No program here has {', '.join(absent)}. " if absent else ""


def _count(value: float | None) -> str:
    return "---" if is_missing(value) else str(int(value))


def _scaled(value: float | None, unit: int) -> str:
    return "---" if is_missing(value) else significant(value / unit) if value else "0"
