"""The expected results of a program file: every operation evaluated alone in float64.

Limits are those of `stackwars.compilers.expected`. `python -m stackwars.explain.reference --job FILE --output FOLDER`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stackwars.compilers import expected
from stackwars.compilers.evaluate import unit_roundoff
from stackwars.explain.evaluated import results, unsupported
from stackwars.explain.graph import Graph, GraphError
from stackwars.explain.outcomes import OutcomesJob
from stackwars.explain.question import Question, Side
from stackwars.explain.trial_outcomes import rounding_limit
from stackwars.explain.workers import Crashed, Refused, TimedOut, Worker
from stackwars.measure import documents, judge
from stackwars.setup import environments
from stackwars.workloads.base import INPUT_SETS


def reference(job: OutcomesJob) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return (the expected values by key, the document of expected.json) of the job's first program."""
    empty = {"schema": 1, **expected.NOTHING}
    try:
        values, found = _evaluated(job)
    except NotImplementedError as error:
        return {}, empty | {"reason": f"no program to evaluate: {error}"}
    except (Refused, Crashed, TimedOut, GraphError, MemoryError, environments.BuildError) as error:
        said = " ".join(str(error).split())[:300]
        return {}, empty | {"reason": f"the reference evaluation failed: {said}"}
    return values, empty | found


def _evaluated(job: OutcomesJob) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    question, side = Question.load(job.question), Side(**job.sides[0])
    limits = question.limits | {"timeout_s": question.settings["budget_s"]}
    with Worker(question.evaluator, **limits) as worker:
        graph = worker.generic(side.text)
        if op := unsupported(graph):
            raise GraphError(f"{op.name} has a result that is no tensor of known extents")
        given = question.values(side, graph)
        exact = results(worker, graph, given, double=True, sets=INPUT_SETS)
        (rounded,) = results(worker, graph, given, double=False, sets=1)
        versions = worker.versions()
    names = judge.output_names(len(graph.results))
    values = {
        judge.value_key(name, number): array
        for number, arrays in enumerate(exact)
        for name, array in zip(names, arrays, strict=True)
    }
    rounding = dict(zip(names, map(expected.worst_error, rounded, exact[0]), strict=True))
    compiler = f"jaxlib {versions['jaxlib']}" if "jaxlib" in versions else question.evaluator.name
    return values, {
        "judge": f"{compiler}, operation by operation in float64",
        "limits": limits_of(side.text, graph, rounding),
        "rounding": rounding,
    }


def limits_of(text: str, graph: Graph, rounding: dict[str, float]) -> dict[str, float]:
    """Return the limit of every value's errors, as `stackwars.compilers.expected` derives it. rounding: by result."""
    least = rounding_limit(graph, unit_roundoff(text))
    result = {}
    for name, measured in rounding.items():
        margin = expected.MARGIN * measured if np.isfinite(measured) else 0.0
        for number in range(INPUT_SETS):
            result[judge.value_key(name, number)] = min(expected.MOST, max(least, margin))
    return result


def main() -> None:
    options = documents.parse_arguments(__doc__, "job", "output")
    judge.write(options.output, *reference(OutcomesJob(**documents.read(options.job))))


if __name__ == "__main__":
    main()
