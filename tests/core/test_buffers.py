"""The buffer assignment that XLA dumps: bytes by kind, and what lives at the peak."""

from stackwars.core import buffers
from stackwars.core.buffers import Buffers

TEXT = """\
BufferAssignment:
allocation 0: size 512, thread-local:
 value: <5 reduce.1 @0> (size=4,offset=0): f32[]
allocation 1: size 1000, parameter 4, shape |f32[250]| at ShapeIndex {}:
 value: <1 Arg_4.1 @0> (size=1000,offset=0): f32[250]{0}
allocation 2: size 200, parameter 0, shape |f32[50]| at ShapeIndex {}, maybe-live-out:
 value: <2 Arg_0.1 @0> (size=200,offset=0): f32[50]{0}
allocation 3: size 30, output shape is |f32[7]|, maybe-live-out:
 value: <9 add.3 @0> (size=28,offset=0): f32[7]{0}
allocation 4: size 64, constant:
 value: <3 constant.2 @0> (size=64,offset=0): f32[16]{0}
allocation 5: size 9000, preallocated-temp:
 value: <6 early @0> (size=8000,offset=0): f32[2000]{0}
 value: <7 late{1} @0> (size=5000,offset=0): f32[1250]{0}
 value: <8 later @0> (size=4000,offset=5000): f32[1000]{0}
 value: <10 in_place @0> (size=4000,offset=5000): f32[1000]{0}
allocation 6: size 40000, color 1, preallocated-temp:

Total bytes used: 50806 (49.6KiB)

HloLiveRange (max 9):
  InstructionSequence:
    0:Arg_0.1
  BufferLiveRange:
    early{}:2-3
    late{1}:4-7
    later{}:5-6
    in_place{}:6-7
"""


def test_bytes_by_kind_without_what_is_on_the_chip_or_a_thread_s():
    found = buffers.read(TEXT)
    assert found.buffers == Buffers(argument=1200, output=230, temp=9064, alias=200)
    assert found.buffers.hbm == 1200 + 230 + 9064 - 200
    assert found.of_kind(buffers.CONSTANT) == 64


def test_the_peak_is_where_most_bytes_live_together_and_shared_memory_counts_once():
    found = buffers.read(TEXT)
    assert [value.name for value in found.peak()] == ["late{1}", "later"]
    alive = [(kind, value.instruction, value.bytes) for kind, value in found.alive()]
    assert alive == [
        ("argument", "argument 4", 1000),
        ("argument", "argument 0", 200),
        ("output", "add.3", 28),
        ("constant", "constant.2", 64),
        ("temporary", "late", 5000),
        ("temporary", "later", 4000),
    ]


def test_without_temporaries_nothing_is_at_the_peak():
    assert buffers.read(TEXT.partition("allocation 5")[0]).peak() == []
