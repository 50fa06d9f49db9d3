"""Search and its arithmetic: shares, intervals, what is confirmed and what is left out."""

import math
import time

import numpy as np
import pytest

from explain.pairs import DOT, TRANSPOSE, one_class, program
from stackwars.explain.bench import CPU, WALL, Bench, Share, blocks, interval, share, typical
from stackwars.explain.hybrids import A, B, Hybrids
from stackwars.explain.matching import AxisMap
from stackwars.explain.search import Atom, Outcome, Retimed, Row, Search, is_enough, merged
from stackwars.explain.workers import Crashed, Times


def times(*ms, cpu=1.0):
    wall = np.array(ms) * 1e6
    return Times(wall, wall * cpu)


def test_the_clock_takes_the_low_end_and_the_processors_time_the_median():
    busy = times(*[10.0] * 8, 50.0, 90.0, 10.0)
    assert typical(busy, WALL) == 10e6
    assert typical(Times(busy.wall_ns, np.array([0.1, 2, 2, 2, 9.0])), CPU) == 2


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


def test_a_program_without_a_gap_has_no_share():
    same = times(*[10.0] * 20)
    found = share(same, same, same, WALL)
    assert math.isnan(found.value) and not is_enough(found)


def test_the_interval_of_a_share_widens_with_the_processes_scatter():
    value, low, high = interval([4, 4, 4, 4, 4], [5, 5, 5, 5, 5])
    assert (value, low, high) == pytest.approx((0.8, 0.8, 0.8))
    value, low, high = interval([2, 6, 4, 3, 5], [5, 5, 5, 5, 5])
    assert value == pytest.approx(0.8) and low < 0.5 and high > 1.1


def test_fresh_processes_are_compared_each_with_itself():
    found = Retimed({WALL: {"A": [10.0, 20.0], "B": [5.0, 10.0], "cause": [6.0, 12.0]}})
    assert found.closed("cause")[0] == pytest.approx(0.8)
    assert found.ratio().value == pytest.approx(2)
    both = found.plus(Retimed({WALL: {"A": [10.0], "B": [5.0], "cause": [5.0], "other": [1.0]}}))
    assert both.times["cause"] == [6.0, 12.0, 5.0]


class Model:
    """A bench whose programs take the time of the classes that they compute by A: a fake of the compiler."""

    clock = WALL

    def __init__(self, cost, hybrids):
        self.cost, self.hybrids = cost, hybrids
        self.tried = []
        self.worker = self

    def hybrid_share(self, hybrids, flipped, seconds):
        self.tried.append(sorted(flipped))
        total = sum(self.cost.values())
        return Share(sum(self.cost.get(c, 0) for c in set(flipped)) / total, 0.01)


def chain(count):
    """Two programs: a weight in another layout and a product, then operations of different kinds."""
    names = ["sine", "cosine", "tanh", "exponential", "abs", "sqrt", "floor", "ceil"][:count]
    tail = [(f"y{k}", op, [f"y{k - 1}" if k else "y"], "2x6xf32") for k, op in enumerate(names)]
    other = [(f"y{k}", "negate", [f"y{k - 1}" if k else "y"], "2x6xf32") for k in range(count)]
    turn = ("t", "transpose", ["w"], "4x6xf32", TRANSPOSE)
    a, va = program(
        {"x": "2x4xf32", "w": "6x4xf32"},
        [turn, ("y", "dot_general", ["x", "t"], "2x6xf32", DOT), *tail],
        [f"y{count - 1}"],
    )
    b, vb = program(
        {"x": "2x4xf32", "w": "4x6xf32"},
        [("y", "dot_general", ["x", "w"], "2x6xf32", DOT), *other],
        [f"y{count - 1}"],
    )
    maps = {(A, va["w"]): AxisMap((4, 6), (1, 0), (6, 4)), (B, vb["w"]): AxisMap((6, 4), (1, 0), (4, 6))}
    weight = one_class([va["w"], va["t"]], [vb["w"]], maps)
    rest = [one_class([va[name]], [vb[name]]) for name in ("y", *(f"y{k}" for k in range(count)))]
    return Hybrids((a, b), [weight, *rest])


def run(hybrids, cost, alone):
    """Search with times by class: cost in hybrids, alone in regions."""
    search = Search(Model(cost, hybrids), hybrids, 0.1, time.monotonic() + 60, lambda text: None)
    kinds = {kind.classes[0]: kind for kind in hybrids.kinds}
    rows = sorted((Row(kinds[c], 10, 10 - ms, ms) for c, ms in alone.items()), key=lambda row: -row.difference)
    result = Outcome(rows=rows)
    result.atoms = search.confirm(result)
    search.shrink(result)
    return result


