from __future__ import annotations

from typing import Optional

import torch
from pre_norm_2024 import Block, FeedForward, RMSNorm, SelfAttention, attention, gelu, softmax

from .common import at_least_float32, run


def run_positionwise_feedforward(
    d_model: int, d_ff: int, weights: dict[str, torch.FloatTensor], in_features: torch.FloatTensor
) -> torch.FloatTensor:
    return run(FeedForward(d_model, d_ff), weights, in_features)


def run_scaled_dot_product_attention(
    K: torch.FloatTensor,
    Q: torch.FloatTensor,
    V: torch.FloatTensor,
    mask: Optional[torch.BoolTensor] = None,
    pdrop: Optional[float] = None,
) -> torch.FloatTensor:
    k, q, v = at_least_float32(K, Q, V)
    return attention(k, q, v, mask, pdrop or 0.0).to(Q.dtype)


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    attn_pdrop: float,
    weights: dict[str, torch.FloatTensor],
    in_features: torch.FloatTensor,
) -> torch.FloatTensor:
    stacked = {
        f"{name}_proj.weight": torch.cat(
            [weights[f"{name}_heads.{n}.weight"] for n in range(num_heads)]
        )
        for name in "qkv"
    }
    stacked["output_proj.weight"] = weights["output_proj.weight"]
    return run(SelfAttention(d_model, num_heads, attn_pdrop), stacked, in_features)


def run_transformer_block(
    d_model: int,
    num_heads: int,
    d_ff: int,
    attn_pdrop: float,
    residual_pdrop: float,
    weights: dict[str, torch.FloatTensor],
    in_features: torch.FloatTensor,
) -> torch.FloatTensor:
    block = Block(d_model, num_heads, d_ff, (attn_pdrop, residual_pdrop))
    return run(block, weights, in_features)


def run_rmsnorm(
    d_model: int,
    eps: float,
    weights: dict[str, torch.FloatTensor],
    in_features: torch.FloatTensor,
) -> torch.FloatTensor:
    return run(RMSNorm(d_model, eps), weights, in_features)


def run_gelu(in_features: torch.FloatTensor) -> torch.FloatTensor:
    (x,) = at_least_float32(in_features)
    return gelu(x).to(in_features.dtype)


def run_softmax(in_features: torch.FloatTensor, dim: int) -> torch.FloatTensor:
    (x,) = at_least_float32(in_features)
    return softmax(x, dim).to(in_features.dtype)
