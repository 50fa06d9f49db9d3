"""Every figure of a folder of results, as the workflow draws them but for the graphs of programs."""

from stackwars.paper.figures import of_cells, of_claims, of_compilers
from stackwars.paper.figures.files import save
from stackwars.results.folder import Folder


def draw(config: dict, files: Folder) -> None:
    for module in (of_cells, of_compilers, of_claims):
        save(lambda module=module: module.figures(config, files), files[module.FOLDER])
