from typing import Dict

import torch

from .attention import CausalAttention
from .linear import Embedding, Linear
from .mlp import SwiGLU
from .norm import RMSNorm
from .rope import RoPE


class TransformerLayer(torch.nn.Module):
    def __init__(self, dim: int, heads: int, hidden: int, rope: RoPE) -> None:
        super().__init__()
        self.norm_attention, self.norm_mlp = RMSNorm(dim), RMSNorm(dim)
        self.attention, self.mlp = CausalAttention(dim, heads, rope), SwiGLU(dim, hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm_attention(x))
        return x + self.mlp(self.norm_mlp(x))

    @torch.no_grad()
    def set(self, w: Dict[str, torch.Tensor], prefix: str = "") -> "TransformerLayer":
        def take(*names):
            return (w[f"{prefix}{name}.weight"] for name in names)

        self.norm_attention.w.copy_(*take("ln1"))
        self.norm_mlp.w.copy_(*take("ln2"))
        self.attention.set(*take("attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.output_proj"))
        self.mlp.set(*take("ffn.w1", "ffn.w2", "ffn.w3"))
        return self


class Transformer(torch.nn.Module):
    def __init__(self, vocab, length, dim, layers, heads, hidden, theta) -> None:
        super().__init__()
        rope = RoPE(theta, dim // heads, length)
        self.embedding = Embedding(vocab, dim)
        self.layers = torch.nn.ModuleList(
            TransformerLayer(dim, heads, hidden, rope) for _ in range(layers)
        )
        self.norm, self.head = RMSNorm(dim), Linear(dim, vocab)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))

    @torch.no_grad()
    def set(self, w: Dict[str, torch.Tensor]) -> "Transformer":
        self.embedding.w.copy_(w["token_embeddings.weight"])
        self.norm.w.copy_(w["ln_final.weight"])
        self.head.w.copy_(w["lm_head.weight"])
        for n, layer in enumerate(self.layers):
            layer.set(w, f"layers.{n}.")
        return self
