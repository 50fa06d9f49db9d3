"""Compute the expected values of a workload: its outputs by an evaluation that is no suspect.

In this order: the workload's own evaluation by NumPy in float64; the baseline's program in the StableHLO interpreter
in float64, if it is small; the same in XLA with its optimisation passes off. A model that does not fit the memory in
float64 is evaluated in float32. Without NumPy a second frontend's program is evaluated too: if the two differ, no
values are expected of either.

The limit of an error follows from the program: the larger of what rounding does to its longest sum (4 standard
deviations, u sqrt(n): Higham and Mary, SIAM J. Sci. Comput. 41, 2019) and 8 times what an evaluation of the same
program in its precision differs from that in float64.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stackwars import workloads
from stackwars.compilers import arguments
from stackwars.compilers.arguments import OUTPUT
from stackwars.compilers.evaluate import Program, unit_roundoff
from stackwars.compilers.xla import Compiler
from stackwars.ir import program_text
from stackwars.measure import checks, documents, judge, launch, limits
from stackwars.measure.agreement import agreement
from stackwars.setup.environments import why_unavailable
from stackwars.workloads.base import ProgramFileError

ROUNDINGS = 32
"""The least limit in units of roundoff: libraries' exponentials and the like are a few apart."""
DEVIATIONS = 4
"""Of the rounding error of a sum, in standard deviations."""
MARGIN = 8
"""How many times the error of one evaluation in the program's precision another may have."""
NUMPY = "NumPy in float64"
NO_PROGRAM = 1e-5
"""The limit if there is no program to derive it from, as of a workload that reads values back."""
MOST = 1e-2
"""The largest limit: a program that is more sensitive to rounding cannot be judged this way."""
NOTHING = {"judge": "", "reason": "", "limits": {}, "rounding": {}, "witness": None, "disputed": False}
"""What expected.json has if nothing is known."""
Values = dict[str, np.ndarray]


@dataclass(frozen=True)
class ExpectedJob:
    """The expected values of a workload at some sizes.

    programs: {framework: {"program": path of program.mlir.gz, "arguments": path of its arguments.json}}, the
    baseline's first. memory_cap_gib, timeout_s: as of a cell.
    """

    workload: str
    variant: str
    sizes: dict[str, int]
    seed: int
    memory_cap_gib: float | str
    timeout_s: float
    programs: dict[str, dict[str, str]]


class Evaluation:
    """A frontend's program with its arguments, evaluated with every set of inputs."""

    def __init__(self, name: str, paths: dict[str, str], job: ExpectedJob) -> None:
        text = program_text.read(Path(paths["program"]))
        self.name, self.missing = name, program_text.missing_reason(text)
        if self.missing is None:
            self.document, self.entries = arguments.load(Path(paths["arguments"]))
            self.program, self.roundoff = Program(text), unit_roundoff(text)
        self._job = job
        self._sets = workloads.load(job.workload).input_sets(job.sizes, job.seed)

    def outputs(self, double: bool, sets: int) -> tuple[Values, str]:
        """Return (the values by key of the first sets of inputs, what evaluated them)."""
        # One after the other: a model's weights fit the memory once or twice.
        given = (
            (entry.value(self._job.seed, inputs) for entry in self.entries) for inputs in self._sets[:sets]
        )
        return outputs(self.program, self.document, given, double)


def outputs(
    program: Program, document: dict, sets: Iterable[Iterable[np.ndarray]], double: bool
) -> tuple[Values, str]:
    """Return (the values by key of a program's results, what evaluated them).

    document: names the results, as its arguments.json. sets: the values of its arguments in each set of inputs.
    """
    precision = "float64" if double else "float32"
    if program.interpretable:
        evaluate, by = program.interpreter(double), f"the StableHLO interpreter in {precision}"
    else:
        version = Compiler("cpu", {}).versions()["jaxlib"]
        evaluate, by = program.compiled(double), f"jaxlib {version} in {precision}, passes off"
    result = {}
    for number, given in enumerate(sets):
        for name, value in arguments.named(document, evaluate(given)).items():
            if key := judge.value_key(name, number):
                result[key] = value
    return result, by


def least_limit(roundoff: float, terms: int) -> float:
    """Return the least limit of an error: what rounding does to a sum of so many terms."""
    return max(ROUNDINGS * roundoff, DEVIATIONS * math.sqrt(terms) * roundoff)


def expected(job: ExpectedJob) -> tuple[Values, dict[str, Any]]:
    """Return (the values by key, the document of expected.json); the values are empty if there is a reason."""
    start = time.perf_counter()
    values, found = _values(job)
    document = _document(job, seconds=round(time.perf_counter() - start, 3), **found)
    return ({} if document["reason"] else values), document


def _document(job: ExpectedJob, **found: Any) -> dict[str, Any]:
    identity = {key: getattr(job, key) for key in ("workload", "variant", "sizes", "seed")}
    return {"schema": 1, **identity, **NOTHING, **found}


