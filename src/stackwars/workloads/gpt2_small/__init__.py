"""GPT-2 small (Radford et al., 2019) with its language-model head: the logits of all positions."""

import numpy as np

from stackwars.workloads import counts, shapes, values

TITLE, TABLE, KIND, ITEM, ORDER = "GPT-2 small", "II", "model", "sequences", 120
SIZES = {
    "batch": "sequences in a call",
    "sequence": "tokens in a sequence",
    "layers": "transformer layers",
    "hidden": "width of the hidden state; a multiple of heads",
    "heads": "attention heads",
    "intermediate": "width inside the feed-forward block",
    "vocabulary": "rows of the table of word embeddings, which is the head too",
    "positions": "rows of the table of position embeddings; at least sequence",
}


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """Token ids (batch, sequence), int32."""
    shape = (sizes["batch"], sizes["sequence"])
    return {"input_ids": values.tokens("input_ids", shape, seed, sizes["vocabulary"])}


def items(sizes: dict[str, int]) -> int:
    """Sequences in a call."""
    return sizes["batch"]


def hf_config(sizes: dict[str, int]) -> dict:
    """Keywords of transformers' GPT2Config."""
    return {
        "vocab_size": sizes["vocabulary"],
        "n_embd": sizes["hidden"],
        "n_layer": sizes["layers"],
        "n_head": sizes["heads"],
        "n_inner": sizes["intermediate"],
        "n_positions": sizes["positions"],
        "activation_function": "gelu_new",
        "use_cache": False,
    }


def parameters(sizes: dict[str, int]) -> shapes.Shapes:
    """Names and shapes of the weights; this model's torch layout is (inputs, outputs)."""
    width, inner = sizes["hidden"], sizes["intermediate"]
    found = shapes.embedding("transformer.wte", sizes["vocabulary"], width)
    found |= shapes.embedding("transformer.wpe", sizes["positions"], width)
    for layer in range(sizes["layers"]):
        name = f"transformer.h.{layer}"
        found |= shapes.norm(f"{name}.ln_1", width)
        found |= _linear(f"{name}.attn.c_attn", width, 3 * width)
        found |= _linear(f"{name}.attn.c_proj", width, width)
        found |= shapes.norm(f"{name}.ln_2", width)
        found |= _linear(f"{name}.mlp.c_fc", width, inner)
        found |= _linear(f"{name}.mlp.c_proj", inner, width)
    return found | shapes.norm("transformer.ln_f", width)


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights; the head is the table of word embeddings and counts once."""
    return counts.values(parameters(sizes))


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of the matrix products of a call; a multiply-add is two."""
    s = sizes
    layer = counts.encoder(s["batch"], s["sequence"], s["hidden"], s["intermediate"])
    head = counts.matmul(s["batch"] * s["sequence"], s["hidden"], s["vocabulary"])
    return s["layers"] * layer + head


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of weights, input and output, each once; of the positions' table the rows in use."""
    tokens = sizes["batch"] * sizes["sequence"]
    unread = counts.unread(sizes["positions"], sizes["sequence"], sizes["hidden"])
    return 4 * (parameter_count(sizes) - unread + tokens + tokens * sizes["vocabulary"])


def _linear(name: str, inputs: int, outputs: int) -> shapes.Shapes:
    return {f"{name}.weight": (inputs, outputs), f"{name}.bias": (outputs,)}
