"""Why one program needs more memory than another: planted differences of known bytes, and the answer as text."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from explain.pairs import drawn_program, xla
from explain.test_cli import run, write
from explain_fixture import FOUND, MACHINE, OLD, REGION, TABLE, cell, right
from ir.spellings import program
from snapshots import assert_snapshot
from stackwars.core.client import Worker
from stackwars.core.program import Program
from stackwars.explain import __main__ as command
from stackwars.explain import console, memory, page
from stackwars.explain.answer import Answer, Buffer, Cause, Interval, Memory, Share
from stackwars.explain.bench import ClosedShare
from stackwars.explain.page import headline
from stackwars.explain.task import MEMORY, Assign, Settings, Task
from stackwars.study.workflow import explain

N = 1024
TYPES = {
    "S": f"tensor<{N}x{N}xf32>",
    "T": f"tensor<{N}x8xf32>",
    "X": f"tensor<{N}x16xf32>",
    "C": "tensor<8x16xf32>",
}
OUTER = program(
    "%t = dot_general %u, %v, contracting_dims = [1] x [1] : (T, T) -> S; "
    "%y = dot_general %t, %x, contracting_dims = [1] x [0] : (S, X) -> X; %r = tanh %y : X",
    "%u: T, %v: T, %x: X", "X", **TYPES,
)  # fmt: skip
INNER = program(
    "%s = dot_general %v, %x, contracting_dims = [0] x [0] : (T, X) -> C; "
    "%y = dot_general %u, %s, contracting_dims = [1] x [0] : (T, C) -> X; %r = tanh %y : X",
    "%u: T, %v: T, %x: X", "X", **TYPES,
)  # fmt: skip
PLAIN = program(
    "%y = dot_general %x, %w, contracting_dims = [1] x [0] : (S, W) -> W; %r = tanh %y : W",
    "%x: S, %w: W", "W", W=f"tensor<{N}x4xf32>", **TYPES,
)  # fmt: skip
UPCAST = program(
    "%a = convert %x : (S) -> D; %b = convert %w : (W) -> E; "
    "%c = dot_general %a, %b, contracting_dims = [1] x [0] : (D, E) -> E; %y = convert %c : (E) -> W; %r = tanh %y : W",
    "%x: S, %w: W", "W", W=f"tensor<{N}x4xf32>", D=f"tensor<{N}x{N}xf64>", E=f"tensor<{N}x4xf64>", **TYPES,
)  # fmt: skip
ONCE = program("%r = tanh %x : S", "%x: S", "S", **TYPES)
DONATED = ONCE.replace("f32>)", "f32> {tf.aliasing_output = 0 : i32})", 1)
PAIRS = {
    "large temporary": (OUTER, INNER, 4 * N * N, "dot_general", "0.7.1"),
    "upcast copy": (UPCAST, PLAIN, 8 * N * N, "convert", "0.10.2"),
}


@pytest.fixture(scope="module")
def workers():
    with Worker(xla("0.7.1")) as old, Worker(xla("0.10.2")) as new:
        yield {"0.7.1": old, "0.10.2": new}


@pytest.fixture
def worker(workers):
    return workers["0.10.2"]


def search(worker: Worker, a: str, b: str, smaller: int = 0, assign: Assign | None = None) -> Cause:
    spec, settings = worker.spec, Settings(seconds=0.05, budget_s=300, ask=MEMORY)
    programs = [drawn_program(worker, text, name) for name, text in (("a", a), ("b", b))]
    texts = [text.replace(str(N), str(smaller)) for text in (a, b)] if smaller else []
    small = tuple(drawn_program(worker, text, name) for name, text in zip("ab", texts, strict=False)) or None
    sides = (programs[0], spec, spec, programs[1])
    return memory.find(Task("pair", *sides, settings=settings, smaller=small, assign=assign), print)


@pytest.mark.env
@pytest.mark.parametrize("name", PAIRS)
def test_a_planted_difference_has_its_bytes_its_lines_and_the_region_that_closes_it(workers, name):
    a, b, planted, operation, release = PAIRS[name]
    worker = workers[release]
    found = search(worker, a, b)
    assert found.verdict == "cause", found.detail
    assert abs(found.a_bytes - found.b_bytes - planted) < 0.05 * planted
    assert 0.9 <= found.closed.share <= 1.1 and found.ask == MEMORY
    assert operation in " ".join(text for region in found.regions for text in region.a)
    uses = memory.use(worker.buffers, Program("a", a, file="a.mlir"))
    assert uses.total == found.a_bytes
    largest = next(buffer for buffer in uses.peak if buffer.kind == "temporary")
    assert largest.bytes == planted and re.fullmatch(r"a\.mlir:\d+", largest.line)


@pytest.mark.env
def test_smaller_sizes_and_another_device_give_the_same_cause_and_no_region_is_compiled_alone(worker):
    compiled = []

    def assign(text):
        compiled.append(text)
        return worker.buffers(text)

    known = search(worker, OUTER, INNER)
    smaller, other = search(worker, OUTER, INNER, smaller=64), search(worker, OUTER, INNER, assign=assign)
    for found in (smaller, other):
        assert found.verdict == "cause", found.detail
        assert (found.closed, found.a_bytes) == (known.closed, known.a_bytes)
    assert smaller.regions == known.regions
    # For another device all are whole programs, which end with the tanh.
    assert all(f"{N}x8xf32" in text and "tanh" in text for text in compiled)


@pytest.mark.env
def test_a_donated_argument_is_the_cause_without_a_search(worker):
    found = search(worker, ONCE, DONATED)
    assert found.verdict == "cause" and found.closed.share == 1 and not found.regions
    assert found.a_bytes == 2 * found.b_bytes and "donated" in found.detail and found.tried is None


@pytest.mark.env
def test_pairs_without_a_cause(worker, monkeypatch):
    found = search(worker, ONCE, ONCE)
    assert (found.verdict, found.a_bytes) == ("no gap", found.b_bytes)
    found = search(worker, OUTER.replace("tanh", "negate"), INNER)
    assert found.verdict == "different values" and not found.regions
    # Regions that close more than the difference decide nothing.
    monkeypatch.setattr(memory.MemorySearch, "closed", lambda *_: ClosedShare(1.3, 0.0))
    found = search(worker, OUTER, INNER)
    assert (found.verdict, found.closed, found.regions) == ("not decided", None, [])


@pytest.mark.env
def test_the_command_answers_in_bytes_and_times_nothing(tmp_path):
    done = run(tmp_path, "--ask", "memory", *write(tmp_path, outer=OUTER, inner=INNER))
    assert done.returncode == 2, done.stdout + done.stderr
    answer = done.stdout.partition("\nsearching")[2].partition("\n")[2]
    assert answer and max(map(len, answer.splitlines())) <= 80
    shown = " ".join(done.stdout.split())
    assert "times the memory of inner in jaxlib-0.10.2" in shown and "the times, then" not in shown
    folder = tmp_path / "explain" / "outer-inner-memory"
    document = json.loads((folder / "explain.json").read_text())
    assert document["schema"] == 3 and document["table"]["ask"] == "memory"
    assert [one["timing"] for one in document["table"]["cells"]] == [None, None]
    assert document["command"] == "stackwars explain outer.mlir inner.mlir --ask memory"


@pytest.mark.parametrize("main", [command.main, lambda words: explain.parser().parse_args(words[1:])])
def test_another_objective_is_refused_before_anything_runs(main, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["explain", "--ask", "joules", "x.mlir"])
    said = capsys.readouterr().err
    assert ended.value.code == command.CANNOT and "got joules; fix: " in said
    assert not list(tmp_path.iterdir())


def test_arguments_that_only_one_program_has_are_the_cause():
    def side(kinds: list[str], bytes_: int):
        graph = SimpleNamespace(arguments=range(len(kinds)), types=dict(enumerate(kinds)))
        return graph, Memory(bytes_, 64, 0, 128, 0)

    (more, a), (fewer, b) = side(["tensor<9xf32>", "tensor<2xi1>"], 4096), side(["tensor<9xf32>"], 96)
    programs = [Program("a"), Program("b")]
    share, detail = memory.other_arguments(a, b, a.total - b.total, (more, fewer), programs)
    assert share == 1 and "only a has tensor<2xi1>" in detail
    assert memory.other_arguments(a, b, 10 * (a.total - b.total), (more, fewer), programs) is None


def test_a_fusion_is_named_by_its_operations_and_a_value_by_the_line_that_makes_it():
    """The tables before the first computation are those of jaxlib 0.10.2."""
    optimised = """HloModule m, is_scheduled=true

