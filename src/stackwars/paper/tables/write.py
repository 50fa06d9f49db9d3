"""Write the tables of the paper: ``python -m stackwars.paper.tables.write``."""

from __future__ import annotations

from stackwars.paper.tables import (
    artifact,
    audits,
    causes,
    claims,
    compilers,
    latency,
    programs,
    stacks,
    targets,
)
from stackwars.paper.tables.render import render
from stackwars.paper.tables.spec import Table
from stackwars.results.dataset import sources
from stackwars.results.folder import Folder, command

REGISTRY: tuple[Table, ...] = tuple(
    table
    for module in (latency, compilers, causes, programs, targets, stacks, audits, claims, artifact)
    for table in module.TABLES
)
"""Every table of the paper."""


def write(config: dict, folder: Folder) -> None:
    """Write tables/<name>.tex for every table into the folder."""
    datasets = sources(config, folder)
    folder["tables"].mkdir(parents=True, exist_ok=True)
    for table in REGISTRY:
        (folder["tables"] / f"{table.name}.tex").write_text(render(table, datasets), encoding="utf-8")


if __name__ == "__main__":
    command(write)
