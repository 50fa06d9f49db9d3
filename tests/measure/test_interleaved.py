"""Two interleaved processes: never at once, in pairs, and neither can spoil the other's result."""

import io
import itertools
import os
import threading
import time
from pathlib import Path

import pytest

from measured import process
from stackwars.measure import interleaved
from stackwars.measure.contention import Usage
from stackwars.measure.documents import EVENTS, Events, read_events
from stackwars.measure.interleaved import pairs_ms
from toy_checkout import ToyCheckout

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def toy(tmp_path_factory) -> ToyCheckout:
    """A checkout with the toy framework; tests in it run one after the other."""
    return ToyCheckout(tmp_path_factory.mktemp("checkout"))


def slices(side: dict) -> list[dict]:
    return [event for event in side["events"] if event["event"] == "interleaved"]


def test_both_processes_alternate_in_varying_order_and_never_run_at_once(toy):
    result = toy.measure("ok", partner="ok", interleaved_seconds=0.5)
    partner = result["partner"]
    assert (result["status"], partner["status"]) == ("ok", "ok")
    assert partner["framework"] == "toy_partner"
    assert len(slices(result)) == len(slices(partner)) >= 4
    spans = sorted(
        (one["at_s"] - sum(one["ns"]) / 1e9, one["at_s"], who)
        for who, side in enumerate((result, partner))
        for one in slices(side)
    )
    for (_, end, _), (start, _, _) in itertools.pairwise(spans):
        assert start >= end - 1e-3  # two clocks
    # One slice of each in every pair, whichever comes first.
    order = [who for _, _, who in spans]
    assert {*zip(order[::2], order[1::2], strict=True)} == {(0, 1), (1, 0)}
    assert len(pairs_ms(result)) == len(slices(result)) - 1
    steady = next(event for event in result["events"] if event["event"] == "steady")
    assert partner["events"][0]["at_s"] >= steady["at_s"], "the partner starts after the steady state"


@pytest.mark.parametrize("fate", ["raise at build", "sigkill"])
def test_partner_that_fails_leaves_the_result_as_it_is(toy, fate):
    result = toy.measure("ok", partner=fate)
    assert result["status"] == "ok"
    assert result["partner"]["status"] in ("crash", "error", "unsupported")
    assert result["partner"]["status_detail"]
    assert pairs_ms(result) == []


@pytest.mark.parametrize(
    ("toy_does", "settings", "status", "why"),
    [
        ("ok", {"interleaved_seconds": 1e-9}, "ok", "too long to be interleaved within 1e-09 s"),
        ("raise", {}, "error", ""),
    ],
)
def test_process_of_long_blocks_or_that_fails_has_no_partner(toy, toy_does, settings, status, why):
    result = toy.measure(toy_does, partner="ok", **settings)
    assert (result["status"], result["partner"]["status"]) == (status, "not run")
    assert why in result["partner"]["status_detail"]
    assert pairs_ms(result) == []


def test_process_or_partner_that_cannot_be_started_ends_with_the_reason(toy):
    pins = toy.folder / "envs" / "gone.txt"
    pins.write_text("numpy==0  # gone\n")
    where = "from stackwars.setup.environments import *; print(folder(Path('envs/gone.txt')))"
    home = Path(toy.python("-c", where).stdout.strip())
    home.mkdir()
    (home / "ready").touch()  # its Python is gone: Popen fails
    result = toy.measure("ok", partner="ok", partner_pins="envs/gone.txt")
    assert result["status"] == "ok"
    assert result["partner"]["status"] == "error"
    assert f"expected {home}/bin/python to start" in result["partner"]["status_detail"]
    assert pairs_ms(result) == []
    result = toy.measure("ok", partner="ok", pins="envs/gone.txt")
    assert (result["status"], result["partner"]["status"]) == ("error", "not run")
    assert "to start, got FileNotFoundError" in result["status_detail"]


