"""The figure of the claims' verdicts."""

from __future__ import annotations

from matplotlib.figure import Figure

from stackwars.claims.output import read_claims, verdicts_by_run
from stackwars.paper.figures.files import save
from stackwars.paper.figures.verdicts import draw_verdicts
from stackwars.results.folder import Folder
from stackwars.results.read_cells import read_json

FOLDER = "claim_figures"


def figures(config: dict, files: Folder) -> dict[str, Figure]:
    """{name: figure}."""
    return {"verdicts": draw_verdicts(*_verdicts(files, read_json(files["context"])))}


def _verdicts(files: Folder, context: dict) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """{claim: its origin}, and {run: {claim: verdict}}: this build, then the accepted runs, newest first."""
    claims = read_claims(files["claims"])
    here = {claim["id"]: claim["verdict"] for claim in claims}
    label = "all runs together" if context["origin"] == "reference" else "this build"
    rows = {label: here} | verdicts_by_run(files)
    return {claim["id"]: claim["origin"] for claim in claims}, rows


def write(config: dict, files: Folder) -> None:
    """Write it."""
    save(lambda: figures(config, files), files[FOLDER])
