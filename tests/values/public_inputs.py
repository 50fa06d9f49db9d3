"""Programs with known faults of compilers: a module for each, with the report that it is from.

A module has a workload and

    ISSUE        the public report that the computation is from; "" for one that this project found
    UPSTREAM     the section of docs/upstream.md about a fault that has no public report
    TITLE        of the workload
    FAULT_SIZES  the smallest sizes with the fault
    FAULTS       {compiler: {program: status}}; every other program of a frontend with a form is ok there
    CURE         what removes the fault
"""

import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

from stackwars.setup.environments import REPOSITORY, clean_environ

FOLDER = Path(__file__).parent
RUN = """
import sys
from importlib import import_module
from stackwars import workloads
folder, module, *sys.argv[1:] = sys.argv[1:]
workloads.__path__.append(folder)
import_module(module).main()
"""


def load() -> Iterator[ModuleType]:
    """Yield the modules, in the order of their workloads."""
    names = [file.stem for file in FOLDER.glob("*.py") if "\nWORKLOAD = " in file.read_text()]
    yield from sorted(map(import_module, names), key=lambda module: module.WORKLOAD.ORDER)


def run(python: Path, module: str, *arguments: str) -> subprocess.CompletedProcess:
    """Run a module of this project in an environment, with the workloads of this folder."""
    command = [python, "-c", RUN, str(FOLDER), module, *arguments]
    environ = clean_environ({"PYTHONPATH": f"{REPOSITORY / 'src'}:{FOLDER}"})
    return subprocess.run(command, env=environ, capture_output=True, text=True)


def faults() -> Iterator[dict[str, str]]:
    """Yield the rows of paper/published/faults.csv: for each input, compiler and outcome the programs that have it."""
    for module in load():
        for compiler, programs in module.FAULTS.items():
            for status in dict.fromkeys(programs.values()):
                yield {
                    "title": module.TITLE,
                    "issue": module.ISSUE,
                    "sizes": " ".join(f"{name}={value}" for name, value in module.FAULT_SIZES.items()),
                    "compiler": compiler,
                    "status": status,
                    "programs": " ".join(name for name, one in programs.items() if one == status),
                    "cure": module.CURE,
                }
