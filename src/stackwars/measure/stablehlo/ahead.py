"""The process that compiles one program for one absent device.

It runs in a compiler's environment (NumPy and JAX) and appends each finding to an event file: a compiler may end its
process at any point, and earlier findings stand.
"""

from __future__ import annotations

import os
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from stackwars.core import documents, program_text
from stackwars.core.compilers import function_type
from stackwars.core.documents import Events

PACKAGES = ("jax", "jaxlib", "libtpu", "jax-cuda12-pjrt", "nvidia-cuda-nvcc-cu12")


def compile_ahead(spec: dict, events: Events) -> None:
    """Compile `spec["program"]` (.mlir or .mlir.gz) for `spec["target_row"]`."""
    events.write("import")
    devices = open_target(spec["target_row"])
    events.write("open", device_kind=devices[0].device_kind, versions=versions())
    text = program_text.read(Path(spec["program"]))
    events.write("compile")
    start = time.perf_counter()
    try:
        executable = compile_for(devices, text)
    finally:
        events.write("compile_end", seconds=time.perf_counter() - start)
    code_bytes = executable.get_compiled_memory_stats().generated_code_size_in_bytes
    events.write("accepted", code_bytes=code_bytes)


def open_target(row: dict) -> list[Any]:
    """Return the devices of a target's row, which only compile: one, or the chips of a slice.

    A TPU: {platform: tpu, topology: "v6e:2x2"}, compiled for by libtpu. A GPU: {platform: cuda, topology: "1x1x1",
    description: h100.txtpb}, compiled for by JAX's CUDA plugin, with a description in this folder; needs ptxas. JAX
    raises its own error for an unknown topology.
    """
    from jax.experimental import topologies

    if row["platform"] == "cuda":
        topology = topologies.get_topology_desc(
            platform="cuda",
            topology_name="",
            target_config=(Path(__file__).parent / row["description"]).read_text(),
            topology=row["topology"],
        )
        return list(topology.devices)
    extents = [int(e) for e in row["topology"].partition(":")[2].split("x")]
    topology = topologies.get_topology_desc(
        platform=row["platform"],
        topology_name=row["topology"],
        # One host has all chips: the topology's extents, padded to three.
        chips_per_host_bounds=[*extents, 1, 1][:3],
    )
    return list(topology.devices)


def compile_for(devices: list[Any], text: str) -> Any:
    """Return the executable of a StableHLO program, divided among the devices as it says.

    Errors of the parser and the compiler pass through. jaxlib 0.7.1 takes the module's bytecode, 0.10.2 the module.
    """
    from jax.interpreters import mlir
    from jaxlib import _jax
    from jaxlib.mlir import ir

    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        options = _jax.CompileOptions()
        options.num_replicas, options.num_partitions = 1, len(devices)
        build = options.executable_build_options
        if len(devices) > 1:
            build.use_spmd_partitioning = True
            # Both frameworks request this: updated arrays stay divided, and are not gathered at the end of a call.
            results = function_type(module, ir).results
            build.allow_spmd_sharding_propagation_to_output = [True] * len(results)
        # JAX writes divisions in Shardy's dialect; others write them for GSPMD.
        build.use_shardy_partitioner = "sdy." in text
        assigned = np.array([[device.id for device in devices]])
        options.device_assignment = _jax.DeviceAssignment.create(assigned)
        client, devices = devices[0].client, _jax.DeviceList(tuple(devices))
        if tuple(int(n) for n in metadata.version("jaxlib").split(".")[:2]) < (0, 8):
            return client.compile(mlir.module_to_bytecode(module), devices, options)
        return client.compile(module, devices, options)


def versions() -> dict[str, str]:
    """Return the versions of the compiling packages, {package: version}."""
    result = {}
    for package in PACKAGES:
        try:
            result[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return result


def main() -> None:
    """Run `python -m stackwars.measure.stablehlo.ahead FOLDER`: read FOLDER/spec.json, write FOLDER/events.jsonl."""
    folder = Path(sys.argv[1])
    events = Events(folder / "events.jsonl")
    spec = documents.read(folder / "spec.json")
    try:
        compile_ahead(spec, events)
    except BaseException as error:
        events.write("raised", type=type(error).__name__, message=str(error))
        sys.stdout.flush()
        os._exit(1)
    events.write("end")
    # The runtime's own shutdown waits for threads that an absent device never answers.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
