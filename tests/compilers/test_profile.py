"""Profiles: of events made up, and of programs whose class is known in both generations of XLA."""

import json
import subprocess
from types import SimpleNamespace

import pytest

from stackwars.compilers import profile
from stackwars.compilers.profile import Span
from stackwars.setup.environments import REPOSITORY, clean_environ, ensure

CALL = Span("call", 100, 1100)


def seconds(*spans: tuple[str, float, float]) -> dict[str, float]:
    """Of operations in CALL, in ns."""
    found = profile.seconds(CALL, [Span(*span) for span in spans])
    return {name: round(1e9 * value) for name, value in found.items()}


def test_operations_that_overlap_share_the_time():
    found = seconds(("a", 200, 600), ("b", 400, 600), ("c", 500, 700))
    assert found == {"a": 200 + 50 + 33, "b": 50 + 33, "c": 33 + 100}


def test_the_sum_is_the_time_in_which_anything_ran():
    assert sum(seconds(("a", 100, 300), ("b", 500, 900), ("a", 800, 1000)).values()) == 200 + 500


def test_other_calls_do_not_count_and_an_operation_ends_with_its_call():
    assert seconds(("a", 50, 90), ("b", 1000, 1300), ("c", 1100, 1200)) == {"b": 100}


def event(name: str, start: float, duration: float, **told) -> tuple[SimpleNamespace, dict]:
    return SimpleNamespace(name=name, start_ns=start, duration_ns=duration), told


def test_an_operation_lasts_until_its_end_event():
    events = [
        event("end: dot", 900, 1, _ct=0, _c=7),
        event("stackwars call", 100, 1000),
        # Handed to the thread pool at once, and done much later.
        event("dot", 200, 5, hlo_op="dot", _pt=0, _p=7),
        event("add", 920, 30, hlo_op="add", _pt=0, _p=8),
        event("ThreadpoolListener::Record", 201, 0, _pt=15, _p=7),
    ]
    calls, operations = profile._spans(events)
    assert calls == [Span("stackwars call", 100, 1100)]
    assert operations == [Span("dot", 200, 900), Span("add", 920, 950)]


@pytest.fixture(scope="module", params=["xla-0.7.1", "xla-0.10.2"])
def profiled(request):
    """{program: its profile, with the median wall time of the same calls by Python's clock}."""
    python = ensure(REPOSITORY / "envs" / f"{request.param}.txt")
    done = subprocess.run(
        [str(python), "-c", _PROFILE], env=clean_environ({}), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


_PROFILE = '''
import json, statistics, time
from stackwars.compilers import profile, program
device, found = program.open_device("cpu"), {}
import jax, numpy
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
for name, text in {"matmul": MATMUL, "chain": CHAIN}.items():
    compiled = program.compile_program(f"module @{name} {{{text}}}", device)
    values = [numpy.random.default_rng(0).random(shape, dtype) for shape, dtype in compiled.types]
    compiled.buffers[0] = [jax.device_put(value, device) for value in values]
    walls = []
    def call(number):
        start = time.perf_counter()
        compiled.fence(compiled.call(0))
        walls.append(time.perf_counter() - start)
    found[name] = profile.profile(call, compiled.optimised_hlo())
    found[name]["clock_s"] = statistics.median_low(walls[1:])
print(json.dumps(found))
'''


@pytest.mark.env
@pytest.mark.parametrize(("name", "kind"), [("matmul", "products"), ("chain", "elementwise")])
def test_a_program_of_one_kind_is_of_its_class_and_adds_up_to_the_call(profiled, name, kind):
    found = profiled[name]
    assert profile.LEAST <= found["calls"] <= profile.MOST
    # The same calls by another clock.
    assert found["wall_s"] == pytest.approx(found["clock_s"], rel=0.1)
    whole = sum(operation["seconds"] for operation in found["operations"].values())
    assert whole <= found["wall_s"] * 1.0001
    own = [o["seconds"] for o in found["operations"].values() if o["class"] == kind]
    assert sum(own) > 0.9 * whole
    # Generous: where others use the machine, threads wait before and after an operation.
    assert sum(own) > 0.7 * found["wall_s"]
