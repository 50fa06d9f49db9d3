"""Models of transformers: what they declare, and what language models and classifiers of images have in common.

The model is transformers' own in JAX (Flax), TensorFlow and torch; `hf_jax`, `hf_tensorflow` and `hf_torch`
give it weights, by their names in torch.
"""

from typing import Any, ClassVar

from stackwars.measure.workloads import counts, values
from stackwars.measure.workloads.base import Workload

CHANNELS = 3
PREFIXES = {"jax": "Flax", "tensorflow": "TF", "torch": ""}
"""The prefix of transformers' class names, by dialect."""


def no_form(*dialects: str) -> dict[str, str]:
    """Return NO_FORM for dialects in which transformers does not have the model."""
    names = {"numpy": "NumPy", "tensorflow": "TensorFlow"}
    return {one: f"transformers has no {names[one]} form of this model" for one in dialects}


class Model(Workload):
    """A model of transformers; its reference is the agreement of the dialects."""

    KIND = "model"
    BUILDER = "hf"
    NO_FORM = no_form("numpy")
    CONFIG: str
    """The class of its configuration."""
    MODEL: str
    """Its class in torch; the other dialects prefix it with Flax or TF."""
    MODEL_KEYWORDS: ClassVar[dict[str, Any]] = {}
    TORCH_CONFIG: ClassVar[dict[str, Any]] = {"attn_implementation": "eager"}
    """Keywords of the configuration in torch alone."""
    RESULT = "logits"
    """The field of the model's output that is compared."""
    TENSORFLOW_PREFIX = ""
    """The prefix of the weights' names in TensorFlow."""
    patched_in_jax = None
    """A context, called with the configuration, sizes and jax, in which the Flax model is made and traced, if any."""

    def hf_config(self, sizes) -> dict[str, Any]:
        """Return the keywords of the configuration."""
        raise NotImplementedError

    def has_form(self, dialect):
        return dialect in PREFIXES or dialect in self.NO_FORM

    def preload(self, dialect):
        self.classes(dialect)

    def classes(self, dialect) -> tuple[type, type]:
        """Return the classes of the configuration and the model."""
        import transformers

        return getattr(transformers, self.CONFIG), getattr(transformers, PREFIXES[dialect] + self.MODEL)

    def constants_in_torch(self, sizes, torch) -> dict[str, Any]:
        """Return the constants that the torch module computes when it is made, by the end of their names."""
        return {}


class LanguageModel(Model):
    """Token ids to the logits of all positions."""

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
    INPUTS = {"input_ids": ("batch", "sequence")}
    INTEGERS = {"input_ids": "vocabulary"}
    OUTPUT = ("batch", "sequence", "vocabulary")

    def flops(self, sizes):
        s = sizes
        layer = counts.encoder(s["batch"], s["sequence"], s["hidden"], s["intermediate"])
        rows = s["batch"] * s["sequence"] if self.OUTPUT[-1] == "vocabulary" else 0
        return s["layers"] * layer + counts.matmul(rows, s["hidden"], s["vocabulary"])

    def unread_values(self, sizes):
        return counts.unread(sizes["positions"], sizes["sequence"], sizes["hidden"])


class ImageModel(Model):
    """Images to the logits of their classes."""

    INPUTS = {"pixel_values": ("batch", CHANNELS, "image", "image")}
    OUTPUT = ("batch", "labels")

    def inputs(self, sizes, seed):
        batch, side = sizes["batch"], sizes["image"]
        return {"pixel_values": values.images("pixel_values", batch, CHANNELS, side, seed)}
