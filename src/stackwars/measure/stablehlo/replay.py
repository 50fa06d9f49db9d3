"""The process that replays every framework's program in one compiler, with alternating loops.

It runs in a compiler's environment, under the same parent, protocol and events as the process of a cell; each program
is a stream. Programs differ in their StableHLO alone: compiler, options, weights and inputs are the same.

A program that updates a state does the same step in every call, from the same state, and its results have new memory.
The process makes enough blocks (`steady_min_blocks` of its settings) that most of them reuse memory.
"""

from __future__ import annotations

import gc
import gzip
import hashlib
import resource
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.core import compilers, documents, judge, machine, outcome
from stackwars.core.check import keyed
from stackwars.core.compilers import INPUT_SETS
from stackwars.core.documents import Events
from stackwars.core.outcome import Failed, Status
from stackwars.core.program_text import not_donated, readable
from stackwars.measure import workloads
from stackwars.measure.calls import SINGLES, STEADY, Stream, timed_call
from stackwars.measure.child import keep_memory, run_child, surroundings
from stackwars.measure.stablehlo import arguments, profile
from stackwars.measure.stablehlo.arguments import Entry
from stackwars.measure.stablehlo.check import EXECUTABLES

OK = {"status": "ok"}
DETAIL = 2000
"""Most characters of a compiler's message."""


@dataclass(frozen=True)
class ReplayJob:
    """One process of the replay of a workload's programs in one compiler.

    module, options: the compiler's module in `stackwars.core.compilers`, and its constructor's options.
    programs: {framework: {"program": path of program.mlir.gz, "arguments": path of its arguments.json}}, paths relative
    to the repository. baseline: the program that the others' times are compared with. settings: those of a cell's job.
    check: file of the check of these programs; only those that are ok run; "" without a check. expected: folder of the
    values that their outputs are compared with; "" if there are none. repetition: its round, from 0.
    """

    workload: str
    device: str
    preset: str
    compiler: str
    module: str
    options: dict[str, str]
    repetition: int
    baseline: str
    sizes: dict[str, int]
    settings: dict
    programs: dict[str, dict[str, str]]
    check: str
    expected: str


class ReplayProcess:
    """The programs of one process that are not refused."""

    def __init__(self, spec: dict, events: Events) -> None:
        self.spec = spec
        self.events = events
        self.names = list(spec["programs"])
        self.programs: dict[str, Any] = {}
        self.documents: dict[str, dict] = {}

    def refuse(self, name: str, detail: str, status: str = "invalid") -> None:
        """Drop a program, and record the reason."""
        self.events.write("refused", program=name, status=status, detail=detail)
        self.programs.pop(name, None)

    def load(self, compiler: Any) -> None:
        """Compile every program that passed its check and matches its list of arguments, and place the arguments."""
        result, check = {}, self.spec["check"]
        outcomes = documents.read(check)["programs"] if check else dict.fromkeys(self.names, OK)
        for name in self.names:
            paths = self.spec["programs"][name]
            text = gzip.decompress(Path(paths["program"]).read_bytes())
            digest = hashlib.sha256(text).hexdigest()
            self.events.write("read", program=name, sha256=digest)
            document, entries = arguments.load(Path(paths["arguments"]))
            if outcomes[name]["status"] != "ok":
                self.refuse(name, outcomes[name]["status_detail"], outcomes[name]["status"])
                continue
            if digest != (listed := document["program_sha256"]):
                why = f"the program's digest is {digest[:12]}, its list of arguments is for {listed[:12]}"
                self.refuse(name, why)
                continue
            self.documents[name], result[name] = document, entries
            if (cap := resource.getrlimit(resource.RLIMIT_DATA)[0]) != resource.RLIM_INFINITY:
                arguments.check_memory(name, entries, cap)
            self.compile(name, readable(not_donated(text.decode())), compiler, self._checked(name))
        place(self.programs, result, self.spec, compiler.put)

    def _checked(self, name: str) -> tuple[bytes, float] | None:
        """Return (the program compiled by its check, its seconds to compile) if it can be loaded here."""
        path = Path(self.spec["check"])
        executable = path.parent / EXECUTABLES / name
        if not self.spec["check"] or not executable.exists():
            return None
        document = documents.read(path)
        # Another node of a cluster may lack instructions that the code has.
        if document["machine"] != machine.record():
            return None
        return executable.read_bytes(), document["programs"][name]["compile_s"]

    def compile(self, name: str, text: str, compiler: Any, checked: tuple[bytes, float] | None = None) -> None:
        """Compile a program, or refuse it with the compiler's message; raises only if memory runs out.

        checked: see `_checked`; it is loaded and not compiled again.
        """
        start = time.perf_counter()
        try:
            self.programs[name] = compiler.load(text, checked[0]) if checked else compiler.compile(text)
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            if outcome.out_of_memory(message):
                raise
            status = Status.TIMEOUT if isinstance(error, TimeoutError) else Status.UNSUPPORTED
            self.refuse(name, f"the compiler refuses it: {message[:DETAIL]}", status)
        else:
            seconds = checked[1] if checked else time.perf_counter() - start
            # The check compiled once, however many processes load its program.
            times = {} if checked and self.spec["repetition"] else {"compile_s": seconds}
            self.events.write("compiled", program=name, **times, optimised=self.facts(name))

    def facts(self, name: str) -> dict[str, int] | None:
        """Return the facts of a compiled program; None if they cannot be read, which leaves its times valid."""
        try:
            return self.programs[name].facts()
        except Exception:
            traceback.print_exc()
            return None

    def fetch(self, outputs: dict[str, list[Any]]) -> dict[str, list[dict[str, np.ndarray]]]:
        """Return the values of every program's results, by name, for each of its calls.

        A program is refused if its arguments.json names other results.
        """
        result = {}
        for name, program in list(self.programs.items()):
            fetched = [program.fetch(output) for output in outputs[name]]
            try:
                result[name] = [arguments.named(self.documents[name], values) for values in fetched]
            except Failed as error:
                self.refuse(name, str(error))
        return result

    def verify(self, outputs: dict[str, list[dict[str, np.ndarray]]]) -> None:
        """Compare the last results of each program with the expected values; refuse wrong programs."""
        if not self.spec["expected"]:
            return
        expected = judge.read(Path(self.spec["expected"]))
        for name, results in outputs.items():
            values: dict[str, np.ndarray] = {}
            for which, result in enumerate(results):
                values |= keyed("last", which, result)
            verdict = judge.judge(values, expected)
            self.events.write("values", program=name, verdict=verdict)
            if problem := judge.problem(verdict):
                self.refuse(name, problem, "wrong")

    def profile(self) -> None:
        """Write the profile of each program, or why there is none; no time depends on it."""
        calls = {
            name: lambda number, program=program: timed_call(program, number % INPUT_SETS)
            for name, program in self.programs.items()
        }
        try:
            recorded = profile.record(calls, self.spec["settings"]["block_calls"])
        except Exception as error:
            self.events.write("not profiled", detail=str(error)[-500:])
            return
        for name, program in self.programs.items():
            try:
                result = profile.profile(recorded[name], program.optimised_hlo())
            except Exception as error:
                self.events.write("not profiled", program=name, detail=str(error)[-500:])
            else:
                self.events.write("profiled", program=name, **result)


