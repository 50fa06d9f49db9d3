"""The decoder's training step in torch."""

import torch
import torch.nn.functional as F

from stackwars.workloads.fill_torch import fill
from stackwars.workloads.train_torch import Step
from stackwars.workloads.train_transformer import parameters as shapes
from stackwars.workloads.transformer_torch import Decoder


class Loss(Decoder):
    """tokens (batch, sequence + 1) to the mean cross-entropy of each but the first."""

    def forward(self, tokens):
        before, after = tokens[:, :-1], tokens[:, 1:]
        sequence = before.shape[1]
        x = self.wte(before) + self.wpe.weight
        causal = torch.ones(sequence, sequence, dtype=torch.bool, device=tokens.device).tril()
        for layer in self.h:
            q, k, v = layer.attn.queries_keys_values(layer.ln_1(x))
            x = x + layer.attn.mixed(q, k, v, causal)
            x = x + layer.mlp(layer.ln_2(x))
        logits = self.head(self.ln_f(x))
        return F.cross_entropy(logits.flatten(0, 1), after.flatten().long())


def build(sizes, seed, put):
    """The step of a module with its weights on the device."""
    with torch.device("meta"):
        module = Loss(sizes, sizes["sequence"])
    return Step(fill(module, shapes(sizes), seed, put))
