"""Write a program as every release of a compiler can read it: a portable artifact, its arguments, its expected values.

StableHLO guarantees for five years that a portable artifact of an earlier version can be read. The artifact is written
in the oldest version that has all of the program's operations, at best 1.0.0. CHLO has no such guarantee and is
legalised first; the error function becomes the custom call under which all of XLA's releases know it.

Runs in the environment of the compiler that judges: the newest XLA.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from stackwars.compilers import arguments, placement
from stackwars.compilers.arguments import OUTPUT, Entry, Types
from stackwars.compilers.evaluate import Program, unit_roundoff
from stackwars.compilers.expected import MARGIN, NOTHING, least_limit, outputs, worst_error
from stackwars.compilers.iree import rewritten
from stackwars.compilers.xla import Compiler
from stackwars.explain.question import drawn
from stackwars.ir import program_text
from stackwars.ir.program_text import LEGALISE, missing_reason, not_donated, readable
from stackwars.measure import documents, judge
from stackwars.workloads.base import INPUT_SETS

ARTIFACT, DOCUMENT, EXPECTED = "program.bin", "program.json", "expected"
"""The artifact, what is known of it, and the folder of the expected values of a program without a workload."""
_ERF = re.compile(r"chlo\.erf (%[\w#]+) : (tensor<\S+>) -> (tensor<\S+>)")
_CUSTOM_ERF = r"stablehlo.custom_call @mhlo.erf(\1) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (\2) -> \3"


def write(job: dict[str, Any], folder: Path) -> None:
    """Write a program's artifact, arguments and program.json. job: the fields of `releases.ReleasesJob`."""
    text = program_text.read(Path(job["program"]))
    if why := missing_reason(text):
        raise ValueError(why)
    artifact, version = portable(for_iree(text) if job["project"] == "iree" else for_xla(text))
    (folder / ARTIFACT).write_bytes(artifact)
    types, count = main_types(text)
    if job["arguments"]:
        document, entries = arguments.load(Path(job["arguments"]))
        buffers = placed(types, entries, document)
        results = document.get("results", [{"name": OUTPUT}])
    else:
        buffers = [
            [drawn(*kind, number, job["seed"] + which) for number, kind in enumerate(types)]
            for which in range(2)
        ]
        results = [{"name": name} for name in judge.output_names(count)]
    document = {"version": version, "arguments": dump(buffers, folder), "results": results}
    documents.write(folder / DOCUMENT, document)
    if not job["expected"]:
        try:
            judge.write(folder / EXPECTED, *evaluated(text, buffers, results))
        except Exception as error:
            write_no_judge(
                folder, f"the reference evaluation failed: {type(error).__name__}: {str(error)[:300]}"
            )


def write_no_judge(folder: Path, reason: str) -> None:
    """Write that there are no expected values, and why."""
    judge.write(folder / EXPECTED, {}, {"schema": 1, **NOTHING, "reason": reason})


def portable(text: str) -> tuple[bytes, str]:
    """Return the artifact of a program, and the version of StableHLO that it is in.

    :raises ValueError: with what MLIR says if it is in no version.
    """
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir, passmanager
    from jaxlib.mlir.dialects import stablehlo

    stablehlo.register_stablehlo_passes()
    said = ""
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        passmanager.PassManager.parse(LEGALISE).run(module.operation)
        for minor in range(int(stablehlo.get_current_version().split(".")[1]) + 1):
            version = f"1.{minor}.0"
            try:
                return stablehlo.serialize_portable_artifact(module, version), version
            except Exception as error:
                said = str(error)
    raise ValueError(f"expected operations of StableHLO, got {said}; fix: legalise or replace them")


def for_xla(text: str) -> str:
    """Return the program as releases of jaxlib get it."""
    return _ERF.sub(_CUSTOM_ERF, readable(not_donated(text)))


def for_iree(text: str) -> str:
    """Return the program as releases of IREE get it, which refuse the custom call of the error function."""
    return readable(not_donated(rewritten(text)))


def main_types(text: str) -> tuple[Types, int]:
    """Return the types of a program's arguments, and how many results it has."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir

    with mlir.make_ir_context():
        return arguments.signature(ir.Module.parse(readable(text)), ir)


def placed(types: Types, entries: list[Entry], document: dict[str, Any]) -> list[list[np.ndarray]]:
    """Return the arguments of a workload's program for each set of inputs. document: of its arguments.json."""
    # In the place of a compiled program: `placement.place` fills its buffers with arrays.
    program = SimpleNamespace(types=types, buffers=[[None] * len(types) for _ in range(INPUT_SETS)])
    spec = {key: document[key] for key in ("workload", "sizes")} | {"settings": {"seed": document["seed"]}}
    placement.place({"": program}, {"": entries}, spec, lambda array: array)
    return program.buffers


def evaluated(text: str, buffers: list[list[np.ndarray]], results: list[dict]) -> tuple[dict, dict[str, Any]]:
    """Return (expected values by key, their document) of a program without a workload, as `compilers.expected` does."""
    program, document = Program(text), {"results": results}
    exact, by = outputs(program, document, buffers, double=True)
    rounded, _ = outputs(program, document, buffers[:1], double=False)
    least = least_limit(unit_roundoff(text), program.accumulation)
    limits = {
        key: max(least, MARGIN * worst_error(rounded.get(key, value), value)) for key, value in exact.items()
    }
    return exact, {"schema": 1, **NOTHING, "judge": by, "limits": limits}


def dump(buffers: list[list[np.ndarray]], folder: Path) -> list[list[str]]:
    """Write arguments, each array once; return their files for each set of inputs."""
    written: dict[int, str] = {}
    for array in (array for values in buffers for array in values):
        if id(array) not in written:
            path = folder / f"argument-{len(written)}.npy"
            np.save(path, np.ascontiguousarray(array).reshape(array.shape))
            written[id(array)] = str(path)
    return [[written[id(array)] for array in values] for values in buffers]


def main() -> None:
    """`python -m stackwars.explain.release_program --job FILE --output DIR`."""
    options = documents.parse_arguments(main.__doc__, "job", "output")
    options.output.mkdir(parents=True, exist_ok=True)
    Compiler("cpu", {})
    try:
        write(documents.read(options.job), options.output)
    except Exception as error:
        documents.write(options.output / DOCUMENT, {"reason": f"{type(error).__name__}: {error}"[:2000]})


if __name__ == "__main__":
    main()