def _values(job: ExpectedJob) -> tuple[Values, dict[str, Any]]:
    workload = workloads.load(job.workload)
    evaluations = [Evaluation(name, paths, job) for name, paths in job.programs.items()]
    known = [one for one in evaluations if one.missing is None]
    try:
        by_numpy = _by_numpy(workload, job)
    except ProgramFileError as error:
        return {}, {"reason": str(error)}
    if not known and by_numpy:
        return by_numpy, {"judge": NUMPY, "limits": dict.fromkeys(by_numpy, NO_PROGRAM)}
    if not known:
        return {}, {"reason": f"no program to evaluate: {evaluations[0].missing}"}
    first, *others = known
    weights = 4 * sum(math.prod(entry.shape) for entry in first.entries if entry.kind == "weight")
    double = 6 * weights < limits.available_memory_bytes()
    if 3 * weights > limits.available_memory_bytes():
        return {}, {"reason": f"the weights, {weights / 2**30:.1f} GiB, do not fit the memory twice"}
    sets = 1 if hasattr(workload, "STATE") else len(first._sets)
    exact, judged_by, double = _exact(first, double, 1 if by_numpy else sets)
    rounding = {}
    if double:
        rounded, _ = first.outputs(False, 1)
        rounding = {key: worst_error(value, exact[key]) for key, value in rounded.items()}
    allowed = _limits(job, first, rounding, by_numpy or exact)
    found = {
        "judge": judged_by, "limits": allowed, "rounding": rounding,
        "accumulation": first.program.accumulation, "program": first.name,
    }  # fmt: skip
    if by_numpy:
        both = f"{job.workload}: numpy() and the program of {first.name}"
        witness = _witness(by_numpy, exact, first.name, allowed, both)
        if workload.IS_REFERENCE_TESTED:  # then a difference is the program's
            return by_numpy, found | {"judge": NUMPY, "witness": witness["witness"]}
        found |= {"judge": NUMPY, **witness}
    for other in others if by_numpy else others[:1]:
        second, _ = other.outputs(double, 1)
        both = f"the programs of {first.name} and {other.name}"
        witness = _witness(exact, second, other.name, allowed, both)
        found = witness | found if by_numpy else found | witness
    return by_numpy or exact, found


def _exact(program: Evaluation, double: bool, sets: int) -> tuple[Values, str, bool]:
    """Return a program's values, what evaluated them, and whether that was in float64, which not every program has:
    one that reads the bits of a float32 does not.
    """
    try:
        return *program.outputs(double, sets), double
    except Exception:
        if not double:
            raise
        return *program.outputs(False, sets), False


def _witness(
    values: Values, found: Values, program: str, allowed: dict[str, float], both: str
) -> dict[str, Any]:
    """Return how far a program's values are from the expected ones, and the reason if both are not of one
    computation. No compiler has a part in either.
    """
    errors = {key: worst_error(value, values[key]) for key, value in found.items() if key in values}
    result = {"witness": {"program": program, "largest": max(errors.values(), default=np.inf)}}
    missing = [key for key in sorted(found.keys() ^ values.keys()) if key.startswith(f"{OUTPUT}0")]
    apart = {key: one for key, one in errors.items() if not one <= 2 * allowed[key]}
    if not apart and not missing:
        return result
    key = missing[0] if missing else max(apart, key=apart.get)
    here, there = (f"has the shape {one[key].shape}" if key in one else "is missing" for one in (values, found))
    how = f"differs by {apart[key]:.1e}" if here == there else f"{here} in one, {there} in the other"
    reason = f"{both} are not of one computation: {key} {how}"
    return result | {"disputed": True, "reason": reason}


def _by_numpy(workload: Any, job: ExpectedJob) -> Values | None:
    result = workload.expected(job.sizes, job.seed)
    if result is None:
        return None
    outputs, state = result
    found = {f"state/{name}": np.asarray(value) for name, value in state.items()}
    for which, output in enumerate(outputs):
        found |= judge.output_values(output, which)
    return found


def worst_error(values: np.ndarray, right: np.ndarray) -> float:
    """Return the larger of the relative L2 error and that of an element over the largest value."""
    verdict = agreement(values, right, np.inf)
    return max(verdict.l2, verdict.largest)


def _limits(
    job: ExpectedJob, evaluation: Evaluation, rounding: dict[str, float], values: Values
) -> dict[str, float]:
    """Return the limit of every value's errors."""
    least = least_limit(evaluation.roundoff, evaluation.program.accumulation)
    least = checks.parity_limit(job.workload, job.sizes, least)
    result = {}
    for key in values:
        # Rounding was measured with the first set of inputs.
        _, _, number = key.partition("/")
        first = judge.value_key(f"{OUTPUT}/{number}" if number else OUTPUT, 0)
        measured = rounding.get(first if key.startswith(OUTPUT) else key, 0.0)
        result[key] = min(MOST, max(least, MARGIN * measured))
    return result


def main() -> None:
    """`python -m stackwars.compilers.expected --job FILE --output DIR`.

    A reference evaluation that fails leaves the reason in expected.json, and the status is 0.
    """
    options = documents.parse_arguments(main.__doc__, "job", "output")
    job = ExpectedJob(**documents.read(options.job))
    if why := why_unavailable():
        judge.write(options.output, {}, _document(job, reason=why, seconds=0.0))
        return
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.txt"
        cap = limits.cap_bytes(job.memory_cap_gib)
        report = launch.run_forked(lambda: judge.write(options.output, *expected(job)), cap, job.timeout_s, log)
        print(log.read_text(errors="replace"))
    if report.exit_code:
        last = (report.log_tail.strip().splitlines() or [""])[-1]
        how = "took too long" if report.timed_out else "needed too much memory" if report.over_cap else "failed"
        reason = f"the reference evaluation {how}: {last}" if last else f"the reference evaluation {how}"
        judge.write(options.output, {}, _document(job, reason=reason, seconds=report.wall_s))


if __name__ == "__main__":
    main()
