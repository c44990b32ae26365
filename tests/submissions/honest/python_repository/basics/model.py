"""The language model: an embedding, a stack of blocks, a norm, and the logits."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .attention import TransformerBlock
from .layers import Embedding, Linear, RMSNorm


class TransformerLM(nn.Module):
    def __init__(
        self,
        vocab_size: int,
        context_length: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        rope_theta: float,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        self.token_embeddings = Embedding(vocab_size, d_model, dtype)
        self.layers = nn.ModuleList(
            TransformerBlock(d_model, num_heads, d_ff, context_length, rope_theta, dtype)
            for _ in range(num_layers)
        )
        self.ln_final = RMSNorm(d_model, dtype=dtype)
        self.lm_head = Linear(d_model, vocab_size, dtype)

    def forward(self, ids: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        x = self.token_embeddings(ids)
        for block in self.layers:
            x = block(x)
        return self.lm_head(self.ln_final(x))
