"""ViT-B/16 (Dosovitskiy et al., 2021) for image classification: the logits."""

import numpy as np

from stackwars.workloads import counts, shapes, values

TITLE, TABLE, KIND, ITEM, ORDER = "ViT-B/16", "III", "model", "images", 210
SIZES = {
    "batch": "images in a call",
    "image": "rows and columns of an image; a multiple of patch",
    "patch": "rows and columns of a patch",
    "layers": "transformer layers",
    "hidden": "width of the hidden state; a multiple of heads",
    "heads": "attention heads",
    "intermediate": "width inside the feed-forward block",
    "labels": "classes",
}
CHANNELS = 3


def inputs(sizes: dict[str, int], seed: int) -> dict[str, np.ndarray]:
    """Images (batch, 3, image, image), float32."""
    batch, side = sizes["batch"], sizes["image"]
    return {"pixel_values": values.images("pixel_values", batch, CHANNELS, side, seed)}


def items(sizes: dict[str, int]) -> int:
    """Images in a call."""
    return sizes["batch"]


def hf_config(sizes: dict[str, int]) -> dict:
    """Keywords of transformers' ViTConfig."""
    return {
        "image_size": sizes["image"],
        "patch_size": sizes["patch"],
        "num_channels": CHANNELS,
        "num_hidden_layers": sizes["layers"],
        "hidden_size": sizes["hidden"],
        "num_attention_heads": sizes["heads"],
        "intermediate_size": sizes["intermediate"],
        "num_labels": sizes["labels"],
        "hidden_act": "gelu",
    }


def parameters(sizes: dict[str, int]) -> shapes.Shapes:
    """Names and shapes of the weights, in torch's layout."""
    width, inner, patch = sizes["hidden"], sizes["intermediate"], sizes["patch"]
    projection = "vit.embeddings.patch_embeddings.projection"
    found = {
        "vit.embeddings.cls_token": (1, 1, width),
        "vit.embeddings.position_embeddings": (1, _patches(sizes) + 1, width),
        f"{projection}.weight": (width, CHANNELS, patch, patch),
        f"{projection}.bias": (width,),
    }
    for layer in range(sizes["layers"]):
        name = f"vit.encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            found |= shapes.linear(f"{name}.attention.attention.{part}", width, width)
        found |= shapes.linear(f"{name}.attention.output.dense", width, width)
        found |= shapes.linear(f"{name}.intermediate.dense", width, inner)
        found |= shapes.linear(f"{name}.output.dense", inner, width)
        found |= shapes.norm(f"{name}.layernorm_before", width)
        found |= shapes.norm(f"{name}.layernorm_after", width)
    found |= shapes.norm("vit.layernorm", width)
    return found | shapes.linear("classifier", width, sizes["labels"])


def parameter_count(sizes: dict[str, int]) -> int:
    """Values in the weights."""
    return counts.values(parameters(sizes))


def flops(sizes: dict[str, int]) -> int:
    """Floating-point operations of products and convolution; a multiply-add is two."""
    batch, width, patches = sizes["batch"], sizes["hidden"], _patches(sizes)
    patching = counts.convolution(batch * patches, sizes["patch"], CHANNELS, width)
    layer = counts.encoder(batch, patches + 1, width, sizes["intermediate"])
    return patching + sizes["layers"] * layer + counts.matmul(batch, width, sizes["labels"])


def minimum_bytes(sizes: dict[str, int]) -> int:
    """Bytes of weights, input and output, each once."""
    values_of_image = CHANNELS * sizes["image"] ** 2
    return 4 * (parameter_count(sizes) + sizes["batch"] * (values_of_image + sizes["labels"]))


def _patches(sizes: dict[str, int]) -> int:
    return (sizes["image"] // sizes["patch"]) ** 2
