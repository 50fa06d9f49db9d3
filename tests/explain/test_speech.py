"""The headline is the most important true sentence, and every command has the same exit statuses."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explain_fixture import ANSWER, BETWEEN, FLAW, FOUND, IREE, NEW, OLD, TABLE, cell, ended, right
from stackwars.core import limits
from stackwars.core.check import Checked
from stackwars.core.outcome import Status
from stackwars.explain import __main__ as stand_alone
from stackwars.explain import console, files, page
from stackwars.explain.answer import RIGHT, SPREAD, Answer, Cell, Interval
from stackwars.explain.files import BadInput
from stackwars.explain.headline import headline
from stackwars.explain.table import NATIVE
from stackwars.workflow import explain
from stackwars.workloads import program_inputs


def answer(*cells: Cell, **changes) -> Answer:
    """Return an answer with these cells, and without causes and faults unless they are among the changes."""
    names = {name: changes.pop(name) for name in ("differ", "judge", "judge_reason") if name in changes}
    table = replace(TABLE, cells=list(cells), **names)
    return replace(ANSWER, **{"table": table, "causes": [], "faults": [], **changes})


FAST, SLOW = cell("jax", OLD, right(5.82)), cell("torch_xla", OLD, right(8.81))
SLOWER_RELEASE = cell("jax", NEW, right(8.81))


def test_programs_that_compute_different_things_come_first():
    assert headline(replace(ANSWER, table=replace(TABLE, differ="a and b differ"))) == "a and b differ."


def test_a_reduced_fault_is_named_with_its_elements_and_others_are_counted():
    assert headline(ANSWER) == (
        "torch_xla's program is wrong in jaxlib-0.10.2: 3 of 98,304 elements (the last 1 of axis 0) (13 operations "
        "reduce to 2: dot_general, reduce); 1 more outcome below."
    )


def test_a_file_has_its_name_and_a_crash_its_signal():
    crash = cell("suspect", OLD, ended(Status.CRASH, "SIGSEGV in call"))
    assert headline(answer(crash, workload="")) == "suspect crashes in jaxlib-0.7.1: SIGSEGV in call."


def test_a_fault_that_did_not_show_again_is_seen_once_and_no_more_urgent_than_a_gap():
    once = replace(FLAW, verdict=RIGHT, reproduced=False)
    wrong = next(one for one in TABLE.cells if one.status is Status.WRONG)
    text = headline(answer(wrong, FAST, faults=[once]))
    assert text.startswith("Seen once: torch_xla's program was wrong in jaxlib-0.10.2: 3 of 98,304 elements")
    assert text.endswith("it was right when it was tried again.")
    assert "1.51 times" in headline(answer(wrong, FAST, SLOW, faults=[once], causes=[FOUND]))


def test_a_gap_has_its_cause_in_words():
    assert headline(answer(FAST, SLOW, causes=[FOUND])) == (
        "torch_xla's program takes 1.51 times as long as JAX's in jaxlib-0.7.1: layout of an argument, "
        "tensor<2304x768xf32> (mha.py:41) closes 97 % [91, 104] of the gap."
    )
    assert headline(answer(FAST, SLOWER_RELEASE, causes=[BETWEEN])) == (
        "JAX's program takes 1.51 times as long in jaxlib-0.7.1 as in jaxlib-0.10.2: 2 x dot_general (mha.py:41) "
        "make up 97 % [91, 104] of the gap."
    )


def test_the_largest_explained_gap_is_the_headline():
    larger = replace(BETWEEN, ratio=Interval(3.0, 2.9, 3.1))
    assert "takes 3.00 times as long in" in headline(answer(FAST, SLOW, causes=[FOUND, larger]))


@pytest.mark.parametrize(
    ("causes", "expected"),
    [
        ([], "torch_xla's program takes 1.51 times as long as JAX's in jaxlib-0.7.1; its cause is being searched."),
        (
            [replace(FOUND, verdict=SPREAD, detail="over 9 kinds", regions=[])],
            "torch_xla's program takes 1.51 times as long as JAX's in jaxlib-0.7.1; no cause found: over 9 kinds.",
        ),
        ([replace(FOUND, verdict="no gap", ratio=Interval(1.0, 0.9, 1.1))], "Right in jaxlib-0.7.1 with "),
    ],
)  # fmt: skip
def test_a_gap_without_a_cause_is_a_gap_unless_fresh_processes_show_none(causes, expected):
    assert headline(answer(FAST, SLOW, causes=causes)).startswith(expected)


def test_a_gap_between_compilers_below_the_bound_of_searches_is_seen():
    slower = cell("jax", NEW, right(7.2))
    assert headline(answer(FAST, slower)).startswith(
        "JAX's program takes 1.24 times as long in jaxlib-0.10.2 as in jaxlib-0.7.1; its cause was not searched"
    )


def test_a_framework_without_a_compiler_that_is_faster_than_all_is_named():
    eager = cell("torch_eager", NATIVE, right(0.0318))
    sentence = "Slow in every compiler tried: the fastest takes 183 times as long as eager PyTorch (5.82 and 0.0318 ms)"
    found = answer(FAST, SLOW, eager, causes=[FOUND])
    assert f"{sentence}." in console.below(found.table)
    assert headline(found).startswith(f"{sentence}; torch_xla's program takes 1.51 times")
    near = answer(FAST, SLOW, cell("torch_eager", NATIVE, right(5.0)), causes=[FOUND])
    assert headline(near).startswith("torch_xla's program") and len(console.slow_everywhere(near.table)) == 1
    for ms in (5.5, 0.01):
        cells = [cell("torch_eager", NATIVE, right(ms)), cell("jax", OLD, right(min(5.82, 4 * ms)))]
        assert console.slow_everywhere(replace(TABLE, cells=cells)) == []


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


@pytest.mark.parametrize(
    ("name", "expected"),
    [("", "a folder"), ("..", "a folder"), ("a/b", "a folder"), ("a\nb", "printable"), ("x" * 99, "80")],
)  # fmt: skip
def test_names_that_are_no_folder_s_are_refused_in_one_line(name, expected):
    with pytest.raises(BadInput, match=expected) as refused:
        files.check_name(name)
    assert "\n" not in str(refused.value) and "; fix: " in str(refused.value)
    for usual in ("a b", "it's", "{x}", "a,b", "a.b", "größe", "$HOME"):
        files.check_name(usual)


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


def test_right_names_where_and_what_was_tried():
    alone = answer(FAST, cell("jax", IREE, ended(Status.UNSUPPORTED, "no fft")))
    assert headline(alone) == (
        "Right in jaxlib-0.7.1 with inputs drawn at seed 2025; unsupported: jax in iree-3.13."
    )
    two = (cell("a", NEW, right(1.0)), cell("b", NEW, right(1.0)))
    assert headline(answer(*two, inputs="/tmp/x.npz", workload="")) == (
        "Right in jaxlib-0.10.2 with the inputs of x.npz, no gap beyond 10 %."
    )
    assert "the inputs of x.py at seed" in headline(answer(*two, workload="y/x.py"))


def test_not_judged_says_why():
    timed = replace(right(2.0), outcome=ended(Status.NOT_JUDGED, "x").outcome)
    cells = [cell("jax", compiler, timed) for compiler in (OLD, NEW)]
    found = answer(*cells, judge="", judge_reason="this program amplifies rounding by 900")
    assert headline(found).startswith("Not judged: this program amplifies rounding by 900; with inputs drawn")
    slow = cell("torch_xla", OLD, replace(timed, timing=right(9.0).timing))
    assert headline(answer(*cells, slow)).endswith("; values are not judged.")


def test_a_frontend_that_crashes_accuses_no_compiler():
    crashed = cell("jax", OLD, ended(Status.CRASH, "SIGSEGV in lower", is_emitted=False))
    assert headline(answer(crashed)) == "Nothing ran in a compiler: no program: jax."


def test_an_error_of_the_harness_accuses_nobody():
    broken = cell("jax", OLD, Checked(ended(Status.ERROR, "no disk").outcome))
    assert headline(answer(broken)) == "Nothing ran in a compiler: error: jax in jaxlib-0.7.1."
