from __future__ import annotations

import torch
from einops import einsum, rearrange, repeat
from torch import nn


def trunc(*shape: int, std: float) -> nn.Parameter:
    return nn.Parameter(nn.init.trunc_normal_(torch.empty(shape), 0.0, std, -3 * std, 3 * std))


class Linear(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.weight = trunc(d_out, d_in, std=(2 / (d_in + d_out)) ** 0.5)

    def forward(self, x):
        return einsum(self.weight, x, "o i, ... i -> ... o")


class Embedding(nn.Module):
    def __init__(self, vocab_size: int, d_model: int):
        super().__init__()
        self.weight = trunc(vocab_size, d_model, std=1.0)

    def forward(self, ids):
        return self.weight[ids]


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        x_type, x = x.dtype, x.to(torch.float32)
        ms = einsum(x, x, "... d, ... d -> ...") / x.shape[-1]
        x = einsum(x, torch.rsqrt(ms + self.eps), self.weight, "... d, ..., d -> ... d")
        return x.to(x_type)


class SwiGLU(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w1, self.w2, self.w3 = Linear(d_model, d_ff), Linear(d_ff, d_model), Linear(d_model, d_ff)

    def forward(self, x):
        a, b = self.w1(x), self.w3(x)
        return self.w2(a * torch.sigmoid(a) * b)


class RoPE(nn.Module):
    def __init__(self, theta: float, d_k: int, max_seq_len: int):
        super().__init__()
        inv = 1 / (theta ** (torch.arange(0, d_k, 2) / d_k))
        angle = einsum(torch.arange(max_seq_len).float(), inv, "i, k -> i k")
        angle = repeat(angle, "i k -> i (k two)", two=2)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    @staticmethod
    def quarter_turn(x):
        x = rearrange(x, "... (k two) -> ... k two", two=2)
        x = torch.stack((-x[..., 1], x[..., 0]), dim=-1)
        return rearrange(x, "... k two -> ... (k two)")

    def forward(self, x, positions):
        return x * self.cos[positions] + self.quarter_turn(x) * self.sin[positions]


def softmax(x, dim: int):
    x = torch.exp(x - torch.amax(x, dim=dim, keepdim=True))
    return x / x.sum(dim=dim, keepdim=True)


def attention(q, k, v, mask=None):
    att = einsum(q, k, "... q d, ... k d -> ... q k") * q.shape[-1] ** -0.5
    if mask is not None:
        att = torch.where(mask, att, float("-inf"))
    return einsum(softmax(att, -1), v, "... q k, ... k d -> ... q d")


class MHSA(nn.Module):
    """Rotates only if positions are given. The block always gives them."""

    def __init__(self, d_model: int, num_heads: int, rope: RoPE | None = None):
        super().__init__()
        self.num_heads, self.rope = num_heads, rope
        self.q_proj, self.k_proj = Linear(d_model, d_model), Linear(d_model, d_model)
        self.v_proj, self.output_proj = Linear(d_model, d_model), Linear(d_model, d_model)

    def forward(self, x, positions=None):
        split = "... s (h d) -> ... h s d"
        q = rearrange(self.q_proj(x), split, h=self.num_heads)
        k = rearrange(self.k_proj(x), split, h=self.num_heads)
        v = rearrange(self.v_proj(x), split, h=self.num_heads)
        if self.rope is not None and positions is not None:
            positions = rearrange(positions, "... s -> ... 1 s")
            q, k = self.rope(q, positions), self.rope(k, positions)
        s = x.shape[-2]
        mask = torch.tril(torch.ones(s, s, dtype=torch.bool, device=x.device))
        return self.output_proj(rearrange(attention(q, k, v, mask), "... h s d -> ... s (h d)"))


class Block(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, rope: RoPE):
        super().__init__()
        self.ln1, self.attn = RMSNorm(d_model), MHSA(d_model, num_heads, rope)
        self.ln2, self.ffn = RMSNorm(d_model), SwiGLU(d_model, d_ff)

    def forward(self, x):
        positions = torch.arange(x.shape[1], device=x.device)
        x = x + self.attn(self.ln1(x), positions)
        return x + self.ffn(self.ln2(x))


class TransformerLM(nn.Module):
    def __init__(self, vocab_size, context, d_model, num_layers, num_heads, d_ff, theta):
        super().__init__()
        rope = RoPE(theta, d_model // num_heads, context)
        self.token_embeddings = Embedding(vocab_size, d_model)
        self.layers = nn.ModuleList([Block(d_model, num_heads, d_ff, rope) for _ in range(num_layers)])
        self.ln_final, self.lm_head = RMSNorm(d_model), Linear(d_model, vocab_size)

    def forward(self, ids):
        x = self.token_embeddings(ids)
        for block in self.layers:
            x = block(x)
        return self.lm_head(self.ln_final(x))
