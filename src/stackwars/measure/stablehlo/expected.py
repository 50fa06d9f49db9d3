"""Compute the expected values of a workload: its outputs by an evaluation independent of the tested compilers.

They are the workload's own evaluation by NumPy in float64 if there is one, else the baseline's program, which
`stackwars.core.evaluate` evaluates in float64: by the StableHLO interpreter if it is small, else operation by
operation. A model that does not fit the memory in float64 is evaluated in float32. Other frontends' programs are
evaluated too. The majority's values are expected, and the odd one is named; without a majority there are none.
"""

from __future__ import annotations

import math
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.core import documents, evaluate, judge, launch, limits
from stackwars.core.client import CompilerSpec, Worker
from stackwars.core.compilers import INPUT_SETS
from stackwars.core.judge import OUTPUT, Expected, worst_error
from stackwars.core.launch import ExitReport
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.core.program import Graph, GraphError
from stackwars.core.types import element
from stackwars.measure import checks, workloads
from stackwars.measure.stablehlo import arguments
from stackwars.measure.workloads.base import ProgramFileError, Workload
from stackwars.setup.environments import Unavailable, ensure

NUMPY = "NumPy in float64"
NUMPY_FUNCTION = "numpy()"
NO_PROGRAM = 1e-5
"""The limit if there is no program to derive it from, as for a workload that reads values back."""
ENDS = {Status.TIMEOUT: "took too long", Status.OOM: "needed too much memory"}
"""Ends of an evaluation in words; any other end is a failure."""
Values = dict[str, np.ndarray]


@dataclass(frozen=True)
class ExpectedJob:
    """The expected values of a workload at some sizes.

    programs: {framework: {"program": path of program.mlir.gz, "arguments": path of its arguments.json}}, the
    baseline's first. memory_cap_gib, timeout_s: as in the settings of a cell.
    """

    workload: str
    variant: str
    sizes: dict[str, int]
    seed: int
    memory_cap_gib: float | str
    timeout_s: float
    programs: dict[str, dict[str, str]]


class Evaluation:
    """A frontend's program that a worker evaluates.

    alone: whether only single operations evaluate it, which keep the range of their types.
    """

    alone = False

    def __init__(self, name: str, paths: dict[str, str], job: ExpectedJob, worker: Worker) -> None:
        files = (Path(paths["program"]), Path(paths["arguments"]))
        self.name, self._worker, self._arguments = name, worker, files[1]
        self._program = arguments.load_program(name, *files, job.workload, job.sizes, job.seed)
        self.missing = self._program.missing

    @cached_property
    def graph(self) -> Graph:
        """The program's operations.

        :raises GraphError: if one has a result that is no tensor of known extents.
        """
        graph = self._worker.graph(self._program.text)
        if op := evaluate.unsupported(graph):
            raise GraphError(f"{op.name} has a result that is no tensor of known extents")
        return graph

    @property
    def random_operations(self) -> set[str]:
        """The operations that draw random numbers; empty if the program cannot be read."""
        try:
            return self.graph.names & judge.RANDOM
        except (Failed, GraphError):
            return set()

    @property
    def result_types(self) -> dict[str, str]:
        """Return the element types of the results by name; empty if the program cannot be read."""
        try:
            graph = self.graph
        except (Failed, GraphError):
            return {}
        names = [row["name"] for row in arguments.load(self._arguments)[0].get("results", [{"name": OUTPUT}])]
        kinds = [element(graph.types[value]) for value in graph.results]
        return {name: kind for name, kind in zip(names, kinds, strict=False) if name}

    @property
    def weight_bytes(self) -> int:
        return arguments.weight_bytes(arguments.load(self._arguments)[1])

    @property
    def roundoff(self) -> float:
        return evaluate.unit_roundoff(self._program.text)

    @property
    def least_limit(self) -> float:
        """Return the least limit of the results' errors."""
        return judge.least_limit(self.roundoff, self.graph.accumulation)

    def left_open(self, sets: int, *, has_reference: bool) -> str:
        """Return why a result is left to the implementation; "" if none is. has_reference: NumPy decides it."""
        program = self._program
        reason = evaluate.left_open(self._worker, self.graph, program.arguments, sets)
        if reason or has_reference:
            return reason
        return judge.left_to_rounding(self._worker, self.graph, program.arguments, program.text)

    def outputs(self, double: bool, sets: int) -> tuple[Values, str]:
        """Return (the values by key of the first sets of inputs, the evaluator in words)."""
        program = self._program
        evaluated, how = evaluate.results(
            *(self._worker, self.graph, program.arguments),
            double=double, sets=sets, text=program.text, alone=self.alone and double,
        )  # fmt: skip
        named = [program.named(results) for results in evaluated]
        values = {
            key: value
            for number, one in enumerate(named)
            for name, value in one.items()
            if (key := judge.value_key(name, number))
        }
        version = self._worker.versions()["jaxlib"]
        return values, f"jaxlib {version}, {how} in {'float64' if double else 'float32'}"


