from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from cs336_basics import nn


def given(module, weights):
    module.w.data.copy_(weights)
    return module


def run_linear(d_in: int, d_out: int, weights: Float[Tensor, "d_out d_in"], in_features):
    return given(nn.Linear(d_in, d_out), weights)(in_features)


def run_embedding(vocab_size: int, d_model: int, weights, token_ids: Int[Tensor, "..."]):
    return given(nn.Embedding(vocab_size, d_model), weights)(token_ids)


def run_swiglu(d_model: int, d_ff: int, w1_weight, w2_weight, w3_weight, in_features):
    return nn.SwiGLU(d_model, d_ff).set(w1_weight, w2_weight, w3_weight)(in_features)


def run_scaled_dot_product_attention(
    Q: Float[Tensor, "... n d_k"],
    K: Float[Tensor, "... m d_k"],
    V: Float[Tensor, "... m d_v"],
    mask: Bool[Tensor, "... n m"] | None = None,
) -> Float[Tensor, "... n d_v"]:
    return nn.attention(Q, K, V, None if mask is None else nn.additive_mask(mask, Q.dtype))


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
):
    module = nn.CausalAttention(d_model, num_heads)
    return module.set(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)(in_features)


def run_multihead_self_attention_with_rope(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
    token_positions=None,
):
    rope = nn.RoPE(theta, d_model // num_heads, max_seq_len)
    module = nn.CausalAttention(d_model, num_heads, rope)
    module.set(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    if token_positions is not None and token_positions.ndim > 1 and len(token_positions) == 1:
        token_positions = token_positions[0]
    return module(in_features, token_positions)


def run_rope(d_k: int, theta: float, max_seq_len: int, in_query_or_key, token_positions):
    return nn.RoPE(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(
    d_model: int, num_heads: int, d_ff: int, max_seq_len: int, theta: float, weights, in_features
):
    rope = nn.RoPE(theta, d_model // num_heads, max_seq_len)
    return nn.TransformerLayer(d_model, num_heads, d_ff, rope).set(weights)(in_features)


def run_transformer_lm(
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    d_ff: int,
    rope_theta: float,
    weights: dict[str, Tensor],
    in_indices: Int[Tensor, "batch seq"],
):
    model = nn.Transformer(
        vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta
    )
    with torch.no_grad():
        return model.set(weights)(in_indices)


def run_rmsnorm(d_model: int, eps: float, weights, in_features):
    return given(nn.RMSNorm(d_model, eps), weights)(in_features)


def run_silu(in_features: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    return nn.silu(in_features)


def run_softmax(in_features: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    return nn.softmax(in_features, dim)
