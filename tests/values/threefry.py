"""Random bits of Threefry-2x32, in unsigned integers (iree-org/iree issue 24927).

The issue says that IREE is wrong; IREE 3.13 is right here, in JAX's loops too. What is judged is exact: 32 bits,
unsigned arguments and results.
"""

import numpy as np

from stackwars.workloads import values
from stackwars.workloads.base import Workload

ISSUE = "iree-org/iree issue 24927"
TITLE = "Random bits"
FAULT_SIZES = {"keys": 2, "bits": 8}
FAULTS = {}
CURE = "not needed"
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA


def rotated(x, count):
    """Return x rotated left; x is signed, so the bits that a right shift repeats are removed."""
    return (x << count) | ((x >> (32 - count)) & ((1 << count) - 1))


def threefry(key, counts):
    """Return the two words of Threefry-2x32 with 20 rounds in int32, whose sums wrap.

    key: the two words of a key; counts: those of what it is applied to.
    """
    words = (*key, key[0] ^ key[1] ^ PARITY)
    first, second = counts[0] + words[0], counts[1] + words[1]
    for step in range(5):
        for count in ROTATIONS[step % 2]:
            first = first + second
            second = rotated(second, count) ^ first
        first = first + words[(step + 1) % 3]
        second = second + words[(step + 2) % 3] + (step + 1)
    return first, second


class Threefry(Workload):
    """`jax.random.bits` of each key."""

    TITLE, TABLE, ORDER = TITLE, "other", 980
    SIZES = {"keys": "keys", "bits": "numbers for each key"}
    INPUTS = {"key": ("keys", 2)}
    OUTPUT = ("keys", "bits")
    NO_FORM = {"tensorflow": "its integers have no operators for bits"}

    def inputs(self, sizes, seed):
        """Return the keys, uint32; odd factors spread their values over all bits."""
        keys = values.tokens("key", (sizes["keys"], 2), seed, 2**31 - 1)
        return {"key": keys.astype(np.uint32) * np.uint32(2654435769)}

    def reference(self, weights, inputs, bits=FAULT_SIZES["bits"]):
        key = inputs["key"].view(np.int32)
        count = np.arange(bits, dtype=np.int32)
        first, second = threefry((key[:, :1], key[:, 1:]), (np.zeros_like(count), count))
        return (first ^ second).view(np.uint32)

    def in_jax(self, sizes, jax, weights, key):
        return jax.vmap(lambda one: jax.random.bits(one, (sizes["bits"],)))(key)

    def in_numpy(self, sizes, weights, key):
        return self.reference(weights, {"key": key}, sizes["bits"])

    def in_torch(self, sizes, torch):
        class Module(torch.nn.Module):
            def forward(self, key):
                key = key.to(torch.int32)
                count = torch.arange(sizes["bits"], dtype=torch.int32, device=key.device)
                first, second = threefry((key[:, :1], key[:, 1:]), (torch.zeros_like(count), count))
                return (first ^ second).to(torch.uint32)

        return Module()


WORKLOAD = Threefry()
