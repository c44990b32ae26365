from typing import Optional

import torch

from .linear import Linear
from .rope import RoPE


def softmax(x: torch.Tensor, dim: int) -> torch.Tensor:
    x = x - x.amax(dim=dim, keepdim=True)
    x = x.exp()
    return x / x.sum(dim=dim, keepdim=True)


def additive_mask(allowed: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """0 where allowed, -inf elsewhere."""
    bias = torch.zeros(allowed.shape, dtype=dtype, device=allowed.device)
    bias[~allowed] = float("-inf")
    return bias


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: Optional[torch.Tensor] = None
) -> torch.Tensor:
    """bias is added to the scores"""
    scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    if bias is not None:
        scores = scores + bias
    return softmax(scores, dim=-1) @ v


class CausalAttention(torch.nn.Module):
    def __init__(self, dim: int, heads: int, rope: Optional[RoPE] = None) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = Linear(dim, 3 * dim)
        self.out = Linear(dim, dim)
        self.rope = rope

    def forward(self, x: torch.Tensor, positions: Optional[torch.Tensor] = None) -> torch.Tensor:
        n = x.shape[-2]
        qkv = self.qkv(x).unflatten(-1, (3, self.heads, -1))  # ..., n, 3, heads, d
        q, k, v = qkv.transpose(-4, -2).unbind(-3)            # ..., heads, n, d
        if self.rope is not None:
            if positions is None:
                positions = torch.arange(n, device=x.device)
            q, k = self.rope(q, positions), self.rope(k, positions)
        future = torch.full((n, n), float("-inf"), dtype=x.dtype, device=x.device).triu(1)
        y = attention(q, k, v, future)
        return self.out(y.transpose(-3, -2).flatten(-2))

    @torch.no_grad()
    def set(self, q, k, v, o) -> "CausalAttention":
        self.qkv.w.copy_(torch.cat([q, k, v]))
        self.out.w.copy_(o)
        return self
