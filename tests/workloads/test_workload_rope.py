import json

import numpy as np
import pytest

from stackwars.measure.workloads.llama3_8b import inverse_frequencies
from workloads.presets import FULL

WIDTH = 128  # of a head of LLaMA-3.1 8B
POSITIONS = 8192

IN_TORCH = f"""
import json, sys
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
import torch
from stackwars.measure.workloads.llama3_8b import WORKLOAD
rotary = LlamaRotaryEmbedding(LlamaConfig(**WORKLOAD.hf_config(json.loads(sys.argv[1]))))
cos, sin = rotary(torch.zeros(1), torch.arange({POSITIONS})[None])
assert rotary.attention_scaling == 1
print(json.dumps([rotary.inv_freq.tolist(), sin[0, ::997].tolist(), cos[0, ::997].tolist()]))
"""

IN_JAX = f"""
import json
import jax
from stackwars.measure.workloads.llama3_8b import table_in_jax
rows = table_in_jax(jax, {POSITIONS}, {WIDTH})[::997, 0]
print(json.dumps([rows[:, :{WIDTH}].tolist(), rows[:, {WIDTH}:].tolist()]))
"""


@pytest.mark.env
def test_frequencies_and_table_are_those_of_torch(in_dialect):
    frequencies, *in_torch = json.loads(in_dialect("torch", "-c", IN_TORCH, json.dumps(FULL["llama3_8b"])))
    np.testing.assert_allclose(inverse_frequencies(WIDTH), frequencies, rtol=1e-6)
    # An angle of thousands of radians keeps about 1e-3 of a radian in float32.
    np.testing.assert_allclose(json.loads(in_dialect("jax", "-c", IN_JAX)), in_torch, atol=2e-3)
