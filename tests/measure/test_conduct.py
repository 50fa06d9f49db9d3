"""A round of real processes: one works at a time, in a drawn order, and none spoils another's result."""

import itertools
import json
import random
from pathlib import Path
from types import SimpleNamespace

from running import python
from stackwars.measure import conduct, loops
from stackwars.measure.conduct import IN_TURN, INTERLEAVED, Participant
from stackwars.setup.device import ONE_THREAD
from toy_checkout import SETTINGS, ToyCheckout

ROUND = """
import json, random, sys
from pathlib import Path
from stackwars.measure import conduct
from stackwars.measure.supervisor import ProcessJob
given = json.loads(sys.argv[1])
python = next(Path("environments").glob("toy-*[!k]")) / "bin" / "python"
participants = [
    conduct.Participant(
        name, ProcessJob(**job), python.resolve(), Path("rounds") / name,
        steps=conduct.SUBJECT_STEPS if name == "subject" else conduct.STEPS,
    )
    for name, job in given["jobs"].items()
]
records = conduct.run_round(participants, given["settings"], random.Random(given["seed"]), given["bytes"])
Path("records.json").write_text(json.dumps(records))
"""


def ran(toy: ToyCheckout, subject: str = "ok", partner: str = "ok", seed: int = 1, needed: int = 0, **settings):
    """The records of a round of the toy and its partner, which behave so."""
    settings = SETTINGS | settings
    common = {"dialect": "numpy", "workload": "gemm", "device": "cpu", "preset": "smoke", "repetition": 0,
              "sizes": {"m": 2, "k": 3, "n": 4}, "settings": settings}  # fmt: skip
    jobs = {"subject": {"framework": "toy", **common}}
    if partner:
        jobs["partner"] = {"framework": "toy_partner", "writes_files": False, **common}
    given = {"jobs": jobs, "settings": settings, "seed": seed, "bytes": needed}
    environ = toy.environ(subject, STACKWARS_TOY_PARTNER=partner)
    python("-c", ROUND, json.dumps(given), cwd=toy.folder, env=environ, timeout=120)
    return json.loads((toy.folder / "records.json").read_text())


def turns(records: dict, event: str) -> list[tuple[float, float, str]]:
    """(begin, end, participant) of every event of this name, in the order of time."""
    found = [
        (one["began_s"], one["at_s"], name)
        for name, record in records.items()
        for one in record["events"]
        if one["event"] == event
    ]
    return sorted(found)


def test_whole_loops_alternate_and_one_process_works_at_a_time(toy):
    records = ran(toy, loop_pairs=4)
    assert {record["status"] for record in records.values()} == {"ok"}
    spans = sorted(span for event in ("first", "second", "steady", "loop") for span in turns(records, event))
    for (_, end, _), (start, _, _) in itertools.pairwise(spans):
        assert start >= end - 1e-3
    # A B B A A B B A
    order = [who for _, _, who in turns(records, "loop")]
    one, other = order[:2]
    assert one != other and order == [one, other, other, one] * 2
    assert len(loops.pairs(*map(loops.loops_of, records.values()))) == 4
    assert {record["basis"] for record in records.values()} == {INTERLEAVED}
    # Imports and builds overlap, and no call comes before both are over.
    ready = max(one["at_s"] for record in records.values() for one in record["events"] if one["event"] == "run")
    assert turns(records, "first")[0][0] >= ready


def test_order_is_drawn_from_the_seed_and_recorded(toy):
    found = [ran(toy, seed=seed, loop_pairs=1) for seed in (1, 2)]
    orders = [records["subject"]["order"] for records in found]
    assert conducted({"a": ("",), "b": ("",)}) == conducted({"a": ("",), "b": ("",)})
    assert orders[0] != orders[1]
    for records, order in zip(found, orders, strict=True):
        assert [who for _, _, who in turns(records, "first")] == order["singles"]
        assert [who for _, _, who in turns(records, "loop")] == order["loop"]


def test_processes_run_one_after_the_other_if_memory_is_short(toy):
    records = ran(toy, needed=2**60)
    assert {(record["status"], record["basis"]) for record in records.values()} == {("ok", IN_TURN)}
    ends = [record["events"][-1]["at_s"] for record in records.values()]
    starts = [record["started_s"] for record in records.values()]
    assert starts[1] >= ends[0] - 1, "the partner starts once the subject has ended"
    assert len(loops.pairs(*map(loops.loops_of, records.values()))) == SETTINGS["loop_pairs"]


def test_processes_that_run_out_of_memory_together_run_in_turn(toy):
    records = ran(toy, partner="hog")
    assert records["subject"]["status"] == "ok" and records["subject"]["basis"] == IN_TURN
    assert records["partner"]["status"] == "oom"


ON_ONE_CORE = SimpleNamespace(device=ONE_THREAD, repetition=0)


class Scripted:
    """The client of a process whose loops take so many ns each."""

    is_running = True

    def __init__(self, name: str, said: list[tuple[str, ...]], ns: int) -> None:
        self.name, self.said, self.ns = name, said, ns

    def send(self, command: str, step: str = "", stream: str = "") -> None:
        self.said.append((self.name, step or command, stream))

    def answer(self, command: str) -> int:
        return self.ns


def conducted(streams: dict[str, tuple[str, ...]], ns: int = 1, **settings) -> list[tuple[str, str, str]]:
    """The commands to the participants of a round, in this order: participant, step, stream."""
    said: list[tuple[str, str, str]] = []
    participants = [
        Participant(name, ON_ONE_CORE, Path(), Path(), streams=own) for name, own in streams.items()
    ]
    processes = {name: Scripted(name, said, ns) for name in streams}
    settings = {"loop_pairs": 3} | settings
    conduct._Round(participants, settings, random.Random(3), processes).conduct()
    return said


def test_streams_take_turns_forwards_and_then_backwards():
    said = conducted({"replay": ("a", "b", "c"), "native": ("",)})
    looped = [(who, stream) for who, step, stream in said if step == "loop"]
    first, second, third = looped[:4], looped[4:8], looped[8:]
    assert set(first) == {("replay", "a"), ("replay", "b"), ("replay", "c"), ("native", "")}
    assert second == first[::-1] and third == first
    assert said[:2] == [("replay", "build", ""), ("native", "build", "")], "builds overlap"
    assert said[-2:] == [("replay", "finish", ""), ("native", "finish", "")]
    singles = [("replay", "singles", stream) for stream in "abc"]
    assert set(said[2:6]) == {*singles, ("native", "singles", "")}


def test_two_pairs_are_enough_where_a_block_takes_over_a_second():
    for ns, pairs in ((10**9 + 1, 2), (10**9 - 1, 5)):
        said = conducted({"one": ("",), "other": ("",)}, ns, loop_pairs=5)
        assert len([step for _, step, _ in said if step == "loop"]) == 2 * pairs


def test_a_process_of_a_round_has_time_to_wait_for_the_others(toy):
    # Each waits while the other takes its steps.
    records = ran(toy, timeout_s=4, steady_seconds=2.5, steady_max_blocks=10**9, loop_pairs=1)
    assert {record["status"] for record in records.values()} == {"ok"}
    assert all(record["wall_s"] > 4 for record in records.values())
