"""Attention and what it needs."""

from __future__ import annotations

import functools
import math

import torch
import torch.nn as nn

from cs336_basics.layers import Embedding, Linear, RMSNorm, SwiGLU


def softmax(x: torch.Tensor, dim: int) -> torch.Tensor:
    """Softmax along a dimension.

    Args:
        x: Any tensor.
        dim: The dimension that sums to one.

    Returns:
        A tensor of the same shape.
    """
    maximum = x.max(dim=dim, keepdim=True).values
    exponentials = (x - maximum).exp()
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


def scaled_dot_product_attention(q, k, v, mask=None):
    """Attention with an optional boolean mask (True: attend)."""
    scores = torch.einsum("... q d, ... k d -> ... q k", q, k) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(torch.logical_not(mask), float("-inf"))
    return torch.einsum("... q k, ... k d -> ... q d", softmax(scores, -1), v)


@functools.lru_cache(maxsize=8)
def rope_table(theta: float, d_k: int, max_seq_len: int) -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin for all positions, shared by all layers that ask for the same sizes."""
    frequencies = 1.0 / torch.pow(theta, torch.arange(0, d_k, 2, dtype=torch.float32) / d_k)
    angles = torch.arange(max_seq_len, dtype=torch.float32)[:, None] * frequencies
    return torch.cos(angles), torch.sin(angles)


class RotaryPositionalEmbedding(nn.Module):
    """Rotates neighbouring pairs of queries and keys."""

    def __init__(self, theta: float, d_k: int, max_seq_len: int) -> None:
        super().__init__()
        self.cos, self.sin = rope_table(float(theta), d_k, max_seq_len)

    def forward(self, x: torch.Tensor, token_positions: torch.Tensor) -> torch.Tensor:
        """Rotate x of shape (..., seq, d_k) by the angles at token_positions (..., seq)."""
        cos, sin = self.cos[token_positions], self.sin[token_positions]
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


class MultiHeadSelfAttention(nn.Module):
    """Causal multi-head self-attention, with RoPE if theta and max_seq_len are given."""

    def __init__(self, d_model, num_heads, theta=None, max_seq_len=None) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.q_proj = Linear(d_model, d_model)
        self.k_proj = Linear(d_model, d_model)
        self.v_proj = Linear(d_model, d_model)
        self.output_proj = Linear(d_model, d_model)
        self.rope = None
        if theta is not None:
            self.rope = RotaryPositionalEmbedding(theta, self.d_k, max_seq_len)

    def forward(self, x, token_positions=None) -> torch.Tensor:
        seq_len = x.shape[-2]
        shape = x.shape[:-1] + (self.num_heads, self.d_k)
        q = self.q_proj(x).view(shape).transpose(-2, -3)
        k = self.k_proj(x).view(shape).transpose(-2, -3)
        v = self.v_proj(x).view(shape).transpose(-2, -3)
        if self.rope is not None:
            if token_positions is None:
                token_positions = torch.arange(seq_len)
            token_positions = token_positions.unsqueeze(-2)
            q = self.rope(q, token_positions)
            k = self.rope(k, token_positions)
        mask = torch.ones(seq_len, seq_len, dtype=torch.bool).tril()
        out = scaled_dot_product_attention(q, k, v, mask)
        return self.output_proj(out.transpose(-2, -3).contiguous().view(x.shape))


class TransformerBlock(nn.Module):
    """Pre-norm block."""

    def __init__(self, d_model, num_heads, d_ff, max_seq_len, theta) -> None:
        super().__init__()
        self.ln1 = RMSNorm(d_model)
        self.ln2 = RMSNorm(d_model)
        self.attn = MultiHeadSelfAttention(d_model, num_heads, theta, max_seq_len)
        self.ffn = SwiGLU(d_model, d_ff)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        after_attention = x + self.attn(self.ln1(x))
        return after_attention + self.ffn(self.ln2(after_attention))


class TransformerLM(nn.Module):
    """Embedding, blocks, norm, logits."""

    def __init__(self, vocab_size, context_length, d_model, num_layers, num_heads, d_ff, theta):
        super().__init__()
        self.token_embeddings = Embedding(vocab_size, d_model)
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(TransformerBlock(d_model, num_heads, d_ff, context_length, theta))
        self.ln_final = RMSNorm(d_model)
        self.lm_head = Linear(d_model, vocab_size)

    def forward(self, token_ids: torch.Tensor) -> torch.Tensor:
        x = self.token_embeddings(token_ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.ln_final(x))
