"""The process that replays every framework's program in one compiler, with interleaved blocks.

It runs in a compiler's environment, under the same parent, protocol and events as the process of a
cell. What differs between two programs here is their StableHLO alone: compiler, its options,
weights and inputs are the same.

A program that updates what it keeps does here the same step in every call, from the same state, and its
results have memory of their own. The process keeps such memory once it has it, because page faults would double the
time of a training step, and makes so many blocks (`study.programs`) that those of fresh memory are the fewer.
"""

from __future__ import annotations

import ctypes
import gc
import gzip
import hashlib
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stackwars import compilers, workloads
from stackwars.compilers import arguments, placement, profile
from stackwars.compilers.check import EXECUTABLES, keyed
from stackwars.ir.program_text import not_donated, readable
from stackwars.measure import documents, judge, machine, process_status
from stackwars.measure.calls import block, timed_call
from stackwars.measure.child import run_child, surroundings
from stackwars.measure.contention import Meter, Usage
from stackwars.measure.documents import Events
from stackwars.measure.inputs import INPUT_SETS

OK = {"status": "ok"}
DETAIL = 2000
"""Characters that are kept of what a compiler says."""


@dataclass(frozen=True)
class ReplayJob:
    """One process of the replay of a workload's programs in one compiler.

    module, options: the compiler's file in this folder, and what its constructor is told.
    programs: {framework: {"program": path of program.mlir.gz, "arguments": path of its arguments.json}}, paths relative
    to the repository. baseline: the program that the others' times are compared with. settings: those of a cell's job.
    check: file of the check of these programs, of which only those that are ok run here; "" if there is none. expected:
    folder of the values that their outputs are compared with; "" if there are none. repetition: the round that it
    belongs to. peers: what is measured in the same rounds, as of `rounds.stop_reason`.
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
    peers: dict = field(default_factory=dict, kw_only=True)


class ReplayProcess:
    """The programs of one process: those still in the running, and the refusal of the others."""

    def __init__(self, spec: dict, events: Events, folder: Path) -> None:
        self.spec = spec
        self.folder = folder
        self.events = events
        names = list(spec["programs"])
        # Whichever program comes first in a round has the other's weights in the cache.
        self.names = names[::-1] if spec["repetition"] % 2 else names
        self.programs: dict[str, Any] = {}
        self.documents: dict[str, dict] = {}

    def refuse(self, name: str, detail: str, status: str = "invalid") -> None:
        """Take a program out, and say why."""
        self.events.write("refused", program=name, status=status, detail=detail)
        self.programs.pop(name, None)

    def load(self, compiler: Any) -> None:
        """Compile every program that passed its check and is the one its list of arguments is for, and place them."""
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
            if problem := digest_problem(name, digest, document["program_sha256"]):
                self.refuse(name, problem)
                continue
            self.documents[name], result[name] = document, entries
            placement.check_memory(name, entries)
            self.compile(name, readable(not_donated(text.decode())), compiler, self._checked(name))
        placement.place(self.programs, result, self.spec, compiler.put)

    def _checked(self, name: str) -> tuple[bytes, float] | None:
        """Return (the program as its check compiled it, the seconds that took), if it can be loaded here."""
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
        """Compile a program, or refuse it with what the compiler says; raises only if memory runs out.

        checked: what its check compiled, which is loaded in its place.
        """
        start = time.perf_counter()
        try:
            self.programs[name] = compiler.load(text, checked[0]) if checked else compiler.compile(text)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            if process_status.out_of_memory(said):
                raise
            status = "timeout" if isinstance(error, TimeoutError) else "unsupported"
            self.refuse(name, f"the compiler refuses it: {said[:DETAIL]}", status)
        else:
            seconds = checked[1] if checked else time.perf_counter() - start
            # The seconds of the check are one time, however many processes load what it compiled.
            times = {} if checked and self.spec["repetition"] else {"compile_s": seconds}
            self.events.write("compiled", program=name, **times, **self.facts(name))

    def facts(self, name: str) -> dict[str, Any]:
        """What a compiled program holds, or why that is not known: its times stand, whatever form it has."""
        try:
            return {"optimised": self.programs[name].facts(), "optimised_problem": ""}
        except Exception as error:
            return {"optimised": None, "optimised_problem": f"{type(error).__name__}: {error}"}

    def fetch(self, outputs: dict[str, list[Any]]) -> dict[str, list[dict[str, np.ndarray]]]:
        """The values of every program's results, by name, for each of its calls.

        A program that has others than its arguments.json names is refused.
        """
        result = {}
        for name, program in list(self.programs.items()):
            fetched = [program.fetch(output) for output in outputs[name]]
            try:
                result[name] = [arguments.named(self.documents[name], values) for values in fetched]
            except ValueError as error:
                self.refuse(name, str(error))
        return result

    def single_calls(self, event: str, which: int) -> dict[str, Any]:
        """One timed call of every program, written as this event; {program: output}."""
        outputs = {}
        for name, program in self.programs.items():
            outputs[name], _, ns = timed_call(program, which)
            self.events.write(event, program=name, ns=ns)
        return outputs

    def steady_calls(self, outputs: dict[str, list[Any]]) -> dict[str, dict[str, Any]]:
        """A block of each, interleaved, until every program satisfies the settings.

        outputs: the last output of every program for each set of inputs, and so at the end. Returns
        {program: {"ns", "run_ns", "wait_ns", "steal_ns": one for each block, "other_processes_share"}}.
        """
        settings = self.spec["settings"]
        calls, meter = settings["block_calls"], Meter()
        start = time.perf_counter()
        samples = {name: {f"{key}_ns": [] for key in Usage._fields} for name in self.programs}
        times: dict[str, list[int]] = {name: [] for name in self.programs}
        for blocks in range(settings["steady_max_blocks"]):
            seconds = min(sum(values) for values in times.values()) / 1e9
            if blocks >= settings["steady_min_blocks"] and seconds >= settings["steady_seconds"]:
                break
            for name, program in self.programs.items():
                first = blocks * calls % len(outputs[name])
                meter.read()
                times[name].append(block(program, calls, first, outputs[name]))
                for key, value in meter.read()._asdict().items():
                    samples[name][f"{key}_ns"].append(value)
        # At once, and for the whole: its own clock against that of the events tells whether both go right.
        self.events.write("steady all", seconds=time.perf_counter() - start)
        others = {"other_processes_share": meter.other_processes_share()}
        return {name: {"ns": times[name], **samples[name], **others} for name in self.programs}

    def verify(self, outputs: dict[str, list[dict[str, np.ndarray]]]) -> None:
        """Write how far the last results of each program are from the expected values; refuse those that are wrong."""
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
        """Write where the time of each program's calls goes, or why that is unknown; no time depends on it."""
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


