"""Real cells of a toy framework whose outputs are compared with expected values."""

import numpy as np
import pytest

from stackwars.core import judge
from stackwars.measure import workloads
from stackwars.measure.cell import write
from toy_checkout import SETTINGS, ToyCheckout

BY = "NumPy in float64"
WRONG = "1 of 8 elements wrong (the last 1 of axis 0 and 2 of axis 1), largest error"


@pytest.fixture(scope="module")
def toy(tmp_path_factory) -> ToyCheckout:
    """A checkout with the toy framework, and the values that are expected of its product."""
    made = ToyCheckout(tmp_path_factory.mktemp("checkout"))
    outputs, _ = workloads.load("gemm").expected({"m": 2, "k": 3, "n": 4}, SETTINGS["seed"])
    values = {f"output{number}": output for number, output in enumerate(outputs)}
    document = {"judge": BY, "reason": "", "limits": dict.fromkeys(values, 1e-5)}
    judge.write(made.folder / "expected", values, document)
    judge.write(made.folder / "none", {}, {"judge": "", "reason": "it took too long", "limits": {}})
    return made


def cell(toy: ToyCheckout, *behaviours: str, expected: str = "expected") -> dict:
    """The cell of one process for each behaviour."""
    records = [toy.measure(behaviour, n, expected=expected) for n, behaviour in enumerate(behaviours)]
    for record in records:
        del record["printed"]
    return write(toy.folder / "cell", records, [toy.folder / toy.output(n) for n in range(len(records))], 7)


def test_one_wrong_element_makes_the_cell_wrong_and_its_processes_keep_their_times(toy):
    found = cell(toy, "one wrong", "flaky")
    assert found["status"] == "wrong"
    assert found["status_detail"].startswith(f"flaky: {WRONG}") and found["status_detail"].endswith(
        f", by {BY}"
    )
    assert (found["values"]["wrong"], found["values"]["flaky"]) == (1, True)
    for process in found["processes"]:
        assert (process["status"], process["values"]["wrong"]) == ("ok", 1)
        steady = next(event for event in process["events"] if event["event"] == "steady")
        assert len(steady["ns"]) == 4
    # Of a wrong cell, too, everything that tells why is kept.
    assert np.load(toy.folder / "cell" / "output.npy").shape == (16,)
    assert (toy.folder / "cell" / "stablehlo.mlir.gz").stat().st_size > 0
    assert found["ir"] and found["output_sha256"]


def test_values_that_are_not_finite_are_wrong_only_if_something_else_is_expected(toy):
    found = cell(toy, "nan")
    assert found["status"] == "wrong"
    assert (found["values"]["wrong"], found["values"]["largest"]) == (8, None)
    assert found["status_detail"] == f"8 of 8 elements wrong (all), by {BY}"
    infinite = {f"output{number}": np.full((2, 4), np.nan) for number in range(2)}
    document = {"judge": BY, "reason": "", "limits": dict.fromkeys(infinite, 1e-5)}
    judge.write(toy.folder / "infinite", infinite, document)
    assert cell(toy, "nan", expected="infinite")["status"] == "ok"


def test_without_expected_values_nothing_is_wrong(toy):
    found = cell(toy, "one wrong", expected="none")
    assert (found["status"], found["status_detail"], found["values"]) == ("ok", "", None)
    assert found["processes"][0]["values"] is None


def test_right_outputs_are_ok_and_not_kept_and_a_partner_is_not_judged(toy):
    found = toy.measure_cell("ok", partner="one wrong", expected="expected", rounds=1)
    [result] = found["processes"]
    assert (found["status"], found["status_detail"], result["partner"]["status"]) == ("ok", "", "ok")
    values = found["values"]
    assert (values["judge"], values["wrong"], values["total"], values["flaky"]) == (BY, 0, 8, False)
    assert 0 <= values["largest"] < 1e-6 and values["limit"] == 1e-5
    assert not list((toy.folder / toy.cell()).rglob(judge.OUTPUTS))
    assert "expected" not in result