JOB = ReplayJob
"""The class of this process's jobs, for `stackwars.measure.supervisor`."""


def place(
    programs: dict[str, Any], listed: dict[str, list[Entry]], spec: dict, put: Callable[[np.ndarray], Any]
) -> None:
    """Fill the buffers of every program, each leaf once for each layout in use.

    listed: the arguments of each program. spec: workload, sizes and settings with the seed. put: the compiler's.

    A weight is made, placed in every layout in use, and dropped: the machine holds the device's copies and one leaf
    more. Programs share a buffer of the same values in the same layout, because none writes to its arguments.

    :raises ValueError: if a program and its list of arguments differ.
    """
    seed = spec["settings"]["seed"]
    sets = workloads.load(spec["workload"]).input_sets(spec["sizes"], seed)
    for entry, layouts in _wanted(programs, listed).items():
        # Only inputs differ from one set to the other.
        varied = entry.kind == "input"
        for number, inputs in enumerate(sets if varied else sets[:1]):
            slots = [number] if varied else range(len(sets))
            value = entry.value(seed, inputs)
            for (axes, shape, dtype), users in layouts.items():
                transposed = value.transpose(axes) if entry.kind == "weight" else value
                if _long(transposed.shape) != _long(shape):
                    raise ValueError(
                        f"argument {users[0][1]} of {users[0][0]}, {entry.kind} {entry.name}: expected "
                        f"the program's shape {shape}, got {transposed.shape}; fix: lower it again"
                    )
                buffer = put(transposed.reshape(shape).astype(dtype, copy=False))
                for name, position in users:
                    for slot in slots:
                        programs[name].buffers[slot][position] = buffer


def _wanted(
    programs: dict[str, Any], listed: dict[str, list[Entry]]
) -> dict[Entry, dict[tuple, list[tuple[str, int]]]]:
    """Return {entry to make: {(axes, shape, dtype) in a program: [(program, position)]}}."""
    wanted: dict[Entry, dict[tuple, list]] = defaultdict(lambda: defaultdict(list))
    for name, program in programs.items():
        entries = listed[name]
        if len(entries) != len(program.types):
            raise ValueError(
                f"{name}: the program has {len(program.types)} arguments, its list {len(entries)}: "
                "they are not of one lowering; fix: lower it again"
            )
        for position, (entry, kind) in enumerate(zip(entries, program.types, strict=True)):
            # The entry in torch's axes, so that it serves every layout.
            canonical = replace(entry, axes=tuple(range(len(entry.axes))))
            wanted[canonical][entry.axes, *kind].append((name, position))
    return wanted


def _long(shape: tuple[int, ...]) -> list[int]:
    """Return the extents other than 1, which a program and its list may have in other numbers."""
    return [extent for extent in shape if extent != 1]


def measure(spec: dict, events: Events, folder: Path) -> Iterator[dict[str, Stream]]:
    """Run one process of a replay. spec: a ReplayJob as a dictionary."""
    events.write("import")
    keep_memory(spec["workload"])
    compiler = compilers.load(spec["module"]).Compiler(spec["device"], spec["options"])
    events.write("build", device_kind=compiler.device_kind(), versions=compiler.versions())
    replay = ReplayProcess(spec, events)
    replay.load(compiler)
    gc.collect()
    gc.disable()
    events.write("run", **surroundings())
    streams = {name: Stream(one, events, spec["settings"], name) for name, one in replay.programs.items()}
    yield streams
    gc.enable()
    replay.verify(replay.fetch({name: stream.outputs for name, stream in streams.items()}))
    events.write("timed", **surroundings())
    if spec["repetition"] == 0 and replay.programs:
        replay.profile()


def main() -> None:
    """Run the process of a replay."""
    run_child(measure, alone=(SINGLES, STEADY))


if __name__ == "__main__":
    main()
