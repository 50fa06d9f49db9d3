"""Search and its arithmetic: clocks, gaps, shares, what is confirmed, what is left out, and what is kept."""

import json
import math
import time
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest

from explain.pairs import DOT, TRANSPOSE, one_class, program
from stackwars.core.client import CompilerSpec, Times
from stackwars.core.outcome import Failed, Outcome, Status
from stackwars.core.ratio import Estimate
from stackwars.explain.answer import NO_GAP, NOT_SEPARABLE
from stackwars.explain.bench import (
    CPU,
    WALL,
    Bench,
    CallTime,
    ClosedShare,
    blocks,
    choose_clock,
    gap_verdict,
    interval,
    robust_time,
    share,
)
from stackwars.explain.hybrids import A, B, CutProgram, Hybrids
from stackwars.explain.matching import AxisMap
from stackwars.explain.search import (
    Choice,
    CostSearch,
    Findings,
    KindTime,
    Retimed,
    Search,
    merged,
    retime,
)
from stackwars.explain.task import Kept


def times(*ms, cpu=1.0):
    wall = np.array(ms) * 1e6
    return Times(wall, wall * cpu)


def test_the_clock_takes_the_low_end_and_the_processors_time_the_median():
    busy = times(*[10.0] * 8, 50.0, 90.0, 10.0)
    assert robust_time(busy, WALL) == 10e6
    assert robust_time(Times(busy.wall_ns, np.array([0.1, 2, 2, 2, 9.0])), CPU) == 2


def test_a_share_has_the_error_of_its_blocks():
    a, b = times(*[10.0] * 20), times(*[6.0] * 20)
    exact = share(a, b, times(*[7.0] * 20), WALL)
    assert exact.value == pytest.approx(0.75) and exact.error == pytest.approx(0, abs=1e-9)
    noisy = share(a, b, times(*np.linspace(5, 9, 20)), WALL)
    assert 0.02 < noisy.error < 0.3
    # The low end of the rounds does not see other processes.
    disturbed = share(a, b, times(*[7.0] * 10, *[30.0] * 10), WALL)
    assert disturbed.value == pytest.approx(0.75) and disturbed.error < 0.01
    assert len(blocks(a, WALL)) == 5
    without = share(a, a, a, WALL)
    assert math.isnan(without.value) and not Search.is_closed(None, without)


def test_the_interval_of_a_share_widens_with_the_processes_scatter():
    exact = interval([4, 4, 4, 4, 4], [5, 5, 5, 5, 5])
    assert (exact.share, exact.low, exact.high) == pytest.approx((0.8, 0.8, 0.8))
    found = interval([2, 6, 4, 3, 5], [5, 5, 5, 5, 5])
    assert found.share == pytest.approx(0.8) and found.low < 0.5 and found.high > 1.1


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.97, 1.04, NO_GAP), (1.02, 1.08, NO_GAP), (0.9, 1.15, NO_GAP), (0.7, 1.6, NOT_SEPARABLE), (1.05, 1.3, None),
     (1.05, 1.13, NO_GAP), (0.88, 0.95, NO_GAP), (0.6, 0.8, None)],
)  # fmt: skip
def test_a_gap_has_an_interval_beyond_the_bound_and_without_one(low, high, verdict):
    assert gap_verdict(Estimate((low * high) ** 0.5, low, high), 0.1) == verdict


def test_the_processors_time_is_the_clock_if_the_machine_is_busy():
    steady, fast = np.full(20, 10e6), np.full(20, 8e6)
    busy = np.tile(np.repeat([10e6, 30e6], 4), 3)[:20]
    assert choose_clock({"A": Times(steady, steady), "B": Times(fast, fast)}) == (WALL, False)
    assert choose_clock({"A": Times(busy, steady), "B": Times(busy, fast)}) == (CPU, False)
    assert choose_clock({"A": Times(busy, busy), "B": Times(busy, busy)}) == (WALL, True)


def retimed(wall, cpu=None):
    """Return times of processes from {program: ns in each process} by the clock, and by the processors' time."""
    rows = zip(zip(*wall.values(), strict=True), zip(*(cpu or wall).values(), strict=True), strict=True)
    return Retimed(
        [dict(zip(wall, (CallTime(w, c, c) for w, c in zip(*row, strict=True)), strict=True)) for row in rows],
        WALL,
    )


def test_fresh_processes_are_compared_each_with_itself_by_the_clearer_clock():
    found = retimed({"A": [10.0, 20.0], "B": [5.0, 10.0], "cause": [6.0, 12.0]})
    assert found.closed("cause").share == pytest.approx(0.8)
    assert found.ratio().value == pytest.approx(2)
    scattered = {"A": [10.0, 20, 15, 30], "B": [5.0, 5, 5, 5], "cause": [6.0, 19, 8, 25]}
    steady = {"A": [10.0, 11, 12, 13], "B": [5.0, 5.5, 6, 6.5], "cause": [6.0, 6.6, 7.2, 7.9]}
    assert retimed(scattered, steady).clearest("cause").clock == CPU
    assert retimed(steady, scattered).clearest("cause").clock == WALL


