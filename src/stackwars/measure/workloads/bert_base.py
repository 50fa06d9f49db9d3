"""BERT-Base (Devlin et al., 2019), the encoder without its pooler: the last hidden state."""

from stackwars.measure.workloads import counts
from stackwars.measure.workloads.hf import LanguageModel

TOKEN_TYPES = 2


class Bert(LanguageModel):
    TITLE, TABLE, ORDER = "BERT-Base", "II", 110
    CONFIG, MODEL, RESULT = "BertConfig", "BertModel", "last_hidden_state"
    MODEL_KEYWORDS = {"add_pooling_layer": False}
    TENSORFLOW_PREFIX = "bert."
    SIZES = {**LanguageModel.SIZES, "vocabulary": "rows of the table of word embeddings"}
    OUTPUT = ("batch", "sequence", "hidden")

    def hf_config(self, sizes):
        return {
            "vocab_size": sizes["vocabulary"],
            "hidden_size": sizes["hidden"],
            "num_hidden_layers": sizes["layers"],
            "num_attention_heads": sizes["heads"],
            "intermediate_size": sizes["intermediate"],
            "max_position_embeddings": sizes["positions"],
            "type_vocab_size": TOKEN_TYPES,
            "pad_token_id": None,  # with one, the torch model reads token ids back to look for it
            "hidden_act": "gelu",
        }

    def parameters(self, sizes):
        width, inner = sizes["hidden"], sizes["intermediate"]
        result = counts.embedding("embeddings.word_embeddings", sizes["vocabulary"], width)
        result |= counts.embedding("embeddings.position_embeddings", sizes["positions"], width)
        result |= counts.embedding("embeddings.token_type_embeddings", TOKEN_TYPES, width)
        result |= counts.norm("embeddings.LayerNorm", width)
        for layer in range(sizes["layers"]):
            name = f"encoder.layer.{layer}"
            for part in ("query", "key", "value"):
                result |= counts.linear(f"{name}.attention.self.{part}", width, width)
            result |= counts.linear(f"{name}.attention.output.dense", width, width)
            result |= counts.norm(f"{name}.attention.output.LayerNorm", width)
            result |= counts.linear(f"{name}.intermediate.dense", width, inner)
            result |= counts.linear(f"{name}.output.dense", inner, width)
            result |= counts.norm(f"{name}.output.LayerNorm", width)
        return result

    def unread_values(self, sizes):
        width, tokens = sizes["hidden"], sizes["batch"] * sizes["sequence"]
        words = counts.unread(sizes["vocabulary"], tokens, width)
        return words + super().unread_values(sizes) + counts.unread(TOKEN_TYPES, 1, width)

    def constants_in_torch(self, sizes, torch):
        positions = torch.arange(sizes["sequence"])[None]
        return {".position_ids": positions, ".token_type_ids": torch.zeros_like(positions)}


WORKLOAD = Bert()
