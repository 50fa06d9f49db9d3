"""The losses of a training workload's first steps, and how far those of two frameworks are apart."""

from __future__ import annotations

from stackwars.measure.events import event

COLUMNS: dict[str, str] = {
    "loss_steps": "steps of training whose losses are told; empty where nothing is trained",
    "loss_first": "loss before the first step",
    "loss_last": "loss before the last of them",
    "losses_apart": "largest relative difference of a step's loss to the baseline's; of it the largest",
}


def of_cell(result: dict) -> list[float]:
    """The losses of a cell's first process; none where nothing is trained."""
    return event(result["processes"][0], "losses").get("values", [])


def numbers(result: dict) -> dict[str, float | int | None]:
    """{column: value} of one cell, without the comparison."""
    found = of_cell(result)
    if not found:
        return {}
    return {"loss_steps": len(found), "loss_first": found[0], "loss_last": found[-1]}


def apart(one: list[float], baseline: list[float]) -> float:
    """The largest relative difference of a step's loss; infinite where there are not as many steps."""
    if len(one) != len(baseline):
        return float("inf")
    return max(abs(a - b) / abs(b) for a, b in zip(one, baseline, strict=True))