class Model:
    """A bench whose programs take the time of the classes that they compute by A: a fake of the compiler.

    failure: what a program with class 2 from B raises.
    """

    clock, identity, is_running = WALL, "A, B and their arguments", True

    def __init__(self, cost, failure=None):
        self.cost, self.failure, self.worker = cost, failure, self
        self.tried, self.regions, self.restored = [], 0, 0

    def hybrid_share(self, hybrid, seconds):
        flipped = json.loads(hybrid.text)
        if self.failure and 2 in flipped:
            self.is_running = self.failure.outcome.status is Status.UNSUPPORTED
            raise self.failure
        self.tried.append(flipped)
        return ClosedShare(sum(self.cost.get(c, 0) for c in flipped) / sum(self.cost.values()), 0.01)

    def alone(self, parts, seconds):
        self.regions += 1
        return [CallTime(10e6 - 9e6 * side, 1, 1) if part.ops else None for side, part in enumerate(parts)]

    def restore(self):
        self.restored, self.is_running = self.restored + 1, True


def searched(bench, hybrids, kept=None):
    """Return a search whose hybrids have their classes as text."""
    hybrids.hybrid = lambda flipped: CutProgram(json.dumps(sorted(set(flipped))), ())
    return Search(bench, hybrids, 0.1, time.monotonic() + 60, lambda text: None, kept or Kept())


def chain(count):
    """Two programs: a weight in another layout and a product, then operations of different kinds."""
    names = ["sine", "cosine", "tanh", "exponential", "abs", "sqrt", "floor", "ceil"][:count]
    tail = [(f"y{k}", op, [f"y{k - 1}" if k else "y"], "2x6xf32") for k, op in enumerate(names)]
    other = [(f"y{k}", "negate", [f"y{k - 1}" if k else "y"], "2x6xf32") for k in range(count)]
    turn = ("t", "transpose", ["w"], "4x6xf32", TRANSPOSE)
    product = ("y", "dot_general", ["x", "t"], "2x6xf32", DOT)
    straight = ("y", "dot_general", ["x", "w"], "2x6xf32", DOT)
    last = [f"y{count - 1}"]
    a, va = program({"x": "2x4xf32", "w": "6x4xf32"}, [turn, product, *tail], last)
    b, vb = program({"x": "2x4xf32", "w": "4x6xf32"}, [straight, *other], last)
    maps = {(A, va["w"]): AxisMap((4, 6), (1, 0), (6, 4)), (B, vb["w"]): AxisMap((6, 4), (1, 0), (4, 6))}
    weight = one_class([va["w"], va["t"]], [vb["w"]], maps)
    rest = [one_class([va[name]], [vb[name]]) for name in ("y", *(f"y{k}" for k in range(count)))]
    return Hybrids((a, b), [weight, *rest])


def run(hybrids, cost, alone, search=None):
    """Search with times by class: cost in hybrids, alone in regions."""
    search = search or searched(Model(cost), hybrids)
    kinds = {kind.classes[0]: kind for kind in hybrids.kinds}
    rows = [KindTime(kinds[c], 10, 10 - ms, ms) for c, ms in alone.items()]
    result = Findings(alone=sorted(rows, key=lambda row: -row.difference))
    result.choices = search.confirm(result)
    search.shrink(result)
    return result


@pytest.mark.parametrize(
    ("count", "cost", "alone", "classes"),
    [
        (3, {0: 9.0, 2: 1.0}, {1: 9.0, 2: 1.0, 3: -2.0}, [0]),  # an argument's layout, without any operation
        (3, {1: 9.0, 2: 1.0}, {1: 9.0, 2: 1.0}, [1]),  # operations, if the layout closes nothing
        (4, {2: 5.0, 3: 4.0, 4: 1.0}, {2: 5.0, 3: 4.0, 4: 1.0, 1: 0.1}, [2, 3]),  # the smallest number of kinds
        (
            5,
            {5: 10.0},
            {1: 5.0, 2: 4.0, 3: 3.0, 4: 2.0, 5: 1.0},
            [5],
        ),  # a wrong ranking is corrected and shrunk
        (3, {3: 10.0}, {1: 1.0, 3: -4.0}, [3]),  # a kind that is slower alone is tried last
        (3, {99: 10.0}, {1: 5.0, 2: 4.0}, []),  # no set closes enough
    ],
)
def test_the_fewest_kinds_that_close_the_gap_are_the_cause(count, cost, alone, classes):
    found = run(chain(count), cost, alone)
    assert found.classes == classes
    assert all(choice.kind.is_layout == (classes == [0]) for choice in found.choices)
    assert len(classes) != 2 or list(found.curve) == [1, 2]


