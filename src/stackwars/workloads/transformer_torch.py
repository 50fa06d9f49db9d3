"""The decoder of `transformer` in torch: its modules, and what a block's attention sees is the caller's."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from stackwars.workloads.transformer import EPSILON


class Attention(nn.Module):
    """(batch, sequence, width) to the same."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)

    def queries_keys_values(self, x):
        batch, sequence, width = x.shape
        return [
            part.view(batch, sequence, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        ]

    def mixed(self, q, k, v, mask):
        batch, heads, sequence, width = q.shape
        scores = (q @ k.transpose(-2, -1) / math.sqrt(width)).masked_fill(~mask, float("-inf"))
        together = torch.softmax(scores, dim=-1) @ v
        return self.out(together.transpose(1, 2).reshape(batch, sequence, heads * width))


class FeedForward(nn.Module):
    """(..., width) to the same."""

    def __init__(self, width, inner):
        super().__init__()
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)

    def forward(self, x):
        return self.down(F.gelu(self.up(x), approximate="tanh"))


class Layer(nn.Module):
    """The parts of a layer; how they are put together is the caller's."""

    def __init__(self, sizes):
        super().__init__()
        width = sizes["hidden"]
        self.ln_1 = nn.LayerNorm(width, EPSILON)
        self.attn = Attention(width, sizes["heads"])
        self.ln_2 = nn.LayerNorm(width, EPSILON)
        self.mlp = FeedForward(width, sizes["intermediate"])


class Decoder(nn.Module):
    """The weights of the whole decoder, and its head."""

    def __init__(self, sizes, positions):
        super().__init__()
        width, vocabulary = sizes["hidden"], sizes["vocabulary"]
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(positions, width)
        self.h = nn.ModuleList([Layer(sizes) for _ in range(sizes["layers"])])
        self.ln_f = nn.LayerNorm(width, EPSILON)
        self.head = nn.Linear(width, vocabulary, bias=False)
