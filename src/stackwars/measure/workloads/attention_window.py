"""Causal self-attention within a window: a position sees itself and the window - 1 positions before it.

The projections are those of `mha`. All scores of a sequence are computed, and those outside the window are
set to minus infinity before the softmax. `attention_blocked` computes the same function from the same weights
without most of the scores that are masked here. Every position sees at least itself, so no row of the softmax
is empty.
"""

import math

from stackwars.measure.workloads.mha import Attention


class Window(Attention):
    TITLE, TABLE, ORDER = "Attention, window", "beyond", 360
    SIZES = {**Attention.SIZES, "window": "positions that a position sees, itself included"}

    def problems(self, sizes):
        if sizes["window"] > sizes["sequence"]:
            return {"window": f"at most the sequence, {sizes['sequence']}"}
        return {}

    def parameters(self, sizes):
        self.refuse_problems(sizes)
        return super().parameters(sizes)

    def masked(self, scores, sizes, xp):
        positions = xp.arange(scores.shape[-1])
        distance = positions[:, None] - positions
        return xp.where((distance >= 0) & (distance < sizes["window"]), scores, -math.inf)

    def mask_in_torch(self, sizes, torch):
        window = sizes["window"]

        def masked(scores):
            positions = torch.arange(scores.shape[-1], device=scores.device)
            distance = positions[:, None] - positions
            hidden = (distance < 0) | (distance >= window)
            return scores.masked_fill(hidden, -math.inf)

        return masked


WORKLOAD = Window()
