"""GPT-2 small (Radford et al., 2019) and GPT-Neo 1.3B (Black et al., 2021) with their language-model heads.

The output is the logits of all positions. The head is the table of word embeddings and counts once.
"""

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.hf import LanguageModel, no_form


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
        width, inner = sizes["hidden"], sizes["intermediate"]
        result = counts.embedding("transformer.wte", sizes["vocabulary"], width)
        result |= counts.embedding("transformer.wpe", sizes["positions"], width)
        for layer in range(sizes["layers"]):
            name = f"transformer.h.{layer}"
            result |= counts.norm(f"{name}.ln_1", width)
            result |= self.attention(f"{name}.attn", width)
            result |= counts.norm(f"{name}.ln_2", width)
            result |= self.linear(f"{name}.mlp.c_fc", width, inner)
            result |= self.linear(f"{name}.mlp.c_proj", inner, width)
        return result | counts.norm("transformer.ln_f", width)

    def attention(self, name, width):
        """Return the shapes of an attention layer's weights."""
        projections = self.linear(f"{name}.c_attn", width, 3 * width)
        return projections | self.linear(f"{name}.c_proj", width, width)

    def linear(self, name, inputs, outputs):
        """Return the shapes of a linear layer, whose weight is (inputs, outputs) in this model's torch module."""
        return {f"{name}.weight": (inputs, outputs), f"{name}.bias": (outputs,)}

    def constants_in_torch(self, sizes, torch):
        """Return the constants of an attention layer, made by the model's own code at width 1.

        The causal mask covers the sequence in use, not every position that the model has.
        """
        from transformers import GPT2Config
        from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

        narrow = GPT2Config(n_embd=1, n_head=1, n_positions=sizes["sequence"])
        return {f".attn.{name}": value for name, value in GPT2Attention(narrow).named_buffers()}


class GPTNeo(GPT2):
    """Layers 1, 3, ... attend to a window of preceding tokens only. Attention scores are not scaled."""

    TITLE, TABLE, ORDER = "GPT-Neo 1.3B", "III", 220
    CONFIG, MODEL = "GPTNeoConfig", "GPTNeoForCausalLM"
    NO_FORM = no_form("numpy", "tensorflow")
    SIZES = {**LanguageModel.SIZES, "window": "tokens that a local layer attends to"}

    def attention_kinds(self, sizes) -> list[str]:
        """Return the kind of attention of each layer."""
        return ["local" if layer % 2 else "global" for layer in range(sizes["layers"])]

    def hf_config(self, sizes):
        return {
            "vocab_size": sizes["vocabulary"],
            "hidden_size": sizes["hidden"],
            "num_layers": sizes["layers"],
            "num_heads": sizes["heads"],
            "intermediate_size": sizes["intermediate"],
            "max_position_embeddings": sizes["positions"],
            "window_size": sizes["window"],
            "attention_types": [[self.attention_kinds(sizes), 1]],
            "activation_function": "gelu_new",
            "use_cache": False,
        }

    def attention(self, name, width):
        result = {}
        for part in ("q_proj", "k_proj", "v_proj"):
            result |= counts.linear(f"{name}.attention.{part}", width, width, bias=False)
        return result | counts.linear(f"{name}.attention.out_proj", width, width)

    def linear(self, name, inputs, outputs):
        return counts.linear(name, inputs, outputs)

    def constants_in_torch(self, sizes, torch):
        """Return the constants of each attention layer, which differ by its kind; in full they are 4 MB a layer."""
        from transformers import GPTNeoConfig
        from transformers.models.gpt_neo.modeling_gpt_neo import GPTNeoSelfAttention

        narrow = GPTNeoConfig(
            hidden_size=1,
            num_heads=1,
            max_position_embeddings=sizes["sequence"],
            window_size=sizes["window"],
        )
        kinds = {kind: GPTNeoSelfAttention(narrow, kind) for kind in ("global", "local")}
        return {
            f".h.{layer}.attn.attention.{name}": value
            for layer, kind in enumerate(self.attention_kinds(sizes))
            for name, value in kinds[kind].named_buffers()
        }


WORKLOADS = {"gpt2_small": GPT2(), "gpt_neo_1p3b": GPTNeo()}