def sliced(first: list[list[int]], second: list[list[int]], status: str = "ok", **told: object) -> dict:
    """A process with slices of these ns, eight calls in a block; the first side's say what is `told`."""

    def events(slices_ns: list[list[int]], **told: object) -> list[dict]:
        return [{"event": "interleaved", "ns": ns, "calls": 8, **told} for ns in slices_ns]

    one = process()
    one["events"] += events(first, **told)
    return {**one, "partner": {"status": status, "framework": "jax", "events": events(second)}}


def test_pairs_are_medians_of_a_call_without_the_cold_block_and_the_first_pair():
    cold = [80_000_000, 8_000_000, 8_000_000]
    found = pairs_ms(sliced([[9_000_000_000], cold, [16_000_000]], [[1], [8_000_000] * 3, [8_000_000]]))
    assert found == [pytest.approx((1.0, 1.0)), pytest.approx((2.0, 1.0))]
    assert pairs_ms(sliced([[1], [2]], [[1], [2]], status="error")) == []


def test_blocks_before_a_slice_has_settled_do_not_count():
    slow = [80_000_000, 80_000_000, 8_000_000]
    found = pairs_ms(
        sliced([slow] * 4, [[8_000_000]] * 4, settled=True, settling=2),
    )
    assert found == [pytest.approx((1.0, 1.0))] * 3
    assert pairs_ms(sliced([[8]] * 9, [[8]] * 9, settled=False, settling=0)) == []


def told_slices(monkeypatch, tmp_path, waits: list[int], slices: int) -> list[dict]:
    """The slices of a process whose blocks take 3 ms on a core, and wait for one so many ms."""
    usages = iter(waits)

    class Meter:
        def read(self) -> Usage:
            return Usage(3, next(usages), 0)

    monkeypatch.setattr(interleaved, "Meter", Meter)
    monkeypatch.setattr(interleaved, "SETTLE_S", 0.01)
    monkeypatch.setattr("sys.stdin", io.StringIO("go\n" * slices))
    monkeypatch.setenv(interleaved.REPLY, str(os.open(os.devnull, os.O_WRONLY)))

    def block(number: int) -> int:
        time.sleep(0.003)
        return number

    events = Events(tmp_path / EVENTS)
    interleaved.run_interleaved_blocks(block, 1, 1e-9, 0.25, events)
    return read_events(tmp_path)


def test_a_slice_begins_with_the_first_block_that_waits_no_more_than_usual(monkeypatch, tmp_path):
    # Read once before each slice: what others did meanwhile is not the block's.
    found = told_slices(monkeypatch, tmp_path, [99, 3, 3, 1, 99, 1], 2)
    assert [(one["ns"], one["settled"], one["settling"]) for one in found] == [
        ([0, 1, 2], True, 2),
        ([3], True, 0),
    ]


def test_a_slice_that_does_not_settle_ends(monkeypatch, tmp_path):
    (found,) = told_slices(monkeypatch, tmp_path, [3] * 9, 1)
    assert not found["settled"]
    assert 1 <= len(found["ns"]) <= 4


def spin(seconds: float) -> threading.Thread:
    """A thread that uses a core for so many seconds of its own time."""

    def work() -> None:
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_thread_that_still_works_is_waited_for(monkeypatch):
    monkeypatch.setattr(interleaved, "REST_S", 60.0)
    # Long enough that a pause of the machine's is not taken for the end of the work.
    monkeypatch.setattr(interleaved, "STEP_S", 0.05)
    thread = spin(0.3)
    interleaved.rest()
    assert not thread.is_alive()


def test_process_at_rest_waits_one_step():
    start = time.perf_counter()
    interleaved.rest()
    assert time.perf_counter() - start < interleaved.REST_S


def test_process_that_never_rests_is_not_waited_for_long():
    thread, start = spin(0.5), time.perf_counter()
    interleaved.rest()
    assert time.perf_counter() - start < 10 * interleaved.REST_S
    thread.join()
