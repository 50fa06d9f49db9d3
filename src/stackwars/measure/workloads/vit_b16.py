"""ViT-B/16 (Dosovitskiy et al., 2021) for image classification: the logits."""

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.hf import CHANNELS, ImageModel


class ViT(ImageModel):
    TITLE, TABLE, ORDER = "ViT-B/16", "III", 210
    CONFIG, MODEL = "ViTConfig", "ViTForImageClassification"
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

    def hf_config(self, sizes):
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

    def parameters(self, sizes):
        width, inner, patch = sizes["hidden"], sizes["intermediate"], sizes["patch"]
        projection = "vit.embeddings.patch_embeddings.projection"
        result = {
            "vit.embeddings.cls_token": (1, 1, width),
            "vit.embeddings.position_embeddings": (1, _patches(sizes) + 1, width),
            f"{projection}.weight": (width, CHANNELS, patch, patch),
            f"{projection}.bias": (width,),
        }
        for layer in range(sizes["layers"]):
            name = f"vit.encoder.layer.{layer}"
            for part in ("query", "key", "value"):
                result |= counts.linear(f"{name}.attention.attention.{part}", width, width)
            result |= counts.linear(f"{name}.attention.output.dense", width, width)
            result |= counts.linear(f"{name}.intermediate.dense", width, inner)
            result |= counts.linear(f"{name}.output.dense", inner, width)
            result |= counts.norm(f"{name}.layernorm_before", width)
            result |= counts.norm(f"{name}.layernorm_after", width)
        result |= counts.norm("vit.layernorm", width)
        return result | counts.linear("classifier", width, sizes["labels"])

    def flops(self, sizes):
        batch, width, patches = sizes["batch"], sizes["hidden"], _patches(sizes)
        patching = counts.convolution(batch * patches, sizes["patch"], CHANNELS, width)
        layer = counts.encoder(batch, patches + 1, width, sizes["intermediate"])
        return patching + sizes["layers"] * layer + counts.matmul(batch, width, sizes["labels"])


def _patches(sizes):
    return (sizes["image"] // sizes["patch"]) ** 2


WORKLOAD = ViT()