def expected_of(job: ExpectedJob, evaluator: CompilerSpec) -> Expected:
    """Return the expected values of a workload. evaluator: an XLA that is not tested."""
    values, document = expected(job, evaluator)
    fields = {name: document[name] for name in Expected().document() if name != "schema"}
    return Expected(values=values, **fields)


def expected(job: ExpectedJob, evaluator: CompilerSpec) -> tuple[Values, dict[str, Any]]:
    """Return (the values by key, the document of expected.json); the values are empty if there is a reason."""
    start = time.perf_counter()
    with Worker(evaluator, cap_gib=job.memory_cap_gib) as worker:
        worker.allow(job.timeout_s)
        try:
            values, fields = _values(job, worker)
        except (Failed, GraphError) as error:
            print(worker.log())
            outcome = error.outcome if isinstance(error, Failed) else Outcome(Status.ERROR, str(error))
            values, fields = {}, {"reason": _reason(outcome.status, outcome.detail)}
    document = _document(job, seconds=round(time.perf_counter() - start, 3), **fields)
    return ({} if document["reason"] else values), document


def _reason(status: Status, detail: str) -> str:
    how = f"the reference evaluation {ENDS.get(status, 'failed')}"
    return f"{how}: {detail}" if detail else how


def _document(job: ExpectedJob, **fields: Any) -> dict[str, Any]:
    identity = {key: getattr(job, key) for key in ("workload", "variant", "sizes", "seed")}
    return {**Expected().document(), "witness": None, **identity, **fields}


def _values(job: ExpectedJob, worker: Worker) -> tuple[Values, dict[str, Any]]:
    workload = workloads.load(job.workload)
    evaluations = [Evaluation(name, paths, job, worker) for name, paths in job.programs.items()]
    known = [one for one in evaluations if not one.missing]
    try:
        by_numpy = _by_numpy(workload, job)
    except ProgramFileError as error:
        return {}, {"reason": str(error)}
    if not known and by_numpy:
        return by_numpy, {"judge": NUMPY, "limits": dict.fromkeys(by_numpy, NO_PROGRAM)}
    if not known:
        missing = next((one.missing for one in evaluations), "no frontend lowers it")
        return {}, {"reason": f"no program to evaluate: {missing}"}
    weights, available = known[0].weight_bytes, limits.available_memory_bytes()
    if 3 * weights > available:
        return {}, {"reason": f"the weights, {weights / 2**30:.1f} GiB, do not fit the memory twice"}
    return _by_program(job, known, by_numpy, double=6 * weights < available)


