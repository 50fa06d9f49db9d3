"""GPT-2 small (Radford et al., 2019) with its language-model head: the logits of all positions.

The head is the table of word embeddings and counts once.
"""

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.hf import LanguageModel


class GPT2(LanguageModel):
    TITLE, TABLE, ORDER = "GPT-2 small", "II", 120
    CONFIG, MODEL = "GPT2Config", "GPT2LMHeadModel"

    def hf_config(self, sizes):
        return {
            "vocab_size": sizes["vocabulary"],
            "n_embd": sizes["hidden"],
            "n_layer": sizes["layers"],
            "n_head": sizes["heads"],
            "n_inner": sizes["intermediate"],
            "n_positions": sizes["positions"],
            "activation_function": "gelu_new",
            "use_cache": False,
        }

    def parameters(self, sizes):
        """This model's torch layout of a matrix is (inputs, outputs)."""
        width, inner = sizes["hidden"], sizes["intermediate"]

        def linear(name, inputs, outputs):
            return {f"{name}.weight": (inputs, outputs), f"{name}.bias": (outputs,)}

        result = counts.embedding("transformer.wte", sizes["vocabulary"], width)
        result |= counts.embedding("transformer.wpe", sizes["positions"], width)
        for layer in range(sizes["layers"]):
            name = f"transformer.h.{layer}"
            result |= counts.norm(f"{name}.ln_1", width)
            result |= linear(f"{name}.attn.c_attn", width, 3 * width)
            result |= linear(f"{name}.attn.c_proj", width, width)
            result |= counts.norm(f"{name}.ln_2", width)
            result |= linear(f"{name}.mlp.c_fc", width, inner)
            result |= linear(f"{name}.mlp.c_proj", inner, width)
        return result | counts.norm("transformer.ln_f", width)

    def constants_in_torch(self, sizes, torch):
        """Return the constants of an attention layer, made by the model's own code at width 1.

        The causal mask covers the sequence in use, not every position that the model has.
        """
        from transformers import GPT2Config
        from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

        narrow = GPT2Config(n_embd=1, n_head=1, n_positions=sizes["sequence"])
        return {f".attn.{name}": value for name, value in GPT2Attention(narrow).named_buffers()}


WORKLOAD = GPT2()
