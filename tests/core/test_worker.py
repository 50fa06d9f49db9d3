"""A worker with a compiler, and its client: answers, and the outcome of a worker that ends."""

import sys
import threading
import time

import numpy as np
import pytest

from ir.spellings import of_x
from stackwars.core import check, evaluate
from stackwars.core.client import Process, Worker
from stackwars.core.judge import Expected
from stackwars.core.outcome import Failed, Status
from stackwars.core.program import Argument, Program, fixed
from stackwars.core.types import DTYPES
from stackwars.core.worker import REPLY

pytestmark = pytest.mark.env
ADD = """module {
  func.func public @main(%arg0: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xi32>) {
    %0 = stablehlo.add %arg0, %arg0 : tensor<8x4xf32>
    %1 = stablehlo.convert %0 : (tensor<8x4xf32>) -> tensor<8x4xi32>
    return %0, %1 : tensor<8x4xf32>, tensor<8x4xi32>
  }
}
"""
REFUSED = of_x('%r = "stablehlo.nothing"(%x) : (T) -> T', "tensor<8x4xf32>")
MESH = """module @m attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = stablehlo.add %a, %a : tensor<4x4xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
}
"""
LOOP = """func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<4x8xf32>
  cond {
    %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %y = func.call @step(%x, %b) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %y : tensor<i32>, tensor<4x8xf32>
  }
  return %0#1 : tensor<4x8xf32>
}
func.func private @step(%x: tensor<4x8xf32>, %b: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.dot_general %x, %b, contracting_dims = [1] x [0]
      : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
"""
LOOP_ARGUMENTS = (fixed(np.ones((4, 8), np.float32), "ones"), fixed(np.eye(8, dtype=np.float32), "eye"))


SLEEPER = (
    "import json, time; from types import SimpleNamespace; from stackwars.core import worker;"
    "worker.serve(SimpleNamespace(wait=lambda seconds: (time.time(), time.sleep(seconds), time.time())))"
)


def values(number: int) -> np.ndarray:
    return np.random.default_rng(number).integers(0, 9, (8, 4)).astype(np.float32)


def program(text: str = ADD, label: str = "add") -> Program:
    return Program(label, text, (Argument("x", values),))


def expected() -> Expected:
    keys = {f"output{n}": 2 * values(n) for n in range(2)} | {
        f"output{n}/1": (2 * values(n)).astype(int) for n in range(2)
    }
    return Expected("hand", limits=dict.fromkeys(keys, 1e-6), values=keys)


def test_a_right_program_is_checked_and_timed(worker: Worker) -> None:
    found = check.check(worker, program(), expected())
    assert (found.outcome.status, found.verdict["wrong"], found.ran) == (Status.OK, 0, True)
    assert found.compile_s > 0 and found.first_ns > 0
    timing = check.time_together(worker, [program(), program(label="again")], 0.05)
    assert timing["add"].low_ms <= timing["add"].ms <= timing["add"].high_ms
    assert timing["again"].rounds > 1


def test_what_does_not_run_says_why(worker: Worker) -> None:
    found = check.check(worker, program(REFUSED), expected())
    assert (found.outcome.status, found.operation) == (Status.UNSUPPORTED, "stablehlo.nothing")
    absent = check.check(worker, Program("none", missing="torch says no"), expected())
    assert not absent.is_emitted and absent.outcome.detail == "torch says no"
    # A missing argument is a fault of ours.
    found = check.check(worker, Program("add", ADD), expected())
    assert found.outcome.status is Status.ERROR and "expected 1 arguments of add, got 0" in found.outcome.detail


def test_a_process_that_hangs_or_crashes_is_replaced(worker: Worker) -> None:
    with Worker(worker.spec, timeout_s=20) as other:
        other.versions()
        other.timeout_s = 1
        endless = Program("endless", LOOP.replace("add %i, %one", "add %i, %zero"), LOOP_ARGUMENTS)
        found = check.check(other, endless, expected())
        assert found.outcome.status is Status.TIMEOUT
        other.timeout_s = 60
        assert check.check(other, program(), expected()).outcome.status is Status.OK
        assert other.has("x of set 0 as [[8, 4], 'float32']")
        other._child.process.send_signal(11)
        with pytest.raises(Failed, match="SIGSEGV") as failed:
            other.call("add")
        assert failed.value.outcome.status is Status.CRASH
        assert not other.is_loaded("add") and not other.has("x of set 0 as [[8, 4], 'float32']")
        assert check.check(other, program(), expected()).outcome.status is Status.OK


def test_too_little_memory_is_oom_and_not_unsupported(worker: Worker) -> None:
    kind = "tensor<40000x40000xf32>"
    text = f"func.func @main() -> {kind} {{\n  %0 = stablehlo.iota dim = 0 : {kind}\n  return %0 : {kind}\n}}"
    with Worker(worker.spec, cap_gib=2) as small:
        found = check.check(small, Program("big", text), Expected(reason="x"))
    assert found.outcome.status is Status.OOM


