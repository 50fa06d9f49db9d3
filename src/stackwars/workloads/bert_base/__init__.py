"""BERT-Base (Devlin et al., 2019), the encoder without its pooler: the last hidden state."""

import numpy as np

from stackwars.workloads import counts, shapes, values

TITLE, TABLE, KIND, ITEM, ORDER = "BERT-Base", "II", "model", "sequences", 110
SIZES = {
    "batch": "sequences in a call",
    "sequence": "tokens in a sequence",
    "layers": "transformer layers",
    "hidden": "width of the hidden state; a multiple of heads",
    "heads": "attention heads",
    "intermediate": "width inside the feed-forward block",
    "vocabulary": "rows of the table of word embeddings",
    "positions": "rows of the table of position embeddings; at least sequence",
}
TOKEN_TYPES = 2


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """Token ids (batch, sequence), int32."""
    shape = (sizes["batch"], sizes["sequence"])
    return {"input_ids": values.tokens("input_ids", shape, seed, sizes["vocabulary"])}


def items(sizes: dict[str, int]) -> int:
    """Sequences in a call."""
    return sizes["batch"]


def hf_config(sizes: dict[str, int]) -> dict:
    """Keywords of transformers' BertConfig."""
    return {
        "vocab_size": sizes["vocabulary"],
        "hidden_size": sizes["hidden"],
        "num_hidden_layers": sizes["layers"],
        "num_attention_heads": sizes["heads"],
        "intermediate_size": sizes["intermediate"],
        "max_position_embeddings": sizes["positions"],
        "type_vocab_size": TOKEN_TYPES,
        "pad_token_id": None,  # with one, the torch model reads token ids back to look for it
        "hidden_act": "gelu",
    }


def parameters(sizes: dict[str, int]) -> shapes.Shapes:
    """Names and shapes of the weights, in torch's layout."""
    width, inner = sizes["hidden"], sizes["intermediate"]
    found = shapes.embedding("embeddings.word_embeddings", sizes["vocabulary"], width)
    found |= shapes.embedding("embeddings.position_embeddings", sizes["positions"], width)
    found |= shapes.embedding("embeddings.token_type_embeddings", TOKEN_TYPES, width)
    found |= shapes.norm("embeddings.LayerNorm", width)
    for layer in range(sizes["layers"]):
        name = f"encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            found |= shapes.linear(f"{name}.attention.self.{part}", width, width)
        found |= shapes.linear(f"{name}.attention.output.dense", width, width)
        found |= shapes.norm(f"{name}.attention.output.LayerNorm", width)
        found |= shapes.linear(f"{name}.intermediate.dense", width, inner)
        found |= shapes.linear(f"{name}.output.dense", inner, width)
        found |= shapes.norm(f"{name}.output.LayerNorm", width)
    return found


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights."""
    return counts.values(parameters(sizes))


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of the matrix products of a call; a multiply-add is two."""
    s = sizes
    return s["layers"] * counts.encoder(s["batch"], s["sequence"], s["hidden"], s["intermediate"])


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of weights, input and output, each once; of the embedding tables the rows in use."""
    width, tokens = sizes["hidden"], sizes["batch"] * sizes["sequence"]
    unread = counts.unread(sizes["vocabulary"], tokens, width)
    unread += counts.unread(sizes["positions"], sizes["sequence"], width)
    unread += counts.unread(TOKEN_TYPES, 1, width)
    return 4 * (parameter_count(sizes) - unread + tokens + tokens * width)
