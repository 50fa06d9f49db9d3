"""Random bits of Threefry-2x32, in unsigned integers (iree-org/iree issue 24927).

The issue says that IREE is wrong; IREE 3.13 is right here, in JAX's loops too. What is judged is exact: 32 bits,
unsigned arguments and results.
"""

import numpy as np

ISSUE = "iree-org/iree issue 24927"
TITLE = "Random bits"
FAULTS = {}
CURE = "not needed"
ORDER = 980
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA
BITS = 8
"""Numbers for each key."""


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


def inputs(keys=2):
    return {"key": ("uint32", (keys, 2), 2**32)}


def jax(key):
    from jax import random, vmap

    return vmap(lambda one: random.bits(one, (BITS,)))(key)


def torch(key):
    import torch

    key = key.to(torch.int32)
    count = torch.arange(BITS, dtype=torch.int32, device=key.device)
    first, second = threefry((key[:, :1], key[:, 1:]), (torch.zeros_like(count), count))
    return (first ^ second).to(torch.uint32)


def numpy(key):
    key, count = key.view(np.int32), np.arange(BITS, dtype=np.int32)
    first, second = threefry((key[:, :1], key[:, 1:]), (np.zeros_like(count), count))
    return (first ^ second).view(np.uint32)