@pytest.mark.parametrize(
    "kind", sorted(name for name in DTYPES if name not in ("i2", "ui2", "f8E4M3", "f8E3M4"))
)
def test_arrays_of_every_element_type_travel(worker: Worker, kind: str) -> None:
    array = np.array([0, 1, 1]).astype(DTYPES[kind])
    text = of_x("%r = transpose %x, dims = [0] : (T) -> T", f"tensor<3x{kind}>")
    assert worker.graph(text).types[0] == f"tensor<3x{kind}>"
    worker.load("casts", text)
    worker.place("casts", [fixed(array, kind)])
    [found] = worker.call("casts")
    assert found.dtype == array.dtype and found.tobytes() == array.tobytes()


def test_a_graph_counts_what_loops_sum_and_has_the_operations_of_a_module_that_are_no_functions(
    worker: Worker,
) -> None:
    graph = worker.graph(LOOP)
    loop = next(op for op in graph.ops if op.name == "stablehlo.while")
    assert (loop.terms, graph.accumulation) == (8, 8)
    assert loop.work >= 100 * 4 * 8 * 8
    assert {"stablehlo.while", "stablehlo.dot_general"} <= graph.names
    graph = worker.graph(MESH)
    assert "mesh" in graph.functions
    again = worker.graph(graph.module())
    assert "sdy.mesh" in graph.module() and [op.name for op in again.ops] == [op.name for op in graph.ops]


def test_a_loop_that_the_interpreter_takes_long_for_is_evaluated_by_single_operations(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """jax-ml/jax 40101: a value written into a long array in each of many steps."""
    monkeypatch.setattr(evaluate, "INTERPRETED_S", 1)
    patience, text = worker.timeout_s, LOOP.replace("dense<3>", "dense<1000000>")
    chosen = {"sets": 1, "text": text}
    found, how = evaluate.results(worker, worker.graph(text), LOOP_ARGUMENTS, double=True, **chosen)
    assert how == "operation by operation" and found[0][0].sum() == 32
    assert worker.timeout_s == patience
    # It is not asked again.
    monkeypatch.setattr(worker, "interpret", None)
    assert evaluate.results(worker, worker.graph(text), LOOP_ARGUMENTS, double=False, **chosen)[1] == how


@pytest.mark.parametrize(
    ("python", "code", "detail", "status"),
    [
        ("/nowhere/python", "", "/nowhere/python", Status.ERROR),
        ("python3", "print(1); raise SystemExit(3)", "exit status 3 in facts; last line: 1", Status.CRASH),
        # An orphan that holds the pipe does not hide the end of its process.
        ("python3", "import os, time; os.fork() and os._exit(3); os.setsid(); time.sleep(20)", "exit status 3",
         Status.CRASH),
    ],
)  # fmt: skip
def test_a_process_that_does_not_serve_says_why(python: str, code: str, detail: str, status: Status) -> None:
    begun = time.monotonic()
    with Process(python, ["-c", code], timeout_s=60) as process, pytest.raises(Failed, match=detail) as failed:
        process.ask("facts")
    assert failed.value.outcome.status is status and time.monotonic() - begun < 15


def test_processes_work_at_once_until_their_answers_are_read() -> None:
    with Process(sys.executable, ["-c", SLEEPER]) as one, Process(sys.executable, ["-c", SLEEPER]) as other:
        for process in (one, other):
            process.send("wait", seconds=1.0)
        (began, _, ended), (other_began, _, other_ended) = one.answer("wait"), other.answer("wait")
        assert began < other_ended and other_began < ended
        assert one.end().exit_code == 0, "no more commands end it"


def test_a_process_that_outlives_its_input_is_ended_at_its_limit() -> None:
    code = (
        f"import os, time; os.write(int(os.environ['{REPLY}']), b'{{\"result\": 1}}\\n');"
        "os.fork() or (os.setsid(), time.sleep(30)); time.sleep(30)"
    )
    with Process(sys.executable, ["-c", code], timeout_s=2) as process:
        assert process.ask("facts") == 1
        begun = time.monotonic()
        assert process.end().timed_out
    assert time.monotonic() - begun < 20


def test_limits_hold_while_another_process_is_waited_for() -> None:
    # The kernel does not limit shared memory.
    hog = "import mmap, time; m = mmap.mmap(-1, 2**29); [m.write(bytes(2**24)) for _ in range(32)]; time.sleep(60)"
    threads = threading.active_count()
    with (
        Process(sys.executable, ["-c", hog], cap_gib=0.25, timeout_s=60) as one,
        Process(sys.executable, ["-c", SLEEPER]) as other,
    ):
        one.send("facts")
        other.ask("wait", seconds=2.0)
        assert one._child.has_ended()
        with pytest.raises(Failed, match="killed at the cap in facts") as failed:
            one.answer("facts")
        assert failed.value.outcome.status is Status.OOM
        assert threading.active_count() == threads, "a fork of a process with threads may hang"
