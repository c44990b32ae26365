from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

SQRT_HALF = math.sqrt(0.5)


@dataclass
class Config:
    d_model: int
    num_heads: int
    d_ff: int = 0
    attn_pdrop: float = 0.0
    residual_pdrop: float = 0.0


def gelu(x: Tensor) -> Tensor:
    return x * torch.special.erfc(-x * SQRT_HALF) / 2


def softmax(x: Tensor, dim: int) -> Tensor:
    e = torch.exp(x - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)


def attention(k: Tensor, q: Tensor, v: Tensor, hidden: Tensor | None, pdrop: float) -> Tensor:
    logits = q.matmul(k.mT).mul(1 / math.sqrt(q.shape[-1]))
    if hidden is not None:
        logits = torch.where(hidden, torch.full_like(logits, -math.inf), logits)
    p = softmax(logits, -1)
    # queries without any key: 0, not NaN
    p = p.masked_fill(logits.isneginf().all(-1, keepdim=True), 0)
    return F.dropout(p, pdrop).matmul(v)


class Norm(nn.Module):
    def __init__(self, n: int, eps: float = 1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(n)), eps

    def forward(self, x: Tensor) -> Tensor:
        wide = x.to(torch.float32)
        wide = wide / (wide.pow(2).mean(-1, keepdim=True) + self.eps).sqrt()
        return (wide * self.weight.to(torch.float32)).to(x.dtype)


class Attention(nn.Module):
    """q, k and v in one matrix, all rows of q first. The state dict may have them apart."""

    def __init__(self, c: Config):
        super().__init__()
        self.c = c
        self.in_proj = nn.Linear(c.d_model, 3 * c.d_model, bias=False)
        self.output_proj = nn.Linear(c.d_model, c.d_model, bias=False)

    def _load_from_state_dict(self, state, prefix, *rest):
        blocks = []
        for name in ("q", "k", "v"):
            whole = state.pop(f"{prefix}{name}_proj.weight", None)
            if whole is not None:
                blocks.append(whole)
                continue
            for h in range(self.c.num_heads):
                blocks.append(state.pop(f"{prefix}{name}_heads.{h}.weight"))
        state[prefix + "in_proj.weight"] = torch.cat(blocks, dim=0)
        super()._load_from_state_dict(state, prefix, *rest)

    def forward(self, x: Tensor) -> Tensor:
        b, t, c = x.size()
        h = self.c.num_heads
        q, k, v = self.in_proj(x).view(b, t, 3, h, c // h).permute(2, 0, 3, 1, 4)
        hidden = torch.ones(t, t, device=x.device).triu(diagonal=1).bool()
        y = attention(k, q, v, hidden, self.c.attn_pdrop)
        return self.output_proj(y.transpose(1, 2).reshape(b, t, c))


class Mlp(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.w1 = nn.Linear(c.d_model, c.d_ff, bias=False)
        self.w2 = nn.Linear(c.d_ff, c.d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2(gelu(self.w1(x)))


class Block(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.ln1, self.attn = Norm(c.d_model), Attention(c)
        self.ln2, self.ffn = Norm(c.d_model), Mlp(c)
        self.drop = nn.Dropout(c.residual_pdrop)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop(self.attn(self.ln1(x)))
        x = x + self.drop(self.ffn(self.ln2(x)))
        return x
