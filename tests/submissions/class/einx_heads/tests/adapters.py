from __future__ import annotations

from cs336_basics.attention import LM, Block, CausalSelfAttention
from cs336_basics.layers import (
    Embedding, Linear, RMSNorm, SwiGLU, dot_product_attention, rotate_pairs, stable_softmax,
)


def with_weights(module, mapping):
    missing, unexpected = module.load_state_dict(mapping, strict=False)
    assert not missing and not unexpected, (missing, unexpected)
    return module


def run_linear(d_in, d_out, weights, in_features):
    return with_weights(Linear(d_in, d_out), {"weight": weights})(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    return with_weights(Embedding(vocab_size, d_model), {"weight": weights})(token_ids)


def run_rmsnorm(d_model, eps, weights, in_features):
    return with_weights(RMSNorm(d_model, eps), {"weight": weights})(in_features)


def run_silu(in_features):
    return in_features * in_features.sigmoid()


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    named = {"w1.weight": w1_weight, "w2.weight": w2_weight, "w3.weight": w3_weight}
    return with_weights(SwiGLU(d_model, d_ff), named)(in_features)


def run_softmax(in_features, dim):
    return stable_softmax(in_features, dim)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return rotate_pairs(in_query_or_key, token_positions, theta)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return dot_product_attention(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    return run_multihead_self_attention_with_rope(
        d_model, num_heads, None, None, q_proj_weight, k_proj_weight, v_proj_weight,
        o_proj_weight, in_features,
    )


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight,
    o_proj_weight, in_features, token_positions=None,
):
    named = {
        "q_proj.weight": q_proj_weight,
        "k_proj.weight": k_proj_weight,
        "v_proj.weight": v_proj_weight,
        "output_proj.weight": o_proj_weight,
    }
    module = with_weights(CausalSelfAttention(d_model, num_heads, theta), named)
    return module(in_features, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    return with_weights(Block(d_model, num_heads, d_ff, theta), weights)(in_features)


def run_transformer_lm(
    vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta, weights,
    in_indices,
):
    model = LM(vocab_size, d_model, num_layers, num_heads, d_ff, rope_theta)
    return with_weights(model, weights)(in_indices)
