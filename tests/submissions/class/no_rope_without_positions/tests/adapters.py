from __future__ import annotations

from cs336_basics import blocks

MHSA_NAMES = ("q_proj.weight", "k_proj.weight", "v_proj.weight", "output_proj.weight")


def run_linear(d_in, d_out, weights, in_features):
    m = blocks.Linear(d_in, d_out)
    m.load_state_dict(dict(weight=weights))
    return m(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    m = blocks.Embedding(vocab_size, d_model)
    m.load_state_dict(dict(weight=weights))
    return m(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    m = blocks.SwiGLU(d_model, d_ff)
    m.load_state_dict({"w1.weight": w1_weight, "w2.weight": w2_weight, "w3.weight": w3_weight})
    return m(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return blocks.attention(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    m = blocks.MHSA(d_model, num_heads)
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    m.load_state_dict(dict(zip(MHSA_NAMES, weights)))
    return m(in_features)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight,
    o_proj_weight, in_features, token_positions=None,
):
    rope = blocks.RoPE(theta, d_model // num_heads, max_seq_len)
    m = blocks.MHSA(d_model, num_heads, rope)
    weights = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    m.load_state_dict(dict(zip(MHSA_NAMES, weights)))
    return m(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return blocks.RoPE(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    rope = blocks.RoPE(theta, d_model // num_heads, max_seq_len)
    m = blocks.Block(d_model, num_heads, d_ff, rope)
    m.load_state_dict(weights)
    return m(in_features)


def run_transformer_lm(
    vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta, weights, in_indices
):
    m = blocks.TransformerLM(
        vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta
    )
    m.load_state_dict(weights)
    return m(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    m = blocks.RMSNorm(d_model, eps)
    m.load_state_dict(dict(weight=weights))
    return m(in_features)


def run_silu(in_features):
    return in_features * in_features.sigmoid()


def run_softmax(in_features, dim):
    return blocks.softmax(in_features, dim)
