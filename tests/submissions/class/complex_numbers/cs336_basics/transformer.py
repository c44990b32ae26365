from __future__ import annotations

import torch
from torch import nn

from .config import ModelConfig
from .rotary import rotate, unit_circle


class Dense(nn.Module):
    def __init__(self, n_in: int, n_out: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in))
        nn.init.trunc_normal_(self.weight, std=(2 / (n_in + n_out)) ** 0.5)

    def forward(self, x):
        return torch.einsum("...i,oi->...o", x, self.weight)


class Norm(nn.Module):
    def __init__(self, cfg: ModelConfig):
        super().__init__()
        self.eps = cfg.norm_eps
        self.weight = nn.Parameter(torch.ones(cfg.d_model))

    def forward(self, x):
        y = x.float()
        y = y * (y.pow(2).mean(dim=-1, keepdim=True) + self.eps).rsqrt()
        return (y * self.weight.float()).type_as(x)


class Table(nn.Module):
    def __init__(self, cfg: ModelConfig):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(cfg.vocab_size, cfg.d_model))

    def forward(self, ids):
        return self.weight[ids]


class GatedMLP(nn.Module):
    def __init__(self, cfg: ModelConfig):
        super().__init__()
        self.w1 = Dense(cfg.d_model, cfg.d_ff)
        self.w2 = Dense(cfg.d_ff, cfg.d_model)
        self.w3 = Dense(cfg.d_model, cfg.d_ff)

    def forward(self, x):
        up, gate = self.w3(x), self.w1(x)
        return self.w2(up * gate / (1 + torch.exp(-gate)))


def softmax(x, dim):
    top = x.amax(dim, keepdim=True)
    e = (x - top).exp()
    return e / e.sum(dim, keepdim=True)


def attention(q, k, v, allowed=None):
    logits = torch.einsum("...qd,...kd->...qk", q, k) / q.shape[-1] ** 0.5
    if allowed is not None:
        logits = torch.where(allowed, logits, torch.tensor(-torch.inf, dtype=logits.dtype))
    return torch.einsum("...qk,...kd->...qd", softmax(logits, -1), v)


class SelfAttention(nn.Module):
    def __init__(self, cfg: ModelConfig, use_rope: bool = True):
        super().__init__()
        self.cfg = cfg
        for name in ("q_proj", "k_proj", "v_proj", "output_proj"):
            self.add_module(name, Dense(cfg.d_model, cfg.d_model))
        circle = unit_circle(cfg.head_dim, cfg.context_length, cfg.rope_theta) if use_rope else None
        self.register_buffer("circle", circle, persistent=False)

    def forward(self, x, positions=None):
        lead, length = x.shape[:-2], x.shape[-2]
        split = (*lead, length, self.cfg.num_heads, self.cfg.head_dim)
        q = self.q_proj(x).reshape(split).transpose(-2, -3)
        k = self.k_proj(x).reshape(split).transpose(-2, -3)
        v = self.v_proj(x).reshape(split).transpose(-2, -3)
        if self.circle is not None:
            here = self.circle[:length] if positions is None else self.circle[positions]
            if here.ndim > 2:
                here = here.unsqueeze(-3)  # the axis of the heads
            q, k = rotate(q, here), rotate(k, here)
        causal = torch.ones(length, length, dtype=torch.bool).tril()
        y = attention(q, k, v, causal).transpose(-2, -3)
        return self.output_proj(y.reshape(*lead, length, self.cfg.d_model))


class Block(nn.Module):
    def __init__(self, cfg: ModelConfig):
        super().__init__()
        self.ln1, self.attn = Norm(cfg), SelfAttention(cfg)
        self.ln2, self.ffn = Norm(cfg), GatedMLP(cfg)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class Transformer(nn.Module):
    def __init__(self, cfg: ModelConfig):
        super().__init__()
        self.token_embeddings = Table(cfg)
        self.layers = nn.ModuleList(Block(cfg) for _ in range(cfg.num_layers))
        self.ln_final = Norm(cfg)
        self.lm_head = Dense(cfg.d_model, cfg.vocab_size)

    def forward(self, ids):
        x = self.token_embeddings(ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.ln_final(x))
