"""A token of the decoder in torch, its cache written in place."""

import torch

from stackwars.workloads.decode import cache
from stackwars.workloads.decode import parameters as shapes
from stackwars.workloads.fill_torch import fill
from stackwars.workloads.transformer_torch import Decoder


class Cached(Decoder):
    """token (batch,) and position () to logits (batch, vocabulary)."""

    def forward(self, token, position):
        x = (self.wte(token) + self.wpe(position))[:, None]
        at = position.view(1).long()
        for number, layer in enumerate(self.h):
            q, k, v = layer.attn.queries_keys_values(layer.ln_1(x))
            keys, values = self.cached(number)
            keys.index_copy_(2, at, k)
            values.index_copy_(2, at, v)
            seen = torch.arange(keys.shape[2], device=at.device) <= at
            x = x + layer.attn.mixed(q, keys, values, seen)
            x = x + layer.mlp(layer.ln_2(x))
        return self.head(self.ln_f(x))[:, 0]

    def cached(self, number):
        """The keys and values of a layer, (batch, heads, positions, width of a head)."""
        return getattr(self, f"key_{number}"), getattr(self, f"value_{number}")

    def leaves(self):
        """{name: tensor} of the cache."""
        found = {}
        for number in range(len(self.h)):
            keys, values = self.cached(number)
            found |= {f"h.{number}.key": keys, f"h.{number}.value": values}
        return found


def build(sizes, seed, put):
    """The module with its weights and its cache on the device."""
    with torch.device("meta"):
        module = Cached(sizes, sizes["positions"])
    module = fill(module, shapes(sizes), seed, put)
    for name, value in cache(sizes, seed).items():
        _, number, part = name.split(".")
        module.register_buffer(f"{part}_{number}", put(value))
    return module
