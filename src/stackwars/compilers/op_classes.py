"""The class of work of each operation of an optimised program, and which operations share a kernel.

Standard library only: it runs in a compiler's environment, and the tables name the classes by it.
"""

from __future__ import annotations

import re

from stackwars.compilers.hlo import CALLS, Instruction, Module, read
from stackwars.compilers.hlo_facts import FORWARDS, LAYOUT

PRODUCTS, TRANSPOSES, REDUCTIONS = "products", "transposes", "reductions"
ELEMENTWISE, LIBRARY, DISPATCH = "elementwise", "library", "dispatch"
CLASSES: dict[str, str] = {
    PRODUCTS: "products and convolutions",
    TRANSPOSES: "transposes and copies",
    REDUCTIONS: "reductions and norms",
    ELEMENTWISE: "elementwise",
    LIBRARY: "other library calls",
    DISPATCH: "dispatch",
}
"""Name of a class -> what a reader calls it. Dispatch is what of a call no operation takes."""

_PRODUCTS = {"dot", "convolution", "ragged-dot"}
_REDUCTIONS = {"reduce", "reduce-window", "select-and-scatter"}
_REDUCTIONS |= {"batch-norm-training", "batch-norm-inference"}
_MOVES = {*LAYOUT, "slice", "concatenate", "pad", "reverse", "gather", "dynamic-slice"}
_MOVES |= {"dynamic-update-slice", "copy-start", "copy-done"}
_LIBRARY = {"custom-call", "fft", "cholesky", "triangular-solve", "topk"}
_CONTROL = {"while", "conditional"}
# Library calls that multiply: oneDNN's __onednn$matmul, cuBLAS's __cublas$gemm and the like.
_MULTIPLIES = re.compile(r"matmul|gemm|dot|conv", re.IGNORECASE)
_NORMALISES = re.compile(r"layernorm|batchnorm|softmax|reduce", re.IGNORECASE)

FUSED, APART, IN_PART = "fused", "apart", "in part"
KINDS = {
    **dict.fromkeys(("dot_general", "mm", "addmm", "bmm", "baddbmm"), "product"),
    **dict.fromkeys(("reduce_sum", "sum", "mean", "var_mean"), "sum"),
    "logistic": "sigmoid",
}
"""The names that operations of either program have here; others keep theirs. A mean is a sum; an addmm is a product,
although it adds the bias too."""
_FREE = {*FORWARDS, *LAYOUT, "call", "slice", "concatenate", "pad"}
_OP_NAME = re.compile(r'op_name="(?:[^"]*/)?([\w-]+)"')
_VIEWS = {"view", "reshape", "permute", "expand", "slice", "clone", "cat", "squeeze", "unsqueeze"}
_NODE = re.compile(r"^ +(\w+)(?:: \"[^\"]*\")? = torch\.ops\.aten\.(\w+)", re.MULTILINE)
_KERNEL = re.compile(r"^cpp_fused_(\w+)_\d+ = async_compile", re.MULTILINE)


def class_of(module: Module, instruction: Instruction) -> str:
    """The class of one operation that runs by itself.

    A fusion or a call is classified by all that its body holds: with a product, it is a product (a YNN
    fusion of a dot too), else with a reduction a reduction; where it only moves elements, a transpose; else
    elementwise. A loop's own work is dispatch.
    """
    if instruction.opcode in _CONTROL:
        return DISPATCH
    if instruction.opcode == "custom-call":
        target = instruction.attribute("custom_call_target")
        if _MULTIPLIES.search(target):
            return PRODUCTS
        return REDUCTIONS if _NORMALISES.search(target) else LIBRARY
    kinds = _kinds(module, instruction) - set(FORWARDS)
    if kinds & _PRODUCTS:
        return PRODUCTS
    if kinds & _REDUCTIONS:
        return REDUCTIONS
    if kinds & _LIBRARY:
        return LIBRARY
    return TRANSPOSES if kinds <= _MOVES else ELEMENTWISE


def _kinds(module: Module, instruction: Instruction) -> set[str]:
    """Opcodes of what runs in this operation: of itself, or of the bodies of a fusion or a call."""
    if instruction.opcode not in ("fusion", "call"):
        return {instruction.opcode}
    result: set[str] = set()
    for name in instruction.called:
        for inner in module.computations[name].instructions.values():
            result |= _kinds(module, inner)
    return result


def callers(module: Module) -> dict[str, str]:
    """Operation -> the loop or call in whose body it runs; those of the entry and of fusions have none."""
    result: dict[str, str] = {}
    for computation in module.computations.values():
        for instruction in computation.instructions.values():
            if instruction.opcode in (*CALLS, *_CONTROL):
                for name in instruction.called:
                    inner = module.computations[name].instructions
                    result |= dict.fromkeys(inner, instruction.name)
    return result


def fused_by_xla(text: str) -> dict[str, str]:
    """Kind of operation -> FUSED, APART or IN_PART, from an optimised module of a JAX program.

    An instruction is fused where its fusion also computes an operation of another kind. Instructions that
    only move elements are left out, and those of which XLA does not tell what they come from. Raises
    ValueError for a text that is no HLO module.
    """
    module = read(text)
    kernels = [
        _origins(module, module.inside(i) if i.opcode == "fusion" else [i])
        for name in module.runs
        for i in module.computations[name].instructions.values()
    ]
    return _verdicts(kernels)


def fused_by_inductor(graph: str, code: str) -> dict[str, str]:
    """The same of TorchInductor, from its FX graph and the code whose kernels are named by the graph's nodes.

    A node that no kernel computes is a library's call, and apart. Raises ValueError where there is no node.
    """
    nodes = {name: KINDS.get(op, op) for name, op in _NODE.findall(graph) if op not in _VIEWS}
    if not nodes:
        raise ValueError("expected an FX graph with nodes of torch.ops.aten; got none")
    # add_1 before add, which it begins with.
    names = "|".join(sorted(nodes, key=len, reverse=True))
    result = [re.findall(rf"(?<![^_])({names})(?=_|$)", kernel) for kernel in _KERNEL.findall(code)]
    computed = {name for kernel in result for name in kernel}
    kernels = [[nodes[name] for name in kernel] for kernel in result]
    return _verdicts(kernels + [[nodes[name]] for name in nodes if name not in computed])


def _origins(module: Module, instructions: list[Instruction]) -> list[str]:
    result = [_origin(module, i) for i in instructions if i.opcode not in _FREE]
    return [KINDS.get(name, name) for name in result if name]


def _origin(module: Module, i: Instruction) -> str:
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
        one: IN_PART if len(result) == 2 else FUSED if True in result else APART
        for one, result in sorted(fused.items())
    }