def keep_memory() -> None:
    """Have the C library give no memory back to the system, for which it would have to ask again.

    By glibc's mallopt(3): M_TRIM_THRESHOLD (-1) of -1 returns nothing, M_MMAP_MAX (-4) of 0 maps no block by
    itself. With another library nothing is done.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(-1, -1)
        mallopt(-4, 0)


def digest_problem(name: str, digest: str, listed: str) -> str | None:
    """Return why a program is not the one its arguments are for, or None."""
    if digest == listed:
        return None
    return f"the program's digest is {digest[:12]}, its list of arguments is for {listed[:12]}"


def measure(spec: dict, events: Events, folder: Path) -> None:
    """Run one process of a replay; spec: of a ReplayJob."""
    events.write("import")
    if hasattr(workloads.load(spec["workload"]), "STATE"):
        keep_memory()
    compiler = compilers.load(spec["module"]).Compiler(spec["device"], spec["options"])
    events.write("build", device_kind=compiler.device_kind(), versions=compiler.versions())
    replay = ReplayProcess(spec, events, folder)
    replay.load(compiler)
    gc.collect()
    gc.disable()
    events.write("run", **surroundings())
    if not replay.programs:
        events.write("end")
        return
    first = replay.single_calls("first", 0)
    second = replay.single_calls("second", 1)
    outputs = {name: [first[name], second[name]] for name in replay.programs}
    del first, second
    samples = replay.steady_calls(outputs)
    gc.enable()
    for name in replay.programs:
        calls = spec["settings"]["block_calls"]
        events.write("steady", program=name, calls=calls, **samples[name])
    replay.verify(replay.fetch(outputs))
    events.write("timed", **surroundings())
    if spec["repetition"] == 0:
        replay.profile()
    events.write("end")


def main() -> None:
    """Run the process of a replay."""
    run_child(measure)


if __name__ == "__main__":
    main()
