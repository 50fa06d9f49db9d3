"""ResNet-50 (He et al., 2016) for image classification, in inference: the logits."""

from collections.abc import Iterator
from typing import NamedTuple

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.hf import CHANNELS, ImageModel

REDUCTION = 4  # channels of a block over those of its 3x3 convolution


class Convolution(NamedTuple):
    """A convolution followed by batch normalisation. side: extent of its square output."""

    name: str
    kernel: int
    channels_in: int
    channels_out: int
    side: int


class ResNet(ImageModel):
    """Running statistics of batch normalisation are among the parameters."""

    TITLE, TABLE, ORDER = "ResNet-50", "II", 100
    CONFIG, MODEL, TORCH_CONFIG = "ResNetConfig", "ResNetForImageClassification", {}
    SIZES = {
        "batch": "images in a call",
        "image": "rows and columns of an image",
        "stem": "channels after the first convolution",
        "width": "channels of the first stage, a multiple of 4; each later stage has twice as many",
        "depth_1": "blocks of the first stage",
        "depth_2": "blocks of the second stage",
        "depth_3": "blocks of the third stage",
        "depth_4": "blocks of the fourth stage",
        "labels": "classes",
    }

    def hf_config(self, sizes):
        return {
            "num_channels": CHANNELS,
            "embedding_size": sizes["stem"],
            "hidden_sizes": [sizes["width"] * 2**stage for stage in range(4)],
            "depths": [sizes[f"depth_{stage}"] for stage in range(1, 5)],
            "layer_type": "bottleneck",
            "hidden_act": "relu",
            "num_labels": sizes["labels"],
        }

    def convolutions(self, sizes) -> Iterator[Convolution]:
        """Yield all convolutions, from input to output. Stride 2 is in the 3x3 one of a stage's first."""
        side = _half(sizes["image"])
        yield Convolution("resnet.embedder.embedder", 7, CHANNELS, sizes["stem"], side)
        side, channels = _half(side), sizes["stem"]
        for stage in range(4):
            out = sizes["width"] * 2**stage
            inner = out // REDUCTION
            for block in range(sizes[f"depth_{stage + 1}"]):
                name = f"resnet.encoder.stages.{stage}.layers.{block}"
                before = side
                if stage and not block:
                    side = _half(side)
                if channels != out or before != side:
                    yield Convolution(f"{name}.shortcut", 1, channels, out, side)
                yield Convolution(f"{name}.layer.0", 1, channels, inner, before)
                yield Convolution(f"{name}.layer.1", 3, inner, inner, side)
                yield Convolution(f"{name}.layer.2", 1, inner, out, side)
                channels = out

    def parameters(self, sizes):
        result = {}
        for name, kernel, channels_in, out, _ in self.convolutions(sizes):
            result[f"{name}.convolution.weight"] = (out, channels_in, kernel, kernel)
            for part in ("weight", "bias", "running_mean", "running_var"):
                result[f"{name}.normalization.{part}"] = (out,)
        return result | counts.linear("classifier.1", 8 * sizes["width"], sizes["labels"])

    def flops(self, sizes):
        batch = sizes["batch"]
        return counts.matmul(batch, 8 * sizes["width"], sizes["labels"]) + sum(
            counts.convolution(batch * side**2, kernel, channels_in, out)
            for _, kernel, channels_in, out, side in self.convolutions(sizes)
        )

    def constants_in_torch(self, sizes, torch):
        return {".num_batches_tracked": torch.tensor(0)}


def _half(side: int) -> int:
    return (side + 1) // 2


WORKLOAD = ResNet()
