"""The headline is the most important true sentence, and every command has the same exit statuses."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explain_fixture import (
    ANSWER,
    BETWEEN,
    FLAW,
    FOUND,
    IREE,
    NEW,
    OLD,
    PARTED,
    TABLE,
    cell,
    ended,
    right,
)
from snapshots import assert_snapshot
from stackwars.core import limits
from stackwars.core.check import Checked
from stackwars.core.outcome import Status
from stackwars.explain import __main__ as stand_alone
from stackwars.explain import files, page
from stackwars.explain.answer import NATIVE, RIGHT, SPREAD, Answer, Cell, Interval
from stackwars.explain.files import BadInput
from stackwars.explain.page import headline
from stackwars.measure.workloads import program_inputs
from stackwars.study.workflow import explain


def answer(*cells: Cell, **changes) -> Answer:
    """Return an answer with these cells, and without causes and faults unless they are among the changes."""
    names = {name: changes.pop(name) for name in ("differ", "judge", "judge_reason") if name in changes}
    table = replace(TABLE, cells=list(cells), **names)
    return replace(ANSWER, **{"table": table, "causes": [], "faults": [], **changes})


FAST, SLOW = cell("jax", OLD, right(5.82)), cell("torch_xla", OLD, right(8.81))
SLOWER_RELEASE = cell("jax", NEW, right(8.81))


def right_in(compiler: str, **changes) -> Answer:
    return answer(cell("a", compiler, right(1.0)), cell("b", compiler, right(1.0)), **changes)


ONCE = replace(FLAW, verdict=RIGHT, reproduced=False)
WRONG = next(one for one in TABLE.cells if one.status is Status.WRONG)
TIMED = replace(right(2.0), outcome=ended(Status.NOT_JUDGED).outcome)
ODD = ended(
    Status.WRONG, "torch_xla is the odd one, jax, numpy() agree", is_emitted=False, verdict={"wrong": 1}
)
EAGER = cell("torch_eager", NATIVE, right(0.0318))
NATIVELY = replace(BETWEEN, b="torch_eager", other=NATIVE, b_ms=None, ratio=None)
UNJUDGED = [cell("jax", compiler, TIMED) for compiler in (OLD, NEW)]
AMPLIFIES = {"judge": "", "judge_reason": "this program amplifies rounding by 900"}
HEADLINES = {
    "different things come first": replace(ANSWER, table=replace(TABLE, differ="a and b differ")),
    "where they part comes before that": replace(ANSWER, parting=PARTED),
    "programs that part nowhere": replace(
        ANSWER, parting=replace(PARTED, verdict="not located"), table=replace(TABLE, differ="a and b differ")
    ),
    "a reduced fault, others counted": ANSWER,
    "a crash of a file": answer(cell("suspect", OLD, ended(Status.CRASH, "SIGSEGV in call")), workload=""),
    "a fault seen once": answer(WRONG, FAST, faults=[ONCE]),
    "a gap is more urgent than that": answer(WRONG, FAST, SLOW, faults=[ONCE], causes=[FOUND]),
    "a gap between programs": answer(FAST, SLOW, causes=[FOUND]),
    "a gap between compilers": answer(FAST, SLOWER_RELEASE, causes=[BETWEEN]),
    "the larger gap": answer(FAST, SLOW, causes=[FOUND, replace(BETWEEN, ratio=Interval(3.0, 2.9, 3.1))]),
    "a cause that is being searched": answer(FAST, SLOW),
    "a gap without a cause": answer(
        FAST, SLOW, causes=[replace(FOUND, verdict=SPREAD, detail="over 9 kinds", regions=[])]
    ),
    "no gap in fresh processes": answer(
        FAST, SLOW, causes=[replace(FOUND, verdict="no gap", ratio=Interval(1.0, 0.9, 1.1))]
    ),
    "a gap between compilers below the bound": answer(FAST, cell("jax", NEW, right(7.2))),
    "right in one compiler": answer(FAST, cell("jax", IREE, ended(Status.UNSUPPORTED, "no fft"))),
    "right with a file's inputs": right_in(NEW, inputs="/tmp/x.npz", workload=""),
    "right with a program's inputs": right_in(NEW, workload="y/x.py"),
    "not judged": answer(*UNJUDGED, **AMPLIFIES),
    "not judged with a gap": answer(
        *UNJUDGED, cell("torch_xla", OLD, replace(TIMED, timing=right(9.0).timing)), **AMPLIFIES
    ),
    "programs of other computations": answer(
        *(cell(name, NEW, ended(Status.INVALID, "x")) for name in ("jax", "torch_xla")),
        judge="",
        judge_reason="the programs of jax and torch_xla are not of one computation",
    ),
    "an error of the harness": answer(cell("jax", OLD, Checked(ended(Status.ERROR, "no disk").outcome))),
    # tensorflow/tensorflow 116992, of which torch_xla's program has no maximum.
    "the odd one": answer(FAST, *(cell("torch_xla", name, ODD) for name in (OLD, NEW))),
    "a crash before the odd one": answer(cell("jax", OLD, ended(Status.CRASH)), cell("torch_xla", OLD, ODD)),
    "slow everywhere": answer(FAST, SLOW, EAGER, causes=[FOUND]),
    "slow everywhere, with its regions": answer(FAST, SLOW, EAGER, causes=[FOUND, NATIVELY]),
    "a framework that is hardly faster": answer(
        FAST, SLOW, cell("torch_eager", NATIVE, right(5.0)), causes=[FOUND]
    ),
    "a framework of a moment": answer(
        cell("torch_eager", NATIVE, right(0.01)), cell("jax", OLD, right(0.04)), causes=[FOUND]
    ),
}


def test_the_headline_is_the_most_important_true_sentence():
    assert_snapshot("headlines.txt", "\n".join(f"{name}: {headline(one)}" for name, one in HEADLINES.items()))


def test_any_gap_of_frontends_and_compilers_counts_for_the_exit_status_and_one_side_s_of_a_pair():
    table = replace(TABLE, programs=["jax", "torch_xla"], cells=[FAST, SLOW])
    assert page.exit_status(table, [], is_pair=False) == page.SLOWER
    assert page.exit_status(table, []) == page.OK
    assert page.exit_status(replace(table, programs=["torch_xla", "jax"]), []) == page.SLOWER
    eager = replace(table, cells=[FAST, cell("torch_eager", NATIVE, right(1.0))])
    assert (page.exit_status(eager, []), page.exit_status(eager, [], is_pair=False)) == (page.OK, page.SLOWER)
    compilers = replace(table, cells=[FAST, SLOWER_RELEASE])
    assert (page.exit_status(compilers, []), page.exit_status(compilers, [], is_pair=False)) == (
        page.OK,
        page.SLOWER,
    )


@pytest.mark.parametrize("command", [stand_alone.parser, explain.parser])
def test_both_commands_say_their_exit_statuses_and_refuse_options_with_3(command, capsys):
    for arguments, status in ((["--help"], 0), (["--nothing"], stand_alone.CANNOT)):
        with pytest.raises(SystemExit) as ended_with:
            command().parse_args([*(["explain"] if command is stand_alone.parser else []), *arguments])
        assert ended_with.value.code == status
    assert stand_alone.STATUSES in capsys.readouterr().out


@pytest.mark.parametrize(
    ("status", "error"), [(0, None), (1, None), (2, None), (3, BadInput("x")), (3, KeyError("x"))]
)
def test_make_explain_ends_with_the_status_of_its_answer(monkeypatch, status, error):
    def answered(_):
        if error:
            raise error
        return replace(ANSWER, exit_status=status)

    monkeypatch.setattr(explain, "explain", answered)
    monkeypatch.setattr(explain.start, "take_lock", lambda: "lock")
    monkeypatch.setattr("sys.argv", ["explain", "mha"])
    with pytest.raises(SystemExit) as ended_with:
        explain.main()
    assert ended_with.value.code == status


def test_a_compiler_s_message_is_no_markdown():
    hostile = "expected `x` ```` <b>*y*</b> [z](u)"
    crash = replace(cell("jax", OLD, ended(Status.CRASH, hostile)))
    lines = page.markdown(answer(crash, headline=f"JAX: {hostile}", title=hostile)).splitlines()
    assert lines[0] == r"# mha: JAX: expected \`x\` \`\`\`\` \<b\>\*y\*\</b\> \[z\](u)"
    fences = [number for number, line in enumerate(lines) if line == "`" * 5]
    shown = next(number for number, line in enumerate(lines) if line.startswith("crash: jax"))
    assert fences[0] < shown < fences[1] and len(fences) == 2


def test_the_command_that_repeats_it_is_quoted():
    options = explain.parser().parse_args(["--", "it's {a}.mlir"])
    assert explain.request(options, print).command == """make explain A='it'"'"'s {a}.mlir'"""


def damaged(path: Path) -> dict[str, bytes]:
    """Return the bytes of files that are no .npz, by what is wrong."""
    np.savez(path, arg0=np.zeros(300))
    whole = path.read_bytes()
    np.savez(path, arg0=np.array([{}], object))
    return {
        "empty": b"",
        "cut": whole[:200],
        "binary": bytes(range(256)),
        "text": b"x",
        "pickled": path.read_bytes(),
    }


@pytest.mark.parametrize("what", ["empty", "cut", "binary", "text", "pickled", "huge"])
def test_damaged_and_huge_inputs_are_one_line_in_both_commands(tmp_path, monkeypatch, what):
    path = tmp_path / "x.npz"
    if what == "huge":
        np.savez(path, arg0=np.zeros(300))
        monkeypatch.setattr(limits, "available_memory_bytes", lambda: 4000)
    else:
        path.write_bytes(damaged(path)[what])
    for check in (lambda: files.check_inputs(path, ["tensor<300xf64>"]), lambda: program_inputs.from_npz(path)):
        with pytest.raises(
            ValueError, match=r"x.npz: expected an .npz file of arrays, got .+; fix: "
        ) as refused:
            check()
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("array", "kind", "expected"),
    [
        (np.array([3_000_000_000]), "i32", "expected integers from -2147483648 to 2147483647"),
        (np.array([-1]), "i8", ""),
        (np.array([1j]), "f32", "expected tensor<1xf32>, got complex128"),
        (np.array([1.0]), "bf16", ""),
        (np.array([9], np.int8), "i4", "expected integers from -8 to 7"),
    ],
)
def test_values_that_a_type_does_not_hold_are_refused(tmp_path, array, kind, expected):
    pytest.importorskip("ml_dtypes")
    np.savez(tmp_path / "x.npz", arg0=array)
    if not expected:
        return files.check_inputs(tmp_path / "x.npz", [f"tensor<1x{kind}>"])
    with pytest.raises(BadInput, match=expected):
        files.check_inputs(tmp_path / "x.npz", [f"tensor<1x{kind}>"])
