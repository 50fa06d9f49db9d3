"""Which operations of a program a compiler computes in one kernel with others: XLA and TorchInductor.

An operation is named as its program names it: a primitive of the jaxpr, an ATen operation of the FX graph.
KINDS has the names of those that both have under different ones.
"""

from __future__ import annotations

import re

from stackwars.compilers import hlo
from stackwars.compilers.hlo_facts import FORWARDS, LAYOUT

FUSED, APART, IN_PART = "fused", "apart", "in part"
KINDS = {
    **dict.fromkeys(("dot_general", "mm", "addmm", "bmm", "baddbmm"), "product"),
    **dict.fromkeys(("reduce_sum", "sum", "mean", "var_mean"), "sum"),
    "logistic": "sigmoid",
}
"""A mean is a sum; an addmm is a product, although it adds the bias too."""
_MOVES = {*FORWARDS, *LAYOUT, "call", "slice", "concatenate", "pad"}
_OP_NAME = re.compile(r'op_name="(?:[^"]*/)?([\w-]+)"')
_VIEWS = {"view", "reshape", "permute", "expand", "slice", "clone", "cat", "squeeze", "unsqueeze"}
_NODE = re.compile(r"^ +(\w+)(?:: \"[^\"]*\")? = torch\.ops\.aten\.(\w+)", re.MULTILINE)
_KERNEL = re.compile(r"^cpp_fused_(\w+)_\d+ = async_compile", re.MULTILINE)


def by_xla(text: str) -> dict[str, str]:
    """Kind of operation -> FUSED, APART or IN_PART, from an optimised module of a JAX program.

    An instruction is fused where its fusion also computes an operation of another kind. Instructions that
    only move elements are left out, and those of which XLA does not tell what they come from. Raises
    ValueError for a text that is no HLO module.
    """
    module = hlo.read(text)
    kernels = [
        _kinds(module, module.inside(i) if i.opcode == "fusion" else [i])
        for name in module.runs
        for i in module.computations[name].instructions.values()
    ]
    return _verdicts(kernels)


def by_inductor(graph: str, code: str) -> dict[str, str]:
    """The same of TorchInductor, from its FX graph and the code whose kernels are named by the graph's nodes.

    A node that no kernel computes is a library's call, and apart. Raises ValueError where there is no node.
    """
    nodes = {name: kind(op) for name, op in _NODE.findall(graph) if op not in _VIEWS}
    if not nodes:
        raise ValueError("expected an FX graph with nodes of torch.ops.aten; got none")
    # add_1 before add, which it begins with.
    names = "|".join(sorted(nodes, key=len, reverse=True))
    found = [re.findall(rf"(?<![^_])({names})(?=_|$)", kernel) for kernel in _KERNEL.findall(code)]
    computed = {name for kernel in found for name in kernel}
    kernels = [[nodes[name] for name in kernel] for kernel in found]
    return _verdicts(kernels + [[nodes[name]] for name in nodes if name not in computed])


def kind(operation: str) -> str:
    """The name that an operation has here, whichever program it is of."""
    return KINDS.get(operation, operation)


def _kinds(module: hlo.Module, instructions: list[hlo.Instruction]) -> list[str]:
    found = [_origin(module, i) for i in instructions if i.opcode not in _MOVES]
    return [kind(name) for name in found if name]


def _origin(module: hlo.Module, i: hlo.Instruction) -> str:
    """The primitive that the instruction comes from; of a reduction also told by what it applies."""
    applied = [module.computations[name].root for name in i.called if i.opcode != "fusion"]
    op_names = (_OP_NAME.search(one.attributes) for one in (i, *applied))
    return next((match.group(1) for match in op_names if match), "")


def _verdicts(kernels: list[list[str]]) -> dict[str, str]:
    """Kind -> verdict; kernels: the kinds of what each computes, once for each operation."""
    fused: dict[str, set[bool]] = {}
    for kinds in kernels:
        for one in kinds:
            fused.setdefault(one, set()).add(len(set(kinds)) > 1)
    return {
        one: IN_PART if len(found) == 2 else FUSED if True in found else APART
        for one, found in sorted(fused.items())
    }
