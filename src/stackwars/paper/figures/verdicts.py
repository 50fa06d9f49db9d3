"""The verdict on every claim, by this build and by every accepted run alone."""

from __future__ import annotations

import matplotlib.pyplot as plt

from stackwars.claims.verdicts import CONTRADICTED, NOT_TESTABLE, SUPPORTED
from stackwars.paper.style import PAGE
from stackwars.results.verdicts import NOT_DECIDED

LOOKS = {
    SUPPORTED: {"facecolor": "#14213d"},
    CONTRADICTED: {"facecolor": "#c4571b", "hatch": "////"},
    NOT_DECIDED: {"facecolor": "#e6e6e6"},
    NOT_TESTABLE: {"facecolor": "white"},
}
PITCH, HIGHEST = 0.115, 1.7
"""Inches: of a row where there are few, and of all rows where there are many."""
_EDGE = {"edgecolor": "#999999", "linewidth": 0.3}


def draw_verdicts(claims: dict[str, str], rows: dict[str, dict[str, str]]) -> plt.Figure:
    """A column a claim, and a row a run.

    claims: {id: origin}, in the order of the columns; a line stands between two origins. rows: {label of the
    run: {claim: verdict}}; a claim that a run does not know is drawn as not testable, and a run that tests none
    not at all. However many runs there are, the figure is no higher.
    """
    rows = {name: row for name, row in rows.items() if set(row.values()) - {NOT_TESTABLE}}
    pitch = min(PITCH, HIGHEST / max(1, len(rows)))
    figure, axis = plt.subplots(figsize=(PAGE, 1.83 + pitch * len(rows)))
    axis.set_xlim(-0.5, max(1, len(claims)) - 0.5)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    for y, verdicts in enumerate(rows.values()):
        for x, claim in enumerate(claims):
            look = LOOKS.get(verdicts.get(claim, NOT_TESTABLE), LOOKS[NOT_TESTABLE])
            axis.add_patch(plt.Rectangle((x - 0.5, y - 0.5), 1, 1, **look, **_EDGE))
    origins = list(claims.values())
    for x in range(1, len(origins)):
        if origins[x] != origins[x - 1]:
            axis.axvline(x - 0.5, color="black", linewidth=1.4)
    axis.set_yticks(range(len(rows)), list(rows), fontsize=min(7.5, 0.9 * 72 * pitch))
    names = [claim.replace("_", " ") for claim in claims]
    axis.set_xticks(range(len(claims)), names, rotation=90, fontsize=6.5)
    axis.tick_params(length=0)
    for side in axis.spines.values():
        side.set_visible(False)
    handles = [
        plt.Rectangle((0, 0), 1, 1, label=word, **look, **_EDGE) for word, look in LOOKS.items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), handlelength=1.2)
    return figure
