"""What differs between a run and the reference."""

from stackwars.publish.report.against import against
from stackwars.study.claims.compare import NOT_DECIDED_HERE, NOT_REPRODUCED, REPRODUCED
from stackwars.study.claims.verdicts import NOT_TESTABLE


def claim(name: str, reference: str, run: str, outcome: str) -> dict:
    return {"id": name, "reference": reference, "run": run, "outcome": outcome}


def ratio(name: str, run: float, predicted: list | None, inside: bool | None) -> dict:
    return {"workload": name, "run": run, "predicted": predicted, "inside": inside}


def test_what_contradicts_comes_first_and_what_agrees_is_left_out():
    document = {
        "summary": "So it is.",
        "run": {"machine": "a"},
        "reference": {"machines": ["b"]},
        "claims": [
            claim("x", "supported", "supported", REPRODUCED),
            claim("y", "supported", "not decided", NOT_DECIDED_HERE),
            claim("z", "supported", "contradicted", NOT_REPRODUCED),
            claim("w", "supported", NOT_TESTABLE, NOT_DECIDED_HERE),
        ],
        "ratios": [
            ratio("near", 3.1, [1, 3], False),
            ratio("inside", 2.0, [1, 3], True),
            ratio("unknown", 2.0, None, None),
            ratio("far", 0.1, [1, 3], False),
        ],
        "cells": [{"reference": "ok", "run": "ok"}, {"reference": "ok", "run": "oom"}],
    }
    found = against(document)
    assert [one["id"] for one in found["claims"]] == ["z", "y"]
    assert [one["workload"] for one in found["ratios"]] == ["far", "near"]
    assert [one["run"] for one in found["cells"]] == ["oom"]
    assert found["counts"] == [4, 4, 2] and found["untested"] == 1


def test_the_reference_is_compared_with_nothing():
    assert against({"schema": 1, "summary": ""}) is None
    assert against({}) is None
