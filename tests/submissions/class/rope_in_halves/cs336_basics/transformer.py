from __future__ import annotations

from functools import partial

import torch
import torch.nn as nn
from einops import rearrange


class Linear(nn.Module):
    def __init__(self, d_in: int, d_out: int, **factory):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_out, d_in, **factory))
        nn.init.kaiming_uniform_(self.weight, a=5**0.5)

    def forward(self, x):
        return torch.matmul(x, self.weight.T)


class Embedding(nn.Module):
    def __init__(self, vocab_size: int, d_model: int, **factory):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(vocab_size, d_model, **factory))

    def forward(self, token_ids):
        return self.weight.index_select(0, token_ids.reshape(-1)).view(*token_ids.shape, -1)


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        x32 = x.to(torch.float32)
        normed = x32 * (x32.square().mean(-1, keepdim=True) + self.eps) ** -0.5
        return normed.mul(self.weight).to(x.dtype)


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w1, self.w3 = Linear(d_model, d_ff), Linear(d_model, d_ff)
        self.w2 = Linear(d_ff, d_model)

    def forward(self, x):
        return self.w2(silu(self.w1(x)) * self.w3(x))


def silu(x):
    return x * torch.sigmoid(x)


def softmax(x, dim):
    x = torch.exp(x - x.amax(dim, True))
    return x / x.sum(dim, True)


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


class RotaryEmbedding(nn.Module):
    def __init__(self, dim: int, max_positions: int, base: float = 10000.0):
        super().__init__()
        inv_freq = 1.0 / base ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim)
        freqs = torch.arange(max_positions, dtype=torch.float32)[:, None] * inv_freq[None]
        both = torch.cat((freqs, freqs), dim=-1)
        self.register_buffer("cos_cached", both.cos(), persistent=False)
        self.register_buffer("sin_cached", both.sin(), persistent=False)

    def forward(self, x, positions):
        cos, sin = self.cos_cached[positions], self.sin_cached[positions]
        return x * cos + rotate_half(x) * sin


def attend(q, k, v, mask=None):
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores, -1) @ v


class SelfAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, rotary: RotaryEmbedding | None = None):
        super().__init__()
        make = partial(Linear, d_model, d_model)
        self.q_proj, self.k_proj, self.v_proj, self.output_proj = make(), make(), make(), make()
        self.num_heads, self.rotary = num_heads, rotary

    def forward(self, x, positions=None):
        q, k, v = (
            rearrange(p(x), "... n (h d) -> ... h n d", h=self.num_heads)
            for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        n = x.shape[-2]
        if self.rotary is not None:
            positions = torch.arange(n) if positions is None else positions
            positions = positions.unsqueeze(-2)
            q, k = self.rotary(q, positions), self.rotary(k, positions)
        out = attend(q, k, v, torch.ones(n, n, dtype=torch.bool).tril())
        return self.output_proj(rearrange(out, "... h n d -> ... n (h d)"))


class Block(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, rotary):
        super().__init__()
        self.ln1, self.ln2 = RMSNorm(d_model), RMSNorm(d_model)
        self.attn, self.ffn = SelfAttention(d_model, num_heads, rotary), SwiGLU(d_model, d_ff)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class TransformerLM(nn.Module):
    def __init__(self, vocab_size, context, d_model, num_layers, num_heads, d_ff, theta):
        super().__init__()
        rotary = RotaryEmbedding(d_model // num_heads, context, theta)
        self.token_embeddings = Embedding(vocab_size, d_model)
        self.layers = nn.ModuleList(
            [Block(d_model, num_heads, d_ff, rotary) for _ in range(num_layers)]
        )
        self.ln_final, self.lm_head = RMSNorm(d_model), Linear(d_model, vocab_size)

    def forward(self, ids):
        x = self.token_embeddings(ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.ln_final(x))
