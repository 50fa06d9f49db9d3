"""The process that replays every framework's program in one XLA client, call by call in turn.

It runs in a compiler's environment, under the same parent, protocol and events as the process of a
cell. What differs between two programs here is their StableHLO alone: client, compile options,
weights and inputs are the same.
"""

from __future__ import annotations

import gc
import gzip
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.audit import relative_l2
from stackwars.compilers import arguments, placement
from stackwars.compilers.program import Program, compile_program, open_device, versions
from stackwars.measure.child import Events, checked, sample, timed_call


class ReplayRefused(Exception):
    """The baseline's program is not what it must be: no time of this process would mean anything."""


class Replay:
    """The programs of one process: those still in the running, and the refusal of the others."""

    def __init__(self, spec: dict, events: Events, folder: Path) -> None:
        self.spec = spec
        self.folder = folder
        self.events = events
        names = list(spec["programs"])
        # Whichever program comes first in a round has the other's weights in the cache.
        self.names = names[::-1] if spec["repetition"] % 2 else names
        self.programs: dict[str, Program] = {}

    def refuse(self, name: str, detail: str) -> None:
        """Take a program out, and say why; raises ReplayRefused for the baseline's."""
        self.events.write("refused", program=name, detail=detail)
        self.programs.pop(name, None)
        if name == self.spec["baseline"]:
            raise ReplayRefused(f"{name}: {detail}")

    def load(self, device: Any) -> None:
        """Compile every program that is the one its list of arguments is for, and place them."""
        found = {}
        for name in self.names:
            paths = self.spec["programs"][name]
            text = gzip.decompress(Path(paths["program"]).read_bytes())
            digest = hashlib.sha256(text).hexdigest()
            self.events.write("read", program=name, sha256=digest)
            document, found[name] = arguments.load(Path(paths["arguments"]))
            problem = digest_problem(name, digest, document["program_sha256"])
            if problem is not None:
                self.refuse(name, problem)
                continue
            placement.check_memory(name, found[name])
            start = time.perf_counter()
            self.programs[name] = compile_program(text.decode(), device)
            self.events.write("compiled", program=name, compile_s=time.perf_counter() - start)
        placement.place(self.programs, found, self.spec, device)

    def single_calls(self, event: str) -> dict[str, Any]:
        """One timed call of every program, written as this event; {program: output}."""
        outputs = {}
        for name, program in self.programs.items():
            outputs[name], _, ns = timed_call(program)
            self.events.write(event, program=name, ns=ns)
        return outputs

    def steady_calls(self, outputs: dict[str, Any]) -> tuple[dict[str, list[int]], dict[str, Any]]:
        """Rounds of one call of each until every program satisfies the settings: ns and last outputs."""
        settings = self.spec["settings"]
        samples: dict[str, list[int]] = {name: [] for name in self.programs}
        for calls in range(settings["steady_max_calls"]):
            seconds = min(sum(values) for values in samples.values()) / 1e9
            if calls >= settings["steady_min_calls"] and seconds >= settings["steady_seconds"]:
                break
            for name, program in self.programs.items():
                outputs[name], _, ns = timed_call(program)
                samples[name].append(ns)
        return samples, outputs

    def verify(self, outputs: dict[str, Any], call: str) -> None:
        """Write how far the outputs agree, and a sample of each; refuse the programs whose do not.

        Raises FloatingPointError where the baseline's output is not finite.
        """
        settings = self.spec["settings"]
        baseline = checked(np.asarray(outputs[self.spec["baseline"]]), call)
        for name, output in outputs.items():
            values = np.asarray(output)
            problem, error = output_problem(values, baseline), None
            if problem is None:
                error = relative_l2(values, baseline)
                if error > settings["parity_rel_l2"]:
                    most = f"{settings['parity_rel_l2']:.0e}"
                    problem = f"relative L2 error {error:.2e} against the baseline, over {most}"
            self.events.write("parity", program=name, call=call, rel_l2=error)
            np.save(self.folder / f"{name}.npy", sample(values, settings["seed"]))
            if problem is not None:
                self.refuse(name, problem)


def output_problem(values: np.ndarray, baseline: np.ndarray) -> str | None:
    """Why an output cannot be compared with the baseline's, or None."""
    ours, theirs = (f"{array.shape} {array.dtype}" for array in (values, baseline))
    if ours != theirs:
        return f"expected an output as the baseline's, {theirs}; came {ours}"
    return None if np.isfinite(values).all() else "expected finite values, some are not"


def digest_problem(name: str, digest: str, listed: str) -> str | None:
    """Why a program is not the one its arguments are for, or None.

    An edited one (`name+edit`) takes the arguments of the program that was edited.
    """
    if "+" in name or digest == listed:
        return None
    return f"the program's digest is {digest[:12]}, its list of arguments is for {listed[:12]}"


def measure(spec: dict, events: Events, folder: Path) -> None:
    """Run one repetition of a replay; see `replay_job.ReplayJob` for the specification."""
    events.write("import")
    device = open_device(spec["device"])
    events.write("build", device_kind=device.device_kind, versions=versions())
    replay = Replay(spec, events, folder)
    replay.load(device)
    gc.collect()
    gc.disable()
    events.write("run", affinity=sorted(os.sched_getaffinity(0)), load=os.getloadavg())
    replay.verify(replay.single_calls("first"), "first")
    samples, outputs = replay.steady_calls(replay.single_calls("second"))
    gc.enable()
    replay.verify(outputs, "last")
    for name in replay.programs:
        events.write("steady", program=name, ns=samples[name])
    events.write("timed", load=os.getloadavg())
    events.write("end")


def main() -> None:
    """`python -m stackwars.compilers.replay FOLDER`: read FOLDER/spec.json, write beside it."""
    folder = Path(sys.argv[1])
    events = Events(folder / "events.jsonl")
    try:
        measure(json.loads((folder / "spec.json").read_text()), events, folder)
    except BaseException as error:
        events.write("raised", type=type(error).__name__, message=str(error)[-4000:], compiles=None)
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    # As in a cell: nothing is left to clean up.
    os._exit(0)


if __name__ == "__main__":
    main()
