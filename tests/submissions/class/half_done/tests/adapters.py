from __future__ import annotations

from jaxtyping import Bool, Float, Int
from torch import Tensor

from cs336_basics import week1, week2


def run_linear(
    d_in: int,
    d_out: int,
    weights: Float[Tensor, " d_out d_in"],
    in_features: Float[Tensor, " ... d_in"],
) -> Float[Tensor, " ... d_out"]:
    return week1.linear(weights, in_features)


def run_embedding(
    vocab_size: int, d_model: int, weights: Float[Tensor, " v d"], token_ids: Int[Tensor, " ..."]
) -> Float[Tensor, " ... d"]:
    return week1.embedding(weights, token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    return week1.swiglu(w1_weight, w2_weight, w3_weight, in_features)


def run_scaled_dot_product_attention(Q, K, V, mask: Bool[Tensor, " ... n m"] | None = None):
    return week2.attention(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    return week2.multihead(
        num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
    )


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight,
    o_proj_weight, in_features, token_positions=None,
):
    raise NotImplementedError


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return week2.rope(in_query_or_key, token_positions, theta, d_k)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    raise NotImplementedError


def run_transformer_lm(
    vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta, weights, in_indices
):
    raise NotImplementedError


def run_rmsnorm(d_model, eps, weights, in_features):
    return week1.rmsnorm(weights, in_features)


def run_silu(in_features):
    raise NotImplementedError("part of swiglu")


def run_softmax(in_features, dim):
    return week2.softmax(in_features, dim)
