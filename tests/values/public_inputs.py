"""Programs of tests/explain/public with known faults of compilers, and their reports.

Besides its functions, whose default sizes are the smallest with the fault, the file of a fault has

    ISSUE        the public report that the computation is from; "" for one that this project found
    UPSTREAM     the section of docs/upstream.md about a fault that has no public report
    FAULTS       {compiler: {program: status}}; every other program of a frontend with a form is ok there
    CURE         what removes the fault
"""

from collections.abc import Iterator

from stackwars.core.launch import REPOSITORY
from stackwars.measure import workloads
from stackwars.measure.workloads.functions import Functions

FOLDER = REPOSITORY / "tests" / "explain" / "public"
FILES = [file for file in FOLDER.glob("*.py") if "\nFAULTS = " in file.read_text()]
WORKLOADS: dict[str, Functions] = {
    workload.path.stem: workload
    for workload in sorted((workloads.load(str(file)) for file in FILES), key=lambda one: one.ORDER)
}
"""The workloads of the files, by the files' names."""


def faults() -> Iterator[dict[str, str]]:
    """Yield the rows of paper/published/faults.csv: for each input, compiler and outcome the programs that have it."""
    for workload in WORKLOADS.values():
        for compiler, programs in workload.module.FAULTS.items():
            for status in dict.fromkeys(programs.values()):
                yield {
                    # The column beside it names the issue.
                    "title": workload.TITLE.rpartition(": ")[2].capitalize(),
                    "issue": workload.module.ISSUE,
                    "sizes": " ".join(f"{name}={value}" for name, value in workload.DEFAULTS.items()),
                    "compiler": compiler,
                    "status": status,
                    "programs": " ".join(name for name, one in programs.items() if one == status),
                    "cure": workload.module.CURE,
                }
