"""Every status, from the texts and exits by which processes really end."""

import signal

import pytest

from stackwars.measure.launch import ExitReport
from stackwars.measure.process_status import status

BEGUN = ("import", "build", "run", "first", "second", "steady", "timed", "end")
JAX_BUILD = "RESOURCE_EXHAUSTED: Out of memory allocating 8589934592 bytes."
JAX_RUN = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes."
TPU_COMPILE = (
    "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. "
    "Used 31.38G of 15.48G hbm. Exceeded hbm capacity by 15.90G."
)
TORCH = (
    "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory: "
    "you tried to allocate 2101346304 bytes. Error code 12 (Cannot allocate memory)"
)
NUMPY = "Unable to allocate 1.96 GiB for an array with shape (128256, 4096) and data type float32"
ABORT = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc"


def came_to(
    phase: str, raised: tuple[str, str] | None = None, environment: str = "jax-0", **report
) -> tuple[str, str]:
    """Status of a process whose last phase this was, and that raised (type, message) if given."""
    events = [{"event": name} for name in BEGUN[: BEGUN.index(phase) + 1]] if phase else []
    if raised:
        events.append({"event": "raised", "type": raised[0], "message": raised[1]})
    return status(ExitReport(**{"exit_code": 1, **report}), events, environment)


def test_ok_has_no_detail():
    assert came_to("end", exit_code=0) == ("ok", "")


def test_exit_without_the_end_is_an_error():
    found, detail = came_to("second", exit_code=0, log_tail="last line")
    assert found == "error"
    assert "exit code 0 before its work was done (phase: second); log: last line" in detail


def test_package_that_an_environment_lacks_is_told_with_what_to_do():
    gone = "Traceback ...\nModuleNotFoundError: No module named 'numpy'"
    for raised, log in ((None, gone), (("ModuleNotFoundError", "No module named 'numpy'"), "")):
        found, detail = came_to("import", raised, log_tail=log, environment="numpy-0123")
        assert found == "error"
        assert detail.splitlines()[0].startswith("no package numpy in numpy-0123")
    assert "no package" not in came_to("", log_tail=gone.replace("numpy", "stackwars.x"))[1]


def test_end_with_a_bad_exit_is_an_error():
    assert came_to("end", exit_code=3)[0] == "error"


@pytest.mark.parametrize(
    ("phase", "raised", "place"),
    [
        ("build", ("XlaRuntimeError", JAX_BUILD), "at build"),
        ("build", ("RuntimeError", TORCH), "at build"),
        ("build", ("_ArrayMemoryError", NUMPY), "at build"),
        ("build", ("MemoryError", ""), "at build"),
        ("import", ("OSError", "[Errno 12] Cannot allocate memory"), "at import"),
        ("run", ("XlaRuntimeError", TPU_COMPILE), "at compile"),
        ("run", ("XlaRuntimeError", JAX_RUN), "at run"),
        ("run", ("RuntimeError", TORCH), "at run"),
        ("first", ("XlaRuntimeError", JAX_RUN), "at run"),
        ("second", ("RuntimeError", JAX_RUN), "at run"),
        ("steady", ("MemoryError", ""), "at run"),
    ],
)
def test_refused_memory_is_oom_where_it_was_refused(phase, raised, place):
    found, detail = came_to(phase, raised)
    assert found == "oom"
    assert detail.startswith(f"refused {place}: ")
    assert raised[1].split("\n")[0][:60] in detail


def test_library_that_finds_no_room_is_oom():
    raised = ("ImportError", "libjax_common.so: failed to map segment from shared object")
    found, detail = came_to("import", raised)
    assert (found, detail[:18]) == ("oom", "refused at import:")
    abort = "cannot allocate memory for thread-local data: ABORT"
    assert came_to("build", exit_code=127, log_tail=abort)[0] == "oom"


def test_refusal_is_told_by_its_own_line():
    message = f"during the call\n{JAX_RUN}\nBacktrace: ..."
    assert came_to("run", ("RuntimeError", message))[1] == f"refused at run: {JAX_RUN}"


@pytest.mark.parametrize(("phase", "place"), [("", "import"), ("build", "build"), ("run", "run")])
def test_abort_for_want_of_memory_is_oom(phase, place):
    found, detail = came_to(phase, exit_code=-signal.SIGABRT, log_tail=ABORT)
    assert found == "oom"
    assert detail.startswith(f"refused at {place}: ")


def test_abort_for_another_reason_is_an_error():
    found, detail = came_to("run", exit_code=-signal.SIGABRT, log_tail="Check failed: a == b")
    assert found == "error"
    assert "SIGABRT" in detail
    assert "Check failed: a == b" in detail


def test_over_the_cap_is_oom():
    found, detail = came_to("build", exit_code=-signal.SIGKILL, over_cap=True)
    assert (found, detail) == ("oom", "killed at the cap: last phase begun or finished: build")


def test_over_the_time_is_timeout():
    found, detail = came_to("first", exit_code=-signal.SIGKILL, timed_out=True)
    assert (found, detail.split("; ")[1]) == ("timeout", "last phase begun or finished: first")


def test_bare_sigkill_is_an_error():
    found, detail = came_to("second", exit_code=-signal.SIGKILL)
    assert found == "error"
    assert detail.startswith("ended by SIGKILL, which this harness did not send (phase: second)")


def test_sigkill_by_the_kernel_is_oom():
    found, detail = came_to("run", exit_code=-signal.SIGKILL, kernel_oom=True)
    assert found == "oom"
    assert detail.startswith("killed by the kernel for want of memory")


def test_oom_kill_elsewhere_on_the_machine_is_not_this_processs_oom():
    found, detail = came_to("run", exit_code=-signal.SIGKILL, other_oom=True)
    assert found == "error"
    assert "SIGKILL" in detail and "nothing shows that it was this one" in detail


@pytest.mark.parametrize("whose", ["kernel_oom", "other_oom"])
def test_kernel_oom_leaves_an_exception_an_error(whose):
    assert came_to("run", ("ValueError", "no"), **{whose: True})[0] == "error"


def test_child_that_was_not_started_is_an_error_with_the_reason():
    assert came_to("", exit_code=None, not_started="no such file") == ("error", "no such file")


def test_exception_is_an_error_with_type_message_and_phase():
    assert came_to("build", ("ValueError", "a wrong shape")) == (
        "error", "ValueError: a wrong shape (phase: build)")  # fmt: skip


def test_log_of_an_exception_does_not_make_it_oom():
    assert came_to("run", ("ValueError", "no"), log_tail="warning: MemoryError")[0] == "error"


def test_not_implemented_is_unsupported():
    raised = ("NotImplementedError", "aten::foo has no lowering")
    assert came_to("run", raised) == ("unsupported", "aten::foo has no lowering")


def test_values_not_finite_are_invalid():
    raised = ("FloatingPointError", "expected finite values from the first call")
    assert came_to("first", raised) == ("invalid", raised[1])


@pytest.mark.parametrize("kind", ["NotImplementedError", "FloatingPointError", "ValueError"])
def test_exception_without_a_message_still_has_a_detail(kind):
    assert came_to("run", (kind, ""))[1].strip()


def test_detail_has_only_what_a_table_and_a_terminal_take():
    message = "a\x1b[2J\x00b\udcff\r\nc\u00e9"
    assert came_to("first", ("ValueError", message)) == (
        "error", "ValueError: a?[2J?b?\nc\u00e9 (phase: first)")  # fmt: skip