def test_a_region_that_makes_up_for_another_belongs_to_the_cause_of_a_cost():
    cost = {2: 20.0, 3: -10.0, 4: 0.1}

    class Bytes(CostSearch):
        def cost(self, program):
            return 10.1 - sum(cost.get(c, 0.0) for c in json.loads(program.text))

    hybrids = chain(4)
    plain = searched(None, hybrids)
    search = Bytes(None, hybrids, 0.0, plain.end, plain.say, ends=(10.1, 0.0))
    found = run(hybrids, cost, {2: 20.0, 4: 5.0, 3: 1.0}, search)
    assert found.classes == [2, 3] and search.closed(found.choices).value == pytest.approx(10 / 10.1)


def test_layouts_alone_are_tried_before_operations():
    hybrids = chain(3)
    assert [choice.kind.is_layout for choice in searched(Model({0: 9.0, 2: 1.0}), hybrids).layouts()] == [True]
    assert searched(Model({0: 7.0, 2: 3.0}), hybrids).layouts() == []


def test_a_family_of_many_kinds_is_left_out_as_one(monkeypatch):
    hybrids = chain(8)
    monkeypatch.setattr(hybrids, "family", lambda kind: "all" if not kind.is_layout else "layout")
    costs = dict.fromkeys(range(2, 10), 1.0)
    # Seven of the eight would do; which, the next process would say otherwise.
    found = run(hybrids, costs, costs)
    assert [choice.classes for choice in found.choices] == [(c,) for c in costs]


def test_parts_of_a_kind_are_one_in_the_answer():
    kind = chain(2).kinds[0]
    assert merged([Choice(kind, (0, 1)), Choice(kind, (4,))]) == [Choice(kind, (0, 1, 4))]


def test_an_uncertain_share_is_timed_again():
    class Stub:
        calls = 0

        def load(self, *_): ...

        bind = drop = load

        def time(self, names, seconds, least):
            self.calls += 1
            rounds = 2 if self.calls == 1 else 20
            tried = [7.0, 40.0] if self.calls == 1 else [7.0] * rounds
            return dict(zip(names, (times(*[10] * rounds), times(*[6] * rounds), times(*tried)), strict=True))

    stub = Stub()
    arrays = SimpleNamespace(place=lambda *_: [])
    found = Bench(stub, arrays).hybrid_share(CutProgram("", ()), 0.1)
    assert stub.calls == 2
    assert found.value == pytest.approx(0.75, abs=0.01)


@pytest.mark.parametrize(("status", "restored"), [(Status.CRASH, 1), (Status.OOM, 1), (Status.UNSUPPORTED, 0)])
def test_a_hybrid_that_fails_costs_no_other(status, restored):
    hybrids = chain(3)
    bench = Model({3: 10.0}, Failed(Outcome(status, "of class 2")))
    search = searched(bench, hybrids)
    assert search.closed([Choice(kind, kind.classes) for kind in hybrids.kinds]) is None
    assert bench.restored == restored
    assert search.closed([Choice(kind, kind.classes) for kind in hybrids.kinds if 3 in kind.classes]).value == 1


def test_a_search_that_was_killed_measures_nothing_again(tmp_path):
    class Killed(Exception):
        pass

    class Mortal(Model):
        def hybrid_share(self, hybrid, seconds):
            if len(self.tried) == 4:
                raise Killed
            return super().hybrid_share(hybrid, seconds)

    cost = {2: 5.0, 3: 4.0, 4: 1.0}
    whole = Model(cost)
    expected = searched(whole, chain(4)).run()
    first, second = Mortal(cost), Model(cost)
    with pytest.raises(Killed):
        searched(first, chain(4), Kept(tmp_path)).run()
    with (tmp_path / "kept.jsonl").open("a") as file:
        file.write('["half a key')
    found = searched(second, chain(4), Kept(tmp_path)).run()
    assert [choice.classes for choice in found.choices] == [choice.classes for choice in expected.choices]
    assert first.tried + second.tried == whole.tried
    assert (first.regions, second.regions) == (whole.regions, 0)
    # Of another compiler, argument or clock nothing is known.
    other = Model(cost)
    other.identity = "another"
    searched(other, chain(4), Kept(tmp_path)).run()
    assert other.tried == whole.tried and other.regions == whole.regions
    # What was measured behind the half line is there too.
    third = Model(cost)
    searched(third, chain(4), Kept(tmp_path)).run()
    assert third.tried == []


def test_fresh_processes_that_are_kept_are_not_started_again(tmp_path):
    def times(kept, count):
        found = Retimed(list(islice(retime(bench, programs, 0.1, {}, kept), count)))
        return found.times("A")

    bench = Model({})
    bench.arrays, bench.least, bench.spec = None, 1, CompilerSpec("none", python=str(tmp_path / "missing"))
    programs = {name: CutProgram(name, ()) for name in "AB"}
    kept = Kept(tmp_path)
    kept.once = lambda key, measure: kept.get(key) or kept.put(key, [[2, 4, 4], [1, 2, 2]]) or kept.get(key)
    assert times(kept, 5) == times(Kept(tmp_path), 5) == [2] * 5
    # The sixth process is another.
    with pytest.raises(Failed):
        times(Kept(tmp_path), 6)