def _by_program(
    job: ExpectedJob, known: Sequence[Evaluation], by_numpy: Values | None, *, double: bool
) -> tuple[Values, dict[str, Any]]:
    """Return (the values that NumPy, or else most of the programs, agree on, their keys of expected.json)."""
    workload, (first, *others) = workloads.load(job.workload), known
    if random := {one.name: names for one in known if (names := one.random_operations)}:
        return {}, {
            "reason": judge.drawn(f"the program of {' and '.join(random)}", set().union(*random.values()))
        }
    exact, fields = _evaluated(job, first, by_numpy, double=double)
    if "reason" in fields:
        return {}, fields
    fields["difference"] = type_difference({one.name: one.result_types for one in known})
    values = {first.name: exact}
    if by_numpy:
        values = {NUMPY_FUNCTION: by_numpy, **values}
        if workload.IS_REFERENCE_TESTED:  # a difference then is an error of the program
            largest, _ = _compared(by_numpy, exact, fields["limits"])
            return by_numpy, fields | {"witness": {"program": first.name, "largest": largest}}
    for other in others:
        # Without NumPy a third program is evaluated only if the first two differ.
        if not by_numpy and len(values) == 2 and len(agreeing(values, fields["limits"])) == 1:
            break
        try:
            other.alone = first.alone
            values[other.name] = other.outputs(double, 1)[0]
        except (Failed, GraphError) as error:
            print(f"{other.name} is no witness: {error}")
    if len(values) == 1:
        return exact, fields
    (reference, right), (name, second), *_ = values.items()
    fields["witness"] = {"program": name, "largest": _compared(right, second, fields["limits"])[0]}
    groups = agreeing(values, fields["limits"])
    if len(groups) == 1 or fields["left_open"]:  # programs of one computation may differ in what is left open
        return right, fields
    most, second_most, *_ = sorted(groups, key=len, reverse=True)
    if len(most) == len(second_most):
        strange = next(label for label in values if label not in groups[0])
        _, how = _compared(right, values[strange], fields["limits"])
        both = f"{job.workload}: {reference} and the program of {strange}"
        if not by_numpy:
            both = f"the programs of {reference} and {strange}"
        reason = f"{both} are not of one computation: {how}"
        return {}, fields | {"disputed": True, "reason": reason}
    odd = {
        label: f"{label} is the odd one, {', '.join(most)} agree: {how}"
        for label in values
        if label not in most and (how := _compared(values[most[0]], values[label], fields["limits"])[1])
    }
    if by_numpy and NUMPY_FUNCTION in odd:
        return {}, fields | {"disputed": True, "reason": f"{job.workload}: {odd[NUMPY_FUNCTION]}"}
    if first.name in odd:  # the limits must follow from another program
        chosen = next(one for one in known if one.name in most)
        further = {key: fields[key] for key in ("difference", "witness")}
        exact, fields = _evaluated(job, chosen, by_numpy, double=double)
        right, fields = by_numpy or exact, fields | further
    return right, fields | {"odd": odd}


def _evaluated(
    job: ExpectedJob, evaluation: Evaluation, by_numpy: Values | None, *, double: bool
) -> tuple[Values, dict[str, Any]]:
    """Return (a program's values, the judge and the limits that follow from the program, or a reason for none)."""
    sets = 1 if by_numpy or workloads.load(job.workload).STATE else INPUT_SETS
    exact, judged_by = evaluation.outputs(double, sets)
    rounding = {}
    if double:
        rounded, _ = evaluation.outputs(False, 1)
        if not by_numpy and any(judge.overflows(value, exact[key]) for key, value in rounded.items()):
            evaluation.alone = True
            exact, judged_by = evaluation.outputs(double, sets)
        rounding = {key: worst_error(value, exact[key]) for key, value in rounded.items()}
    allowed = _limits(job, evaluation.least_limit, rounding, by_numpy or exact)
    if any(map(math.isinf, allowed.values())):
        reason = judge.amplified(max(rounding.values(), default=0.0), evaluation.roundoff)
        return exact, {"reason": reason, "rounding": rounding}
    return exact, {
        "judge": NUMPY if by_numpy else judged_by, "limits": allowed, "rounding": rounding,
        "accumulation": evaluation.graph.accumulation, "program": evaluation.name,
        "left_open": evaluation.left_open(sets, has_reference=bool(by_numpy)),
    }  # fmt: skip


def agreeing(values: Mapping[str, Values], allowed: Mapping[str, float]) -> list[list[str]]:
    """Return groups of names whose values agree with those of the group's first name."""
    groups: list[list[str]] = []
    for name, candidate in values.items():
        group = next((one for one in groups if not _compared(values[one[0]], candidate, allowed)[1]), None)
        if group is None:
            groups.append([name])
        else:
            group.append(name)
    return groups


