"""Every status, from the texts and exits by which processes really end."""

import signal

import pytest

from stackwars.core.launch import REPOSITORY, ExitReport
from stackwars.core.outcome import Status, status

BEGUN = ("import", "build", "run", "first", "second", "steady", "timed", "end")
JAX_BUILD = "RESOURCE_EXHAUSTED: Out of memory allocating 8589934592 bytes."
JAX_RUN = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes."
TPU_COMPILE = (
    "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 31.38G"
)
TORCH = "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory: you tried"
NUMPY = "Unable to allocate 1.96 GiB for an array with shape (128256, 4096) and data type float32"
ABORT = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc"
NO_ROOM = "libjax_common.so: failed to map segment from shared object"
KILLED, ABORTED = {"exit_code": -signal.SIGKILL}, {"exit_code": -signal.SIGABRT}


def came_to(
    phase: str, raised: tuple[str, str] | None = None, environment: str = "jax-0", **report
) -> tuple[str, str]:
    """Return the status of a process whose last phase this was, and that raised (type, message) if it is not None."""
    events = [{"event": name} for name in BEGUN[: BEGUN.index(phase) + 1]] if phase else []
    if raised:
        events.append({"event": "raised", "type": raised[0], "message": raised[1]})
    return status(ExitReport(**{"exit_code": 1, **report}), events, environment)


REFUSED = [
    ("import", "ImportError", NO_ROOM, "at import"),
    ("import", "OSError", "[Errno 12] Cannot allocate memory", "at import"),
    ("build", "XlaRuntimeError", JAX_BUILD, "at build"),
    ("build", "RuntimeError", TORCH, "at build"),
    ("build", "_ArrayMemoryError", NUMPY, "at build"),
    ("build", "MemoryError", "", "at build"),
    ("run", "XlaRuntimeError", TPU_COMPILE, "at compile"),
    ("run", "XlaRuntimeError", JAX_RUN, "at run"),
    ("first", "RuntimeError", JAX_RUN, "at run"),
]
ENDS = [
    ("end", None, {"exit_code": 0}, "ok", ""),
    ("second", None, {"exit_code": 0, "log_tail": "last line"},
     "error", "exit code 0 before its work was done (phase: second); log: last line"),
    ("end", None, {"exit_code": 3}, "error", ""),
    ("build", None, {"exit_code": 127, "log_tail": "cannot allocate memory for thread-local data: ABORT"}, "oom", ""),
    ("run", ("RuntimeError", f"in a call\n{JAX_RUN}\nBacktrace: ..."), {}, "oom", f"refused at run: {JAX_RUN}"),
    ("", None, {**ABORTED, "log_tail": ABORT}, "oom", "refused at import: "),
    ("build", None, {**ABORTED, "log_tail": ABORT}, "oom", "refused at build: "),
    *((phase, (kind, message), {}, "oom", f"refused {place}: {kind}: {message}".rstrip())
      for phase, kind, message, place in REFUSED),
    ("run", None, {**ABORTED, "log_tail": "Check failed: a == b"}, "crash", "Check failed: a == b"),
    ("build", None, {**KILLED, "over_cap": True}, "oom", "killed at the cap: last phase begun or finished: build"),
    ("first", None, {**KILLED, "timed_out": True}, "timeout", "; last phase begun or finished: first"),
    ("second", None, KILLED, "crash", "ended by SIGKILL, which this harness did not send (phase: second)"),
    ("run", None, {**KILLED, "kernel_oom": True}, "oom", "killed by the kernel, which had too little memory"),
    ("run", None, {**KILLED, "other_oom": True}, "crash", "nothing shows that it was this one"),
    ("run", ("ValueError", "no"), {"kernel_oom": True}, "error", ""),
    ("run", ("ValueError", "no"), {"other_oom": True}, "error", ""),
    ("", None, {"exit_code": None, "not_started": "no such file"}, "error", "no such file"),
    ("build", ("ValueError", "a wrong shape"), {}, "error", "ValueError: a wrong shape (phase: build)"),
    ("run", ("ValueError", "no"), {"log_tail": "warning: MemoryError"}, "error", ""),
    ("run", ("NotImplementedError", "aten::foo has no lowering"), {}, "unsupported", "aten::foo has no lowering"),
    ("first", ("FloatingPointError", "expected finite values"), {}, "invalid", "expected finite values"),
    ("run", ("CompilerCrash", "SIGSEGV in it"), {}, "crash", "SIGSEGV in it"),
    ("run", ("NotImplementedError", ""), {}, "unsupported", "NotImplementedError"),
    ("run", ("FloatingPointError", ""), {}, "invalid", "FloatingPointError"),
    # A table and a terminal take no other characters.
    ("first", ("ValueError", "a\x1b[2J\x00b\udcff\r\nc\u00e9"), {},
     "error", "ValueError: a?[2J?b?\nc\u00e9 (phase: first)"),
]  # fmt: skip
"""(last phase, what was raised, how it ended, status, what the detail contains)."""


@pytest.mark.parametrize(("phase", "raised", "report", "expected", "part"), ENDS)
def test_every_end_has_its_status_and_detail(phase, raised, report, expected, part):
    found, detail = came_to(phase, raised, **report)
    assert found == expected
    assert part in detail and bool(detail) == (expected != "ok")


def test_a_missing_package_of_an_environment_is_named_with_the_fix():
    gone = "Traceback ...\nModuleNotFoundError: No module named 'numpy'"
    for raised, log in ((None, gone), (("ModuleNotFoundError", "No module named 'numpy'"), "")):
        found, detail = came_to("import", raised, log_tail=log, environment="numpy-0123")
        assert found == "error"
        assert detail.splitlines()[0].startswith("no package numpy in numpy-0123")
    assert "no package" not in came_to("", log_tail=gone.replace("numpy", "stackwars.x"))[1]


def test_the_glossary_explains_every_status():
    page = (REPOSITORY / "docs" / "glossary.md").read_text().partition("## Statuses")[2]
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    assert [name for name, _ in rows if name not in ("status", "---")] == list(Status)
