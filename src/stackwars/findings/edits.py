"""Findings about edited programs: does changing the named operations take the difference away?"""

from __future__ import annotations

import pandas

from stackwars.compilers.edits import EDITS
from stackwars.findings.split import effect_findings
from stackwars.frameworks import title
from stackwars.results import compiler_verdicts as words
from stackwars.results import verdicts
from stackwars.results.gap_causes import GAP, effect_of_edit
from stackwars.results.read_compilers import compiler_title
from stackwars.results.verdicts import Finding, finding
from stackwars.study.comparisons import Comparison


def edit_findings(
    replay: pandas.DataFrame, split: pandas.DataFrame, pairs: list[Comparison]
) -> list[Finding]:
    """A finding per edited program, and ``edits/<framework>``, the summary of a comparison's."""
    edits, effects = replayed_edits(replay, split), effect_findings(split)
    return [*edits, *(_summary(pair.subject, effects, edits) for pair in pairs)]


def replayed_edits(replay: pandas.DataFrame, split: pandas.DataFrame) -> list[Finding]:
    """``edit/<workload>/<program>/<compiler>``: the share of the difference that an edit takes.

    The other program is the other side of the first comparison that the edited one is in.
    """
    found = []
    for _, row in replay[replay.framework.str.contains("+", regex=False)].iterrows():
        base = row.framework.partition("+")[0]
        there = split[(split.workload == row.workload) & (split.compiler == row.compiler)]
        there = there[(there.framework == base) | (there.baseline == base)]
        if there.empty:
            continue
        pair = there.iloc[0]
        effect, share = effect_of_edit(row, pair)
        found.append(
            finding(
                f"edit/{row.workload}/{row.framework}/{row.compiler}",
                effect,
                workload=row.workload,
                title=row.title,
                compiler=row.compiler,
                generation=compiler_title(row.compiler),
                framework=row.framework,
                subject=pair.framework,
                other=pair.framework if base == pair.baseline else pair.baseline,
                program=title(row.framework),
                edits=row.framework.split("+")[1:],
                share=share,
            )
        )
    return found


def _summary(subject: str, effects: list[Finding], edits: list[Finding]) -> Finding:
    """Of a subject's IR effects of at least :data:`GAP`, those that an edit closes most of, and the rest."""
    beyond = [
        e
        for e in effects
        if e["framework"] == subject
        and e["verdict"] in (verdicts.SLOWER, verdicts.FASTER)
        and max(e["ratio"], 1 / e["ratio"]) >= GAP
    ]
    edits = [e for e in edits if e["subject"] == subject]
    closing = {(e["workload"], e["compiler"]) for e in edits if e["verdict"] == words.CLOSES_MOST}
    closed = [e for e in beyond if (e["workload"], e["compiler"]) in closing]

    def named(some: list[Finding]) -> list[str]:
        """Titles, with the compiler where the workload has an effect in others that is not in it."""
        names = []
        for name in dict.fromkeys(e["title"] for e in some):
            here = [compiler_title(e["compiler"]) for e in some if e["title"] == name]
            whole = len(here) == sum(e["title"] == name for e in beyond)
            names.append(name if whole else f"{name} ({', '.join(here)})")
        return names

    names = dict.fromkeys(name for edit in edits for name in edit["edits"])
    return finding(
        f"edits/{subject}",
        verdicts.SOME if edits else verdicts.NONE,
        framework=subject,
        kinds=[{"name": n.replace("_", " "), "changes": EDITS[n].changes} for n in names],
        beyond=len(beyond),
        closed=len(closed),
        left=named([e for e in beyond if e not in closed]),
    )
