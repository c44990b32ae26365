"""Each head is a module of its own, as in the pictures of the lecture."""
import math

import torch
from torch import nn

from .functions import gelu, scaled_dot_product_attention


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x: torch.FloatTensor) -> torch.FloatTensor:
        rms = (x.square().sum(-1, keepdim=True) / x.size(-1) + self.eps).sqrt()
        return x / rms * self.weight


class FFN(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w1 = nn.Linear(d_model, d_ff, bias=False)
        self.w2 = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.w2(gelu(self.w1(x)))


class Head(nn.Module):
    def __init__(self, d_model: int, d_head: int, pdrop: float):
        super().__init__()
        self.q = nn.Linear(d_model, d_head, bias=False)
        self.k = nn.Linear(d_model, d_head, bias=False)
        self.v = nn.Linear(d_model, d_head, bias=False)
        self.pdrop = pdrop

    def forward(self, x, future):
        return scaled_dot_product_attention(self.k(x), self.q(x), self.v(x), future, self.pdrop)


class MultiHead(nn.Module):
    def __init__(self, d_model: int, num_heads: int, pdrop: float = 0.0):
        super().__init__()
        d_head = d_model // num_heads
        self.heads = nn.ModuleList(Head(d_model, d_head, pdrop) for _ in range(num_heads))
        self.output_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        time = torch.arange(x.size(1), device=x.device)
        future = time[:, None] < time[None, :]
        return self.output_proj(torch.cat([head(x, future) for head in self.heads], dim=2))

    def load(self, weights):
        """Takes either of the two forms that the tests use."""
        for i, head in enumerate(self.heads):
            for name in "qkv":
                if f"{name}_proj.weight" in weights:
                    w = weights[f"{name}_proj.weight"].chunk(len(self.heads))[i]
                else:
                    w = weights[f"{name}_heads.{i}.weight"]
                getattr(head, name).weight.data = w
        self.output_proj.weight.data = weights["output_proj.weight"]


class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, attn_pdrop=0.0, residual_pdrop=0.0):
        super().__init__()
        self.ln1, self.ln2 = RMSNorm(d_model), RMSNorm(d_model)
        self.attn = MultiHead(d_model, num_heads, attn_pdrop)
        self.ffn = FFN(d_model, d_ff)
        self.dropout = nn.Dropout(residual_pdrop)

    def forward(self, x):
        x = x + self.dropout(self.attn(self.ln1(x)))
        return x + self.dropout(self.ffn(self.ln2(x)))

    def load(self, weights):
        self.attn.load({k[5:]: w for k, w in weights.items() if k.startswith("attn.")})
        for name in ("ln1", "ln2", "ffn.w1", "ffn.w2"):
            self.get_submodule(name).weight.data = weights[name + ".weight"]


def init_(module: nn.Module):
    """for training from scratch"""
    for p in module.parameters():
        if p.dim() == 2:
            nn.init.normal_(p, std=1 / math.sqrt(p.size(1)))
