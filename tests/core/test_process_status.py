"""Every status, from the texts and exits by which processes really end."""

import signal

import pytest

from stackwars.core.launch import REPOSITORY, ExitReport
from stackwars.core.outcome import Status, status

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


KILLED, ABORTED = {"exit_code": -signal.SIGKILL}, {"exit_code": -signal.SIGABRT}
ENDS = {
    "ok": ("end", None, {"exit_code": 0}, "ok", ""),
    "exit without the end": (
        "second", None, {"exit_code": 0, "log_tail": "last line"},
        "error", "exit code 0 before its work was done (phase: second); log: last line"),
    "end with a bad exit": ("end", None, {"exit_code": 3}, "error", ""),
    "library without room": (
        "import", ("ImportError", "libjax_common.so: failed to map segment from shared object"), {},
        "oom", "refused at import: "),
    "thread without room": (
        "build", None, {"exit_code": 127, "log_tail": "cannot allocate memory for thread-local data: ABORT"},
        "oom", ""),
    "refusal told by its own line": (
        "run", ("RuntimeError", f"during the call\n{JAX_RUN}\nBacktrace: ..."), {},
        "oom", f"refused at run: {JAX_RUN}"),
    "abort for want of memory at import": ("", None, {**ABORTED, "log_tail": ABORT}, "oom", "refused at import: "),
    "abort for want of memory": ("build", None, {**ABORTED, "log_tail": ABORT}, "oom", "refused at build: "),
    "abort for another reason": (
        "run", None, {**ABORTED, "log_tail": "Check failed: a == b"}, "crash", "Check failed: a == b"),
    "over the cap": (
        "build", None, {**KILLED, "over_cap": True},
        "oom", "killed at the cap: last phase begun or finished: build"),
    "over the time": (
        "first", None, {**KILLED, "timed_out": True}, "timeout", "; last phase begun or finished: first"),
    "bare SIGKILL": (
        "second", None, KILLED, "crash", "ended by SIGKILL, which this harness did not send (phase: second)"),
    "SIGKILL by the kernel": (
        "run", None, {**KILLED, "kernel_oom": True}, "oom", "killed by the kernel, which had too little memory"),
    "SIGKILL while another was killed for memory": (
        "run", None, {**KILLED, "other_oom": True}, "crash", "nothing shows that it was this one"),
    "exception while the kernel killed": ("run", ("ValueError", "no"), {"kernel_oom": True}, "error", ""),
    "exception while another was killed": ("run", ("ValueError", "no"), {"other_oom": True}, "error", ""),
    "not started": ("", None, {"exit_code": None, "not_started": "no such file"}, "error", "no such file"),
    "exception": (
        "build", ("ValueError", "a wrong shape"), {}, "error", "ValueError: a wrong shape (phase: build)"),
    "exception with a log of memory": (
        "run", ("ValueError", "no"), {"log_tail": "warning: MemoryError"}, "error", ""),
    "not implemented": (
        "run", ("NotImplementedError", "aten::foo has no lowering"), {},
        "unsupported", "aten::foo has no lowering"),
    "values not finite": (
        "first", ("FloatingPointError", "expected finite values from the first call"), {},
        "invalid", "expected finite values from the first call"),
    "compiler whose process crashed": ("run", ("CompilerCrash", "SIGSEGV in it"), {}, "crash", "SIGSEGV in it"),
}  # fmt: skip
"""{name: (last phase, what was raised, how it ended, status, what the detail contains)}."""


@pytest.mark.parametrize("name", ENDS)
def test_every_end_has_its_status_and_detail(name):
    phase, raised, report, expected, part = ENDS[name]
    found, detail = came_to(phase, raised, **report)
    assert found == expected
    assert part in detail and bool(detail) == (expected != "ok")


def test_package_that_an_environment_lacks_is_told_with_what_to_do():
    gone = "Traceback ...\nModuleNotFoundError: No module named 'numpy'"
    for raised, log in ((None, gone), (("ModuleNotFoundError", "No module named 'numpy'"), "")):
        found, detail = came_to("import", raised, log_tail=log, environment="numpy-0123")
        assert found == "error"
        assert detail.splitlines()[0].startswith("no package numpy in numpy-0123")
    assert "no package" not in came_to("", log_tail=gone.replace("numpy", "stackwars.x"))[1]


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


@pytest.mark.parametrize("kind", ["NotImplementedError", "FloatingPointError", "ValueError"])
def test_exception_without_a_message_still_has_a_detail(kind):
    assert came_to("run", (kind, ""))[1].strip()


def test_detail_has_only_what_a_table_and_a_terminal_take():
    message = "a\x1b[2J\x00b\udcff\r\nc\u00e9"
    assert came_to("first", ("ValueError", message)) == (
        "error", "ValueError: a?[2J?b?\nc\u00e9 (phase: first)")  # fmt: skip


def test_the_glossary_explains_every_status():
    page = (REPOSITORY / "docs" / "glossary.md").read_text().partition("## Statuses")[2]
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    assert [name for name, _ in rows if name not in ("status", "---")] == list(Status)
