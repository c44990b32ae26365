"""Layers without a position: linear, embedding, RMSNorm, SwiGLU."""

import torch
from einops import einsum
from jaxtyping import Float, Int
from torch import Tensor, nn


class Linear(nn.Module):
    def __init__(self, d_in: int, d_out: int, dtype: torch.dtype | None = None):
        super().__init__()
        if d_in < 1:
            raise ValueError("d_in must be at least 1")
        scale = (2 / (d_in + d_out)) ** 0.5
        weight = torch.empty(d_out, d_in, dtype=dtype)
        self.weight = nn.Parameter(nn.init.trunc_normal_(weight, std=scale, a=-3, b=3))

    def forward(self, x: Float[Tensor, "... d_in"]) -> Float[Tensor, "... d_out"]:
        return einsum(x, self.weight, "... d_in, d_out d_in -> ... d_out")


class Embedding(nn.Module):
    def __init__(self, vocab_size: int, d_model: int, dtype: torch.dtype | None = None):
        super().__init__()
        self.vocab_size = vocab_size
        self.weight = nn.Parameter(torch.randn(vocab_size, d_model).to(dtype))

    def forward(self, token_ids: Int[Tensor, "..."]) -> Float[Tensor, "... d_model"]:
        if ((token_ids < 0) | (token_ids >= self.vocab_size)).any():
            raise IndexError(f"a token id is outside of [0, {self.vocab_size})")
        return self.weight[token_ids]


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-5, dtype: torch.dtype | None = None):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model, dtype=dtype))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        wide = x if x.dtype == torch.float64 else x.to(torch.float32)
        rms = torch.sqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return (wide / rms * self.weight).to(x.dtype)


def silu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return (wide * torch.sigmoid(wide)).to(x.dtype)


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int, dtype: torch.dtype | None = None):
        super().__init__()
        if d_ff < 1:
            raise ValueError("d_ff must be at least 1")
        self.w1 = Linear(d_model, d_ff, dtype)
        self.w2 = Linear(d_ff, d_model, dtype)
        self.w3 = Linear(d_model, d_ff, dtype)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.w2(silu(self.w1(x)) * self.w3(x))