def _compared(values: Values, other: Values, allowed: Mapping[str, float]) -> tuple[float, str]:
    """Return (the largest error, how the two cannot be one computation); the latter is "" if they can.

    Neither was computed by a tested compiler.
    """
    errors = {key: worst_error(value, values[key]) for key, value in other.items() if key in values}
    largest = max(errors.values(), default=np.inf)
    missing = [key for key in sorted(other.keys() ^ values.keys()) if key.startswith(f"{OUTPUT}0")]
    most = max(allowed.values(), default=NO_PROGRAM)
    apart = {key: one for key, one in errors.items() if not one <= 2 * allowed.get(key, most)}
    if not apart and not missing:
        return largest, ""
    key = missing[0] if missing else max(apart, key=apart.get)
    left, right = (f"has the shape {one[key].shape}" if key in one else "is missing" for one in (values, other))
    how = f"differs by {apart[key]:.1e}" if left == right else f"{left} in one, {right} in the other"
    return largest, f"{key} {how}"


def type_difference(types: Mapping[str, Mapping[str, str]]) -> str:
    """Return how floating-point results differ in type between programs; "" if they do not.

    types: element types of each program's results, by name. Integers of another width are no difference.
    """
    by_result: dict[str, dict[str, str]] = {}
    for program, kinds in types.items():
        for name, kind in kinds.items():
            if not re.match(r"u?i\d", kind):
                by_result.setdefault(name, {})[program] = kind
    return "; ".join(
        f"{name} has other types: " + ", ".join(f"{program} returns {kind}" for program, kind in kinds.items())
        for name, kinds in by_result.items()
        if len(set(kinds.values())) > 1
    )


def _by_numpy(workload: Workload, job: ExpectedJob) -> Values | None:
    """Return the workload's own values, evaluated in a process with limits of time and memory; None without any.

    :raises ProgramFileError: if a program file's function fails.
    :raises Failed: if the process fails in any other way.
    """
    with tempfile.TemporaryDirectory() as folder:
        arrays, problem, log = (Path(folder) / name for name in ("values.npz", "problem.txt", "log.txt"))

        def evaluate_workload() -> None:
            try:
                result = workload.expected(job.sizes, job.seed)
            except ProgramFileError as error:
                problem.write_text(str(error))
                return
            if result is not None:
                outputs, state = result
                named = {f"state/{name}": np.asarray(value) for name, value in state.items()}
                for which, output in enumerate(outputs):
                    named |= judge.output_values(output, which)
                np.savez(arrays, **named)

        report = launch.run_forked(evaluate_workload, limits.cap_bytes(job.memory_cap_gib), job.timeout_s, log)
        if report.exit_code:
            print(log.read_text(errors="replace"))
            raise Failed(_end(report))
        if problem.exists():
            raise ProgramFileError(problem.read_text())
        return dict(np.load(arrays)) if arrays.exists() else None


def _end(report: ExitReport) -> Outcome:
    """Return the outcome of a failed evaluation by NumPy."""
    status = Status.TIMEOUT if report.timed_out else Status.OOM if report.over_cap else Status.ERROR
    return Outcome(status, (report.log_tail.strip().splitlines() or [""])[-1])


def _limits(job: ExpectedJob, least: float, rounding: dict[str, float], values: Values) -> dict[str, float]:
    """Return the limit of every value's errors. least: the limit that follows from the program."""
    least = checks.parity_limit(job.workload, job.sizes, least)
    result = {}
    for key in values:
        # Rounding was measured with the first set of inputs.
        _, _, number = key.partition("/")
        first = judge.value_key(f"{OUTPUT}/{number}" if number else OUTPUT, 0)
        result[key] = judge.limit(least, rounding.get(first if key.startswith(OUTPUT) else key, 0.0))
    return result


def main() -> None:
    """Run `python -m stackwars.measure.stablehlo.expected --job FILE --pins PINS --output DIR`.

    pins: of the environment of an XLA. If the reference evaluation fails, expected.json has the reason.
    """
    options = documents.parse_arguments(main.__doc__, "job", "pins", "output")
    job = documents.read_job(ExpectedJob, options.job)
    try:
        evaluator = CompilerSpec(options.pins.stem, python=str(ensure(options.pins)))
    except Unavailable as error:
        judge.write(options.output, {}, _document(job, reason=error.reason, seconds=0.0))
        return
    judge.write(options.output, *expected(job, evaluator))


if __name__ == "__main__":
    main()
