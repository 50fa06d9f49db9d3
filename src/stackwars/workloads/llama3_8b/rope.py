"""Rotary position embedding of LLaMA-3.1: its inverse frequencies."""

import math

import numpy as np

from stackwars.workloads.llama3_8b import ROPE_SCALING, ROPE_THETA


def inverse_frequencies(width: int) -> np.ndarray:
    """Radians per position of each pair of a head ``width`` wide, float32 (width / 2).

    theta^(-2i/width) (Su et al., 2021, section 3.2.2), then LLaMA-3.1's scaling: wavelengths
    beyond the original context are stretched by ``factor``, short ones kept, and those between
    interpolated (``rope_type`` "llama3" in transformers).
    """
    scaling, context = ROPE_SCALING, ROPE_SCALING["original_max_position_embeddings"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    plain = ROPE_THETA ** (-np.arange(0, width, 2) / width)
    turns = context * plain / (2 * math.pi)  # of a pair over the original context
    kept = np.clip((turns - low) / (high - low), 0, 1)
    return (plain * (kept + (1 - kept) / scaling["factor"])).astype(np.float32)
