"""Softmax, RoPE, attention."""

import math

import torch
from einops import einsum, rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cs336_basics.modules import Linear


def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    shifted = x - torch.amax(x, dim=dim, keepdim=True)
    weights = shifted.exp()
    return weights / weights.sum(dim=dim, keepdim=True)


def scaled_dot_product_attention(
    q: Float[Tensor, "... queries d_k"],
    k: Float[Tensor, "... keys d_k"],
    v: Float[Tensor, "... keys d_v"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
) -> Float[Tensor, "... queries d_v"]:
    """A query that may not look at any key gets zeros (the division 0/0 would give NaN)."""
    scores = einsum(q, k, "... queries d_k, ... keys d_k -> ... queries keys")
    scores = scores / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    blind = torch.isneginf(scores).all(dim=-1, keepdim=True)
    weights = softmax(scores, dim=-1).masked_fill(blind, 0.0)
    return einsum(weights, v, "... queries keys, ... keys d_v -> ... queries d_v")


class RotaryPositionalEmbedding(nn.Module):
    """Rotates the pairs (0, 1), (2, 3), ...

    Only the frequencies are kept. The angles are products in float64, because in float32 the
    product of a position in the ten thousands and a frequency is off in the third decimal.
    """

    def __init__(self, theta: float, d_k: int, max_seq_len: int, device=None):
        super().__init__()
        exponent = torch.arange(0, d_k, 2, device=device, dtype=torch.float64) / d_k
        self.max_seq_len = max_seq_len
        self.register_buffer("frequency", theta**-exponent, persistent=False)

    def forward(
        self, x: Float[Tensor, "... seq d_k"], token_positions: Int[Tensor, "... seq"]
    ) -> Float[Tensor, "... seq d_k"]:
        angle = einsum(
            token_positions.to(torch.float64), self.frequency, "... seq, pair -> ... seq pair"
        )
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        even, odd = rearrange(x, "... (pair two) -> two ... pair", two=2)
        turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
        return rearrange(turned, "... pair two -> ... (pair two)")


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, rope: RotaryPositionalEmbedding | None = None):
        super().__init__()
        self.num_heads = num_heads
        self.rope = rope
        self.q_proj = Linear(d_model, d_model)
        self.k_proj = Linear(d_model, d_model)
        self.v_proj = Linear(d_model, d_model)
        self.output_proj = Linear(d_model, d_model)

    def forward(self, x, token_positions=None):
        seq = x.shape[-2]
        q = rearrange(self.q_proj(x), "... seq (head d) -> ... head seq d", head=self.num_heads)
        k = rearrange(self.k_proj(x), "... seq (head d) -> ... head seq d", head=self.num_heads)
        v = rearrange(self.v_proj(x), "... seq (head d) -> ... head seq d", head=self.num_heads)
        if self.rope is not None:
            if token_positions is None:
                token_positions = torch.arange(seq, device=x.device)
            positions = rearrange(token_positions, "... seq -> ... 1 seq")
            q, k = self.rope(q, positions), self.rope(k, positions)
        index = torch.arange(seq, device=x.device)
        causal = rearrange(index, "i -> i 1") >= rearrange(index, "j -> 1 j")
        out = scaled_dot_product_attention(q, k, v, causal)
        return self.output_proj(rearrange(out, "... head seq d -> ... seq (head d)"))
