"""GPT-Neo 1.3B (Black et al., 2021) with its language-model head: the logits of all positions.

Layers 1, 3, ... attend to a window of preceding tokens only. Attention scores are not scaled.
"""

import numpy as np

from stackwars.workloads import counts, shapes, values

TITLE, TABLE, KIND, ITEM, ORDER = "GPT-Neo 1.3B", "III", "model", "sequences", 220
SIZES = {
    "batch": "sequences in a call",
    "sequence": "tokens in a sequence",
    "layers": "transformer layers",
    "hidden": "width of the hidden state; a multiple of heads",
    "heads": "attention heads",
    "intermediate": "width inside the feed-forward block",
    "vocabulary": "rows of the table of word embeddings, which is the head too",
    "positions": "rows of the table of position embeddings; at least sequence",
    "window": "tokens that a local layer attends to",
}


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """Token ids (batch, sequence), int32."""
    shape = (sizes["batch"], sizes["sequence"])
    return {"input_ids": values.tokens("input_ids", shape, seed, sizes["vocabulary"])}


def items(sizes: dict[str, int]) -> int:
    """Sequences in a call."""
    return sizes["batch"]


def attention_kinds(sizes: dict[str, int]) -> list[str]:
    """The kind of attention of each layer."""
    return ["local" if layer % 2 else "global" for layer in range(sizes["layers"])]


def hf_config(sizes: dict[str, int]) -> dict:
    """Keywords of transformers' GPTNeoConfig."""
    return {
        "vocab_size": sizes["vocabulary"],
        "hidden_size": sizes["hidden"],
        "num_layers": sizes["layers"],
        "num_heads": sizes["heads"],
        "intermediate_size": sizes["intermediate"],
        "max_position_embeddings": sizes["positions"],
        "window_size": sizes["window"],
        "attention_types": [[attention_kinds(sizes), 1]],
        "activation_function": "gelu_new",
        "use_cache": False,
    }


def parameters(sizes: dict[str, int]) -> shapes.Shapes:
    """Names and shapes of the weights, in torch's layout."""
    width, inner = sizes["hidden"], sizes["intermediate"]
    found = shapes.embedding("transformer.wte", sizes["vocabulary"], width)
    found |= shapes.embedding("transformer.wpe", sizes["positions"], width)
    for layer in range(sizes["layers"]):
        name = f"transformer.h.{layer}"
        found |= shapes.norm(f"{name}.ln_1", width)
        for part in ("q_proj", "k_proj", "v_proj"):
            found |= shapes.linear(f"{name}.attn.attention.{part}", width, width, bias=False)
        found |= shapes.linear(f"{name}.attn.attention.out_proj", width, width)
        found |= shapes.norm(f"{name}.ln_2", width)
        found |= shapes.linear(f"{name}.mlp.c_fc", width, inner)
        found |= shapes.linear(f"{name}.mlp.c_proj", inner, width)
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
