"""Time one product in torch_xla 2.9.0 or JAX 0.7.1 as XLA would compute it on another processor; see docs/gemm.md.

    PYTHONPATH=src ENVIRONMENT/bin/python docs/examples/gemm_kernel.py jax|torch_xla own|milan M,K,N

`milan` changes this process's memory: XLA takes this processor (Zen 5) for an AMD Milan, and XNNPACK uses AVX2. Linux
on x86-64; needs `nm`. Prints milliseconds of CPU time a call, since another process cannot lengthen those much.
"""

import ctypes
import importlib
import mmap
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from stackwars.measure import workloads

BELOW_AVX512 = 0x3F
"""Bits of XNNPACK's `arch_flags` up to AVX2, which lie 8 bytes into its `hardware_config`."""
CALLS, BLOCKS = 16, 25


def loaded() -> tuple[str, int]:
    """Return the library that contains XLA, and its address in this process."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith(".so") and ("_XLAC." in line or "libjax_common" in line):
            return line.split()[-1], int(line.split("-")[0], 16)
    raise LookupError(
        "expected XLA to be loaded, got no library of it; fix: use the environment of JAX or torch_xla"
    )


def pretend_milan() -> None:
    """Have XLA compare this processor's name, znver5, where it compares with znver3."""
    library, base = loaded()
    symbols = {}
    for line in subprocess.run(["nm", "-S", library], capture_output=True, text=True).stdout.splitlines():
        fields = line.split()
        if len(fields) == 4:
            symbols[fields[3]] = base + int(fields[0], 16), int(fields[1], 16)
    name = next(s for s in symbols if "XnnGemmConfig8Evaluate" in s and not s.endswith(".cold"))
    start, size = symbols[name]
    page = start - start % mmap.PAGESIZE
    libc = ctypes.CDLL(None)
    everything = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    assert libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(start + size - page), everything) == 0
    code = (ctypes.c_ubyte * size).from_address(start)
    place = bytes(code).index(b"r3")  # the end of "znver3", in an instruction that compares
    code[place + 1] = ord("5")
    ctypes.CFUNCTYPE(ctypes.c_void_p)(symbols["xnn_init_hardware_config"][0])()
    ctypes.c_uint64.from_address(symbols["hardware_config"][0] + 8).value &= BELOW_AVX512


def main() -> None:
    """Build the product, pretend if asked, and time fenced calls."""
    framework, processor, sides = sys.argv[1:]
    sizes = dict(zip("mkn", map(int, sides.split(",")), strict=True))
    gemm, module = workloads.load("gemm"), importlib.import_module(f"stackwars.measure.frameworks.{framework}")
    session = module.Session("cpu", "highest")
    if processor == "milan":
        pretend_milan()
    session.build(workloads.build(gemm, module.DIALECT), sizes, 2025, gemm.input_sets(sizes, 2025))
    session.settle()
    outputs, blocks = [None, None], []
    for _ in range(BLOCKS):
        start = time.process_time()
        for number in range(CALLS):
            output = session.call(number % 2)
            session.fence(output)
            outputs[number % 2] = output
        blocks.append((time.process_time() - start) / CALLS * 1e3)
    print(
        f"{framework} {processor} {sides}: {statistics.median(blocks):.2f} ms, least {min(blocks):.2f}",
        flush=True,
    )
    os._exit(0)


main()
