#!/usr/bin/env python3
from __future__ import annotations

from typing import Optional

import torch

from cs336_basics import blocks, functions


def run_positionwise_feedforward(
    d_model: int, d_ff: int, weights: dict[str, torch.FloatTensor], in_features: torch.FloatTensor
) -> torch.FloatTensor:
    ffn = blocks.FFN(d_model, d_ff)
    ffn.load_state_dict(weights)
    return ffn(in_features)


def run_scaled_dot_product_attention(
    K: torch.FloatTensor,
    Q: torch.FloatTensor,
    V: torch.FloatTensor,
    mask: Optional[torch.BoolTensor] = None,
    pdrop: Optional[float] = None,
) -> torch.FloatTensor:
    return functions.scaled_dot_product_attention(K, Q, V, mask, pdrop)


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    attn_pdrop: float,
    weights: dict[str, torch.FloatTensor],
    in_features: torch.FloatTensor,
) -> torch.FloatTensor:
    attn = blocks.MultiHead(d_model, num_heads, attn_pdrop)
    attn.load(weights)
    return attn(in_features)


def run_transformer_block(
    d_model: int,
    num_heads: int,
    d_ff: int,
    attn_pdrop: float,
    residual_pdrop: float,
    weights: dict[str, torch.FloatTensor],
    in_features: torch.FloatTensor,
) -> torch.FloatTensor:
    block = blocks.TransformerBlock(d_model, num_heads, d_ff, attn_pdrop, residual_pdrop)
    block.load(weights)
    return block(in_features)


def run_rmsnorm(
    d_model: int,
    eps: float,
    weights: dict[str, torch.FloatTensor],
    in_features: torch.FloatTensor,
) -> torch.FloatTensor:
    norm = blocks.RMSNorm(d_model, eps)
    norm.load_state_dict(weights)
    return norm(in_features)


def run_gelu(in_features: torch.FloatTensor) -> torch.FloatTensor:
    return functions.gelu(in_features)


def run_softmax(in_features: torch.FloatTensor, dim: int) -> torch.FloatTensor:
    return functions.softmax(in_features, dim)


def get_tokenizer(vocab, merges, special_tokens=None):
    raise NotImplementedError
