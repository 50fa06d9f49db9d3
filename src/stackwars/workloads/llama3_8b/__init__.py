"""LLaMA-3.1 8B (Grattafiori et al., 2024) with its language-model head: the logits."""

import numpy as np

from stackwars.workloads import counts, shapes, values

TITLE, TABLE, KIND, ITEM, ORDER = "LLaMA-3.1 8B", "III", "model", "sequences", 230
SIZES = {
    "batch": "sequences in a call",
    "sequence": "tokens in a sequence",
    "layers": "transformer layers",
    "hidden": "width of the hidden state; a multiple of heads",
    "heads": "heads of the queries; a multiple of kv_heads",
    "kv_heads": "heads of keys and values",
    "intermediate": "width inside the feed-forward block",
    "vocabulary": "rows of the table of word embeddings and of the head",
    "positions": "longest sequence that the model takes",
}
TENSOR_PARALLEL = {
    **dict.fromkeys(("q_proj.weight", "k_proj.weight", "v_proj.weight"), 0),
    **dict.fromkeys(("gate_proj.weight", "up_proj.weight", "lm_head.weight"), 0),
    **dict.fromkeys(("o_proj.weight", "down_proj.weight", "embed_tokens.weight"), 1),
}
ROPE_THETA = 500_000.0
ROPE_SCALING = {  # of the published model's configuration
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """Token ids (batch, sequence), int32."""
    shape = (sizes["batch"], sizes["sequence"])
    return {"input_ids": values.tokens("input_ids", shape, seed, sizes["vocabulary"])}


def items(sizes: dict[str, int]) -> int:
    """Sequences in a call."""
    return sizes["batch"]


def hf_config(sizes: dict[str, int]) -> dict:
    """Keywords of transformers' LlamaConfig."""
    return {
        "vocab_size": sizes["vocabulary"],
        "hidden_size": sizes["hidden"],
        "num_hidden_layers": sizes["layers"],
        "num_attention_heads": sizes["heads"],
        "num_key_value_heads": sizes["kv_heads"],
        "intermediate_size": sizes["intermediate"],
        "max_position_embeddings": sizes["positions"],
        "rms_norm_eps": 1e-5,
        "rope_theta": ROPE_THETA,
        "rope_scaling": dict(ROPE_SCALING),
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "use_cache": False,
    }


def parameters(sizes: dict[str, int]) -> shapes.Shapes:
    """Names and shapes of the weights, in torch's layout."""
    width, inner, narrow = sizes["hidden"], sizes["intermediate"], _kv_width(sizes)
    found = shapes.embedding("model.embed_tokens", sizes["vocabulary"], width)
    for layer in range(sizes["layers"]):
        name = f"model.layers.{layer}"
        for part, inputs, outputs in (
            ("self_attn.q_proj", width, width),
            ("self_attn.k_proj", width, narrow),
            ("self_attn.v_proj", width, narrow),
            ("self_attn.o_proj", width, width),
            ("mlp.gate_proj", width, inner),
            ("mlp.up_proj", width, inner),
            ("mlp.down_proj", inner, width),
        ):
            found |= shapes.linear(f"{name}.{part}", inputs, outputs, bias=False)
        found[f"{name}.input_layernorm.weight"] = (width,)
        found[f"{name}.post_attention_layernorm.weight"] = (width,)
    found["model.norm.weight"] = (width,)
    return found | shapes.linear("lm_head", width, sizes["vocabulary"], bias=False)


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights."""
    return counts.values(parameters(sizes))


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of the matrix products of a call; a multiply-add is two."""
    batch, sequence, width = sizes["batch"], sizes["sequence"], sizes["hidden"]
    rows = batch * sequence
    layer = 2 * counts.matmul(rows, width, width + _kv_width(sizes))
    layer += counts.attention(batch, sequence, sequence, width)
    layer += 3 * counts.matmul(rows, width, sizes["intermediate"])
    return sizes["layers"] * layer + counts.matmul(rows, width, sizes["vocabulary"])


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of weights, input and output, each once; of the embeddings' table the rows in use."""
    tokens = sizes["batch"] * sizes["sequence"]
    unread = counts.unread(sizes["vocabulary"], tokens, sizes["hidden"])
    return 4 * (parameter_count(sizes) - unread + tokens + tokens * sizes["vocabulary"])


def _kv_width(sizes: dict[str, int]) -> int:
    return sizes["hidden"] // sizes["heads"] * sizes["kv_heads"]
