"""Softmax, RoPE and attention, and the pre-norm block that they make."""

import math

import torch
from einops import einsum, rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from .layers import Linear, RMSNorm, SwiGLU


def softmax(x: Float[Tensor, "..."], dim: int = -1) -> Float[Tensor, "..."]:
    if x.numel() == 0:
        return x
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    e = torch.exp(wide - wide.max(dim=dim, keepdim=True).values)
    return (e / e.sum(dim=dim, keepdim=True)).to(x.dtype)


def attention(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... m d_k"],
    v: Float[Tensor, "... m d_v"],
    mask: Bool[Tensor, "... n m"] | None = None,
) -> Float[Tensor, "... n d_v"]:
    """Attention whose scores and probabilities are at least float32."""
    if q.shape[-1] == 0 or k.shape[-2] == 0 < q.shape[-2]:
        raise ValueError("there is nothing to attend to")
    wide = torch.promote_types(q.dtype, torch.float32)
    scores = einsum(q.to(wide), k.to(wide), "... n d_k, ... m d_k -> ... n m")
    scores = scores / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), float("-inf"))
    nothing = (scores == float("-inf")).all(-1, keepdim=True)
    probabilities = softmax(scores).masked_fill(nothing, 0.0)
    return einsum(probabilities, v.to(wide), "... n m, ... m d_v -> ... n d_v").to(q.dtype)


class RoPE(nn.Module):
    """Turns the pairs (x0, x1), (x2, x3), ... by angles that grow with the position."""

    cos: Tensor
    sin: Tensor

    def __init__(self, theta: float, d_k: int, max_seq_len: int):
        super().__init__()
        if d_k % 2:
            raise ValueError(f"{d_k} numbers are no pairs")
        if theta <= 0:
            raise ValueError(f"theta is {theta}, wanted a positive number")
        rates = theta ** -(torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
        angles = einsum(torch.arange(max_seq_len).double(), rates, "seq, pair -> seq pair")
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(
        self, x: Float[Tensor, "... seq d_k"], positions: Int[Tensor, "... seq"]
    ) -> Float[Tensor, "... seq d_k"]:
        if ((positions < 0) | (positions >= len(self.cos))).any():
            raise IndexError(f"a position is outside of [0, {len(self.cos)})")
        wide = torch.promote_types(x.dtype, torch.float32)
        cos, sin = self.cos[positions].to(wide), self.sin[positions].to(wide)
        first, second = rearrange(x.to(wide), "... (pair two) -> two ... pair", two=2)
        turned = torch.stack([first * cos - second * sin, first * sin + second * cos])
        return rearrange(turned, "two ... pair -> ... (pair two)").to(x.dtype)


class MultiHeadSelfAttention(nn.Module):
    def __init__(
        self,
        d_model: int,
        num_heads: int,
        rope: RoPE | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model} does not divide into {num_heads} heads")
        self.num_heads = num_heads
        self.rope = rope
        self.q_proj = Linear(d_model, d_model, dtype)
        self.k_proj = Linear(d_model, d_model, dtype)
        self.v_proj = Linear(d_model, d_model, dtype)
        self.output_proj = Linear(d_model, d_model, dtype)

    def forward(
        self, x: Float[Tensor, "... seq d_model"], positions: Int[Tensor, "... seq"] | None = None
    ) -> Float[Tensor, "... seq d_model"]:
        q, k, v = (
            rearrange(proj(x), "... seq (h d) -> ... h seq d", h=self.num_heads)
            for proj in (self.q_proj, self.k_proj, self.v_proj)
        )
        seq = x.shape[-2]
        if self.rope is not None:
            positions = torch.arange(seq) if positions is None else positions
            positions = rearrange(positions, "... seq -> ... 1 seq")
            q, k = self.rope(q, positions), self.rope(k, positions)
        causal = torch.ones(seq, seq).tril().bool()
        heads = attention(q, k, v, causal)
        return self.output_proj(rearrange(heads, "... h seq d -> ... seq (h d)"))


class TransformerBlock(nn.Module):
    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        max_seq_len: int,
        theta: float,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        rope = RoPE(theta, d_model // num_heads, max_seq_len)
        self.ln1 = RMSNorm(d_model, dtype=dtype)
        self.attn = MultiHeadSelfAttention(d_model, num_heads, rope, dtype)
        self.ln2 = RMSNorm(d_model, dtype=dtype)
        self.ffn = SwiGLU(d_model, d_ff, dtype)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        batch, seq, d_model = x.shape  # as the handout has it
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))
