from __future__ import annotations

from typing import Any

from cs336_basics.model import LM, Block, Embedding, Gate, Linear, MultiHead, Norm, Rope
from cs336_basics.model import attention, softmax


def state(**weights: Any) -> dict[str, Any]:
    return {f"{name}.weight" if name else "weight": w for name, w in weights.items()}


def run_linear(d_in, d_out, weights, in_features):
    m = Linear(d_in, d_out)
    m.weight.data = weights
    return m(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    m = Embedding(vocab_size, d_model)
    m.weight.data = weights
    return m(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    m = Gate(d_model, d_ff)
    m.load_state_dict(state(w1=w1_weight, w2=w2_weight, w3=w3_weight))
    return m(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attention(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    m = MultiHead(d_model, num_heads)
    m.load_state_dict(
        state(
            q_proj=q_proj_weight,
            k_proj=k_proj_weight,
            v_proj=v_proj_weight,
            output_proj=o_proj_weight,
        )
    )
    return m(in_features)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight,
    o_proj_weight, in_features, token_positions=None,
):
    m = MultiHead(d_model, num_heads, Rope(theta, d_model // num_heads, max_seq_len))
    m.load_state_dict(
        state(
            q_proj=q_proj_weight,
            k_proj=k_proj_weight,
            v_proj=v_proj_weight,
            output_proj=o_proj_weight,
        )
    )
    return m(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return Rope(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    m = Block(d_model, num_heads, d_ff, Rope(theta, d_model // num_heads, max_seq_len))
    m.load_state_dict(weights)
    return m(in_features)


def run_transformer_lm(
    vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta, weights, in_indices
):
    m = LM(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta)
    m.load_state_dict(weights)
    return m(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    m = Norm(d_model, eps)
    m.weight.data = weights
    return m(in_features)


def run_silu(in_features):
    return in_features * in_features.sigmoid()


def run_softmax(in_features, dim):
    return softmax(in_features, dim)
