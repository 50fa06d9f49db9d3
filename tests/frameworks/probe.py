"""Uses one framework as a cell does, on the FFN, and prints what a test wants to know, as JSON.

`python probe.py FRAMEWORK` runs in that environment.
"""

import json
import re
import sys
from pathlib import Path

import numpy as np

from stackwars.measure import frameworks, workloads
from stackwars.measure.child import surroundings

SIZES = {
    "small": {"batch": 4, "sequence": 8, "features": 32, "hidden": 64},
    # Weights and inputs of 8 MiB, for which NumPy by itself asks for huge pages.
    "memory": {"batch": 64, "sequence": 64, "features": 512, "hidden": 4096},
}
SEED = 5
ffn = workloads.load("ffn")
IN_MEMORY = ("jax", "numpy", "tensorflow_xla", "torch_eager", "torchax")
"""Frameworks whose arrays have an address."""
WITH_FORMS = ("jax", "torch_inductor")


def session(framework: str, sizes: dict[str, int]):
    """A session that has built and settled the FFN."""
    module = frameworks.load(framework)
    used = module.Session("cpu", "highest")
    used.build(workloads.build(ffn, module.DIALECT), sizes, SEED, ffn.input_sets(sizes, SEED))
    used.settle()
    return used


def compiled(used, which: int) -> int:
    """How many executables a fenced call on this set of inputs builds."""
    before = used.counters()
    used.fence(used.call(which))
    return used.counters().since(before).compiles


def torch_threads() -> int | None:
    """Threads of PyTorch's own operations; None where it is not used."""
    return sys.modules["torch"].get_num_threads() if "torch" in sys.modules else None


def allows_tf32() -> bool | None:
    """Whether PyTorch's convolutions may round to TF32 on a GPU; None where it is not used."""
    return sys.modules["torch"].backends.cudnn.allow_tf32 if "torch" in sys.modules else None


def leaves(value) -> list:
    """The arrays in nested dictionaries and lists."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for one in value for leaf in leaves(one)]
    return [value]


def address(leaf) -> int:
    for name in ("data_ptr", "unsafe_buffer_pointer"):
        if hasattr(leaf, name):
            return getattr(leaf, name)()
    if hasattr(leaf, "read_value"):
        leaf = leaf.read_value()
    return np.asarray(memoryview(leaf)).ctypes.data


def huge_kb(place: int) -> int | None:
    """How much of the mapping that has this address is in huge pages."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(found[1], 16) <= place < int(found[2], 16)
        elif inside and line.startswith("AnonHugePages:"):
            return int(line.split()[1])
    return None


def memory(framework: str) -> list[tuple[int, int | None]]:
    """(offset to 64 bytes, KiB in huge pages) of each weight and input."""
    used = session(framework, SIZES["memory"])
    weights = list(used._module.parameters()) if hasattr(used, "_module") else used._parameters
    places = map(address, leaves([weights, used._inputs]))
    return [(place % 64, huge_kb(place)) for place in places]


def small(framework: str) -> dict:
    """What each verb does, on small sizes."""
    used = session(framework, SIZES["small"])
    before = used.counters()
    first = used.call(0)
    used.fence(first)
    done = used.counters().since(before)
    values = used.fetch(first)
    others = [compiled(used, which) for which in (1, 0, 1)]
    again = used.call(0)
    used.fence(again)
    other = used.call(1)
    used.fence(other)
    generated = used.generated() if hasattr(used, "generated") else {}
    text = used.stablehlo()
    after_text = compiled(used, 1)
    forms = used.forms() if framework in WITH_FORMS else {}
    back = used.fetch(used.put(np.arange(6, dtype=np.float32).reshape(2, 3)))
    return {
        "compiles": [done.compiles, *others],
        "compiles_after_stablehlo": after_text,
        "generated": generated,
        "forms": forms,
        "torch_threads": torch_threads(),
        "allows_tf32": allows_tf32(),
        "loaded": [name for name in ("jax", "torch_xla", "tensorflow") if name in sys.modules],
        "compile_s": done.compile_s,
        "trace_s": done.trace_s,
        "cache_hits": used.counters().cache_hits,
        "values": [values.tolist(), used.fetch(other).tolist()],
        "same": bool(np.array_equal(values, used.fetch(again))),
        "dtype": str(values.dtype),
        "put": back.tolist(),
        "stablehlo": text,
        "device_kind": used.device_kind(),
        "versions": used.versions(),
        "xla_flags": surroundings()["xla_flags"].split(),
        "memory": memory(framework) if framework in IN_MEMORY else None,
    }


if __name__ == "__main__":
    print(json.dumps(small(sys.argv[1])))
