"""The expected results of a program file: every operation evaluated alone in float64.

Limits are those of `stackwars.compilers.expected`. `python -m stackwars.explain.reference --job FILE --output FOLDER`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.compilers import expected
from stackwars.compilers.evaluate import unit_roundoff
from stackwars.explain.evaluated import evaluate, unsupported
from stackwars.explain.graph import Graph, GraphError
from stackwars.explain.outcomes import OutcomesJob
from stackwars.explain.question import Side
from stackwars.explain.trial_outcomes import rounding_limit
from stackwars.explain.workers import Crashed, Refused, TimedOut, Worker
from stackwars.measure import documents, judge
from stackwars.measure.agreement import agreement
from stackwars.setup import environments
from stackwars.workloads.base import INPUT_SETS


def reference(job: OutcomesJob) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return (the expected values by key, the document of expected.json) of the job's first program."""
    empty = {"schema": 1, "judge": "", "reason": "", "limits": {}, "rounding": {}, "witness": None}
    empty["disputed"] = False
    try:
        values, found = _evaluated(job)
    except NotImplementedError as error:
        return {}, empty | {"reason": f"no program to evaluate: {error}"}
    except (Refused, Crashed, TimedOut, GraphError, MemoryError, environments.BuildError) as error:
        said = " ".join(str(error).split())[:300]
        return {}, empty | {"reason": f"the reference evaluation failed: {said}"}
    return values, empty | found


def _evaluated(job: OutcomesJob) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    question, side = job.question(), Side(**job.sides[0])
    limits = {"cap_gib": job.settings["memory_cap_gib"], "timeout_s": job.settings["budget_s"]}
    with Worker(question.evaluator, **limits) as worker, tempfile.TemporaryDirectory() as folder:
        graph = worker.generic(side.text)
        if op := unsupported(graph):
            raise GraphError(f"{op.name} has a result that is no tensor of known extents")
        given = question.values(side, graph)
        exact = evaluate(worker, graph, given, _made(folder, "exact"), save=graph.results)
        rounded = evaluate(
            worker, graph, given, _made(folder, "rounded"), double=False, sets=1, save=graph.results
        )
        values, rounding = {}, {}
        for name, result in zip(judge.output_names(len(graph.results)), graph.results, strict=True):
            for number in range(INPUT_SETS):
                key = judge.value_key(name, number)
                values[key] = np.array(exact.array(result, number))
                if number == 0:
                    verdict = agreement(np.asarray(rounded.array(result)), values[key], np.inf)
                    rounding[name] = max(verdict.l2, verdict.largest)
        versions = worker.versions()
    compiler = f"jaxlib {versions['jaxlib']}" if "jaxlib" in versions else question.evaluator.name
    return values, {
        "judge": f"{compiler}, operation by operation in float64",
        "limits": limits_of(side.text, graph, rounding),
        "rounding": rounding,
    }


def _made(folder: str, name: str) -> Path:
    result = Path(folder, name)
    result.mkdir()
    return result


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