FileNames
1 "/home/x/model.py"

FunctionNames
1 "main"

FileLocations
1 {file_name_id=1 function_name_id=1 line=7 end_line=7 column=2 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

%fused (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  %t = f32[4]{0} tanh(%p), metadata={op_name="x" stack_frame_id=1}
  ROOT %e = f32[4]{0} exponential(%t), metadata={source_file="/home/x/model.py" source_line=9}
}

ENTRY %main (a: f32[4]) -> f32[4] {
  %a = f32[4]{0} parameter(0)
  %late = f32[4]{0} tanh(%a), metadata={op_name="x" stack_frame_id=1}
  ROOT %f = f32[4]{0} fusion(%late), kind=kLoop, calls=%fused
}
"""
    assignment = """allocation 0: size 16, output shape is |f32[4]|, maybe-live-out:
 value: <1 f @0> (size=16,offset=0): f32[4]{0}
allocation 1: size 16, preallocated-temp:
 value: <2 late @0> (size=16,offset=0): f32[4]{0}
"""
    found = memory.of_texts(assignment, optimised, Program("p"))
    assert found.peak == [
        Buffer("output", 16, "tanh, exponential", "f32[4]", "x/model.py:9"),
        Buffer("temporary", 16, "tanh", "f32[4]", "x/model.py:7"),
    ]


USE = Memory(
    3 << 20, 1 << 20, 4096, 96 << 20, 1 << 20,
    [Buffer("temporary", 64 << 20, "dot", "f32[4096,4096]", "mha.py:41"),
     Buffer("temporary", 32 << 20, "exponential, divide and 2 more", "f32[2048,4096]", "mha.py:43"),
     Buffer("argument", 3 << 20, "", "f32[1024,768]"), Buffer("output", 1 << 20, "", "f32[64]")],
)  # fmt: skip
LESS = replace(USE, temporary=32 << 20, peak=USE.peak[1:])
CELLS = [
    replace(cell(name, OLD, replace(right(1.0), timing=None), used.total / LESS.total), memory=used)
    for name, used in (("torch_xla", USE), ("jax", LESS))
]
TABLE_OF_BYTES = replace(TABLE, programs=["torch_xla", "jax"], compilers=[OLD], cells=CELLS, ask=MEMORY)
CAUSE = replace(
    FOUND, a_ms=None, b_ms=None, left_ms=None, ask=MEMORY, a_bytes=USE.total, b_bytes=LESS.total,
    ratio=Interval(USE.total / LESS.total), closed=Share(1.0), regions=[replace(REGION, a_ms=None, b_ms=None)],
)  # fmt: skip


def test_the_answer_at_80_columns_and_its_headline():
    lines = [*console.lines(TABLE_OF_BYTES), console.paragraph(CAUSE)]
    answer = Answer("mha", "T", "c", "mha", {}, 1, "", {}, "", 0, TABLE_OF_BYTES, [CAUSE])
    text = console.wrapped([*lines, headline(answer)])
    assert max(map(len, text.splitlines())) <= console.WIDTH
    assert_snapshot("memory.txt", text)
    assert page.exit_status(TABLE_OF_BYTES, [CAUSE]) == page.SLOWER
    same = replace(TABLE_OF_BYTES, cells=[replace(one, memory=USE) for one in CELLS])
    assert page.exit_status(same, []) == page.OK and "no gap of memory" in headline(
        replace(answer, table=same, causes=[])
    )
    shown = page.html(replace(answer, table=replace(TABLE_OF_BYTES, machine=MACHINE)))
    assert "needs more memory" in shown
