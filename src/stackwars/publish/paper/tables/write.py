"""Write every table of the paper: ``python -m stackwars.publish.paper.tables.write``."""

from __future__ import annotations

from stackwars.publish.paper.tables import causes, claims, compilers, latency, programs
from stackwars.publish.paper.tables.table import Table, render
from stackwars.study.keys import Config
from stackwars.study.results.dataset import sources
from stackwars.study.results.folder import Folder, command

MODULES = (latency, compilers, causes, programs, claims)
REGISTRY: tuple[Table, ...] = tuple(table for module in MODULES for table in module.TABLES)
"""Every table of the paper."""


def write(config: Config, folder: Folder) -> None:
    datasets = sources(config, folder)
    folder["tables"].mkdir(parents=True, exist_ok=True)
    for table in REGISTRY:
        (folder["tables"] / f"{table.name}.tex").write_text(render(table, datasets), encoding="utf-8")


if __name__ == "__main__":
    command(write)
