"""Profiles: of events made up, and of programs whose class is known in both generations of XLA."""

import json
from types import SimpleNamespace

import pytest

from running import python
from stackwars.measure.stablehlo import profile
from stackwars.measure.stablehlo.profile import Call, Span

CALL = Span("jax", 100, 1100)


def seconds(*spans: tuple[str, float, float]) -> dict[str, float]:
    """Of operations in CALL, in ns."""
    found = profile.seconds(Call(CALL, [Span(*span) for span in spans]))
    return {name: round(1e9 * value) for name, value in found.items()}


@pytest.mark.parametrize(
    ("spans", "found"),
    [
        # Operations that overlap share the time, and an operation ends with its call.
        (
            [("a", 200, 600), ("b", 400, 600), ("c", 500, 700)],
            {"a": 200 + 50 + 33, "b": 50 + 33, "c": 33 + 100},
        ),
        ([("a", 100, 300), ("b", 500, 900), ("a", 800, 1000)], {"a": 200 + 50 + 100, "b": 300 + 50}),
        ([("a", 1000, 1300)], {"a": 100}),
    ],
)
def test_operations_have_the_time_in_which_they_ran(spans, found):
    assert seconds(*spans) == found


def test_operations_are_of_the_call_in_which_they_began():
    calls = [Span("jax", 100, 200), Span("torch_xla", 210, 300)]
    operations = [Span("a", 220, 230), Span("b", 150, 250), Span("c", 50, 120), Span("d", 205, 208)]
    found = profile._joined(calls[::-1], operations)
    assert [(call.span.name, [s.name for s in call.operations]) for call in found] == [
        ("jax", ["b"]),
        ("torch_xla", ["a"]),
    ]


ONE = """\
HloModule one

ENTRY %main (x: f32[8,8]) -> f32[8,8] {
  %x = f32[8,8]{1,0} parameter(0)
  ROOT %dot = f32[8,8]{1,0} dot(%x, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, \
metadata={source_file="-" source_line=7 source_column=9}
}
"""


def test_the_typical_call_is_the_one_of_median_time():
    walls = (1000, 3000, 2000)
    calls = [Call(Span("jax", 0, ns), [Span("dot", 10, 10 + ns / 2)]) for ns in walls]
    described = {"text": "dot f32[8,8]", "line": 7}
    assert profile.profile(calls, ONE) == {
        "calls": 3,
        "wall_s": pytest.approx(2e-6),
        "operations": {"dot": {"class": "products", "seconds": pytest.approx(1e-6)} | described},
        "spans": [["dot", pytest.approx(1e-8), pytest.approx(1.01e-6)]],
    }


def test_spans_are_in_the_order_in_which_they_began_and_end_with_the_call(monkeypatch):
    both = [Span("dot", 600, 1300), Span("dot", 200, 500)]
    spans = profile.profile([Call(CALL, both)], ONE)["spans"]
    assert [(round(1e9 * start), round(1e9 * end)) for _, start, end in spans] == [(100, 400), (500, 1000)]
    monkeypatch.setattr(profile, "MOST_SPANS", 1)
    assert profile.profile([Call(CALL, both)], ONE)["spans"] == []


def test_only_the_longest_operations_are_described(monkeypatch):
    monkeypatch.setattr(profile, "DESCRIBED", 0)
    [dot] = profile.profile([Call(CALL, [Span("dot", 200, 500)])], ONE)["operations"].values()
    assert dot.keys() == {"class", "seconds"}


def test_an_operation_of_another_program_is_refused():
    with pytest.raises(ValueError, match=r"got \['add'\]"):
        profile.profile([Call(CALL, [Span("add", 200, 300)])], ONE)


def event(name: str, start: float, duration: float, **told) -> tuple[SimpleNamespace, dict]:
    return SimpleNamespace(name=name, start_ns=start, duration_ns=duration), told


def test_an_operation_lasts_until_its_end_event():
    events = [
        event("end: dot", 900, 1, _ct=0, _c=7),
        event("stackwars call of jax", 100, 1000),
        # Handed to the thread pool at once, and done much later.
        event("dot", 200, 5, hlo_op="dot", _pt=0, _p=7),
        event("add", 920, 30, hlo_op="add", _pt=0, _p=8),
        event("ThreadpoolListener::Record", 201, 0, _pt=15, _p=7),
    ]
    calls, operations = profile._spans(events)
    assert calls == [CALL]
    assert operations == [Span("dot", 200, 900), Span("add", 920, 950)]


@pytest.fixture(scope="module", params=["xla-0.7.1", "xla-0.10.2"])
def profiled(request):
    """{program: its profile, with the median wall time of the same calls by Python's clock}."""
    return json.loads(python("-c", _PROFILE, pins=f"envs/{request.param}.txt").stdout)


_PROFILE = '''
import json, statistics, time
import numpy
from stackwars.measure.stablehlo import profile
from stackwars.core.compilers import xla
compiler, found = xla.Compiler("cpu", {}), {}
MATMUL = """
func.func public @main(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] :
    (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}"""
CHAIN = """
func.func public @main(%a: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
  %0 = stablehlo.tanh %a : tensor<2048x2048xf32>
  %1 = stablehlo.logistic %a : tensor<2048x2048xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<2048x2048xf32>
  %3 = stablehlo.exponential %a : tensor<2048x2048xf32>
  %4 = stablehlo.add %2, %3 : tensor<2048x2048xf32>
  return %4 : tensor<2048x2048xf32>
}"""
programs, walls = {}, {"matmul": [], "chain": []}
def caller(name):
    def call(number):
        start = time.perf_counter()
        programs[name].fence(programs[name].call(0))
        walls[name].append(time.perf_counter() - start)
    return call
for name, text in {"matmul": MATMUL, "chain": CHAIN}.items():
    programs[name] = compiler.compile(f"module @{name} {{{text}}}")
    values = [numpy.random.default_rng(0).random(*kind) for kind in programs[name].types]
    programs[name].buffers[0] = [compiler.put(value) for value in values]
recorded = profile.record({name: caller(name) for name in programs}, 2)
for name, compiled in programs.items():
    found[name] = profile.profile(recorded[name], compiled.optimised_hlo())
    found[name]["clock_s"] = statistics.median_low(walls[name][1:])
print(json.dumps(found))
'''


@pytest.mark.env
@pytest.mark.alone
@pytest.mark.parametrize(("name", "kind"), [("matmul", "products"), ("chain", "elementwise")])
def test_a_program_of_one_kind_is_of_its_class_and_adds_up_to_the_call(profiled, name, kind):
    found = profiled[name]
    assert 2 * profile.LEAST <= found["calls"] <= 2 * profile.MOST
    # The same calls by another clock.
    assert found["wall_s"] == pytest.approx(found["clock_s"], rel=0.1)
    whole = sum(operation["seconds"] for operation in found["operations"].values())
    assert whole <= found["wall_s"] * 1.0001
    own = [o["seconds"] for o in found["operations"].values() if o["class"] == kind]
    assert sum(own) > 0.9 * whole
    longest = next(iter(found["operations"].values()))
    # The line of an operation in its text, which begins with an empty line.
    assert longest["line"] in {"matmul": {3}, "chain": {3, 4, 5, 6, 7}}[name]
    # Generous: where others use the machine, threads wait before and after an operation.
    assert sum(own) > 0.7 * found["wall_s"]