def test_an_argument_in_another_layout_is_the_cause_without_any_operation():
    found = run(chain(3), {0: 9.0, 2: 1.0}, {1: 9.0, 2: 1.0, 3: -2.0})
    assert found.classes == [0]
    assert found.atoms[0].kind.is_layout


def test_layouts_alone_are_tried_before_operations():
    hybrids = chain(3)
    search = Search(Model({0: 9.0, 2: 1.0}, hybrids), hybrids, 0.1, time.monotonic() + 60, lambda text: None)
    assert [atom.kind.is_layout for atom in search.layouts()] == [True]
    search = Search(Model({0: 7.0, 2: 3.0}, hybrids), hybrids, 0.1, time.monotonic() + 60, lambda text: None)
    assert search.layouts() == []


def test_a_family_of_many_kinds_is_left_out_as_one(monkeypatch):
    hybrids = chain(8)
    monkeypatch.setattr(hybrids, "family", lambda kind: "all" if not kind.is_layout else "layout")
    costs = dict.fromkeys(range(2, 10), 1.0)
    # Seven of the eight would do; which, the next process would say otherwise.
    found = run(hybrids, costs, costs)
    assert [atom.classes for atom in found.atoms] == [(c,) for c in costs]


def test_operations_are_the_cause_if_the_layout_closes_nothing():
    found = run(chain(3), {1: 9.0, 2: 1.0}, {1: 9.0, 2: 1.0})
    assert found.classes == [1]


def test_the_smallest_number_of_kinds_is_confirmed():
    found = run(chain(4), {2: 5.0, 3: 4.0, 4: 1.0}, {2: 5.0, 3: 4.0, 4: 1.0, 1: 0.1})
    assert found.classes == [2, 3]
    assert list(found.curve) == [1, 2]


def test_a_wrong_ranking_is_corrected_by_more_kinds_and_shrunk_again():
    found = run(chain(5), {5: 10.0}, {1: 5.0, 2: 4.0, 3: 3.0, 4: 2.0, 5: 1.0})
    assert found.classes == [5]


def test_a_kind_that_is_slower_alone_is_tried_last():
    assert run(chain(3), {3: 10.0}, {1: 1.0, 3: -4.0}).classes == [3]


def test_nothing_is_found_if_no_set_closes_enough():
    assert run(chain(3), {99: 10.0}, {1: 5.0, 2: 4.0}).atoms == []


def test_parts_of_a_kind_are_one_in_the_answer():
    kind = chain(2).kinds[0]
    assert merged([Atom(kind, (0, 1)), Atom(kind, (4,))]) == [Atom(kind, (0, 1, 4))]


def test_an_uncertain_share_is_timed_again():
    class Stub:
        def __init__(self):
            self.calls = 0

        def time(self, names, seconds, least):
            self.calls += 1
            rounds = 2 if self.calls == 1 else 20
            tried = [7.0, 40.0] if self.calls == 1 else [7.0] * rounds
            return dict(zip(names, (times(*[10] * rounds), times(*[6] * rounds), times(*tried)), strict=True))

    stub = Stub()
    found = Bench(stub, None).measure_share("hybrid", 0.1)
    assert stub.calls == 2
    assert found.value == pytest.approx(0.75, abs=0.01)


def test_a_hybrid_that_crashes_the_compiler_costs_no_other():
    hybrids = chain(3)

    class Fragile(Model):
        restored = 0

        def hybrid_share(self, hybrids, flipped, seconds):
            if 2 in flipped:
                raise Crashed("SIGSEGV", "compile", "")
            return super().hybrid_share(hybrids, flipped, seconds)

        def restore(self):
            self.restored += 1

    bench = Fragile({3: 10.0}, hybrids)
    search = Search(bench, hybrids, 0.1, time.monotonic() + 60, lambda text: None)
    assert search.closed([Atom(kind, kind.classes) for kind in hybrids.kinds]) is None
    assert bench.restored == 1
    assert search.closed([Atom(kind, kind.classes) for kind in hybrids.kinds if 3 in kind.classes]).value == 1


def test_the_processors_time_decides_if_the_clock_says_nothing():
    scattered = {"A": [10.0, 20, 15, 30], "B": [5.0, 5, 5, 5], "cause": [6.0, 19, 8, 25]}
    steady = {"A": [10.0, 11, 12, 13], "B": [5.0, 5.5, 6, 6.5], "cause": [6.0, 6.6, 7.2, 7.9]}
    assert Retimed({WALL: scattered, CPU: steady}).clearest("cause").clock == CPU
    assert Retimed({WALL: steady, CPU: scattered}).clearest("cause").clock == WALL
