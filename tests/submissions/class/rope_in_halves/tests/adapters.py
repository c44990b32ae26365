from __future__ import annotations

import cs336_basics.transformer as tf


def load(module, *pairs, **kwargs):
    state = dict(pairs)
    module.load_state_dict(state, **kwargs)
    return module


def run_linear(d_in, d_out, weights, in_features):
    return load(tf.Linear(d_in, d_out), ("weight", weights))(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    return load(tf.Embedding(vocab_size, d_model), ("weight", weights))(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    ffn = tf.SwiGLU(d_model, d_ff)
    load(ffn, ("w1.weight", w1_weight), ("w2.weight", w2_weight), ("w3.weight", w3_weight))
    return ffn(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return tf.attend(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    attn = tf.SelfAttention(d_model, num_heads)
    load(
        attn,
        ("q_proj.weight", q_proj_weight),
        ("k_proj.weight", k_proj_weight),
        ("v_proj.weight", v_proj_weight),
        ("output_proj.weight", o_proj_weight),
    )
    return attn(in_features)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight,
    o_proj_weight, in_features, token_positions=None,
):
    rotary = tf.RotaryEmbedding(d_model // num_heads, max_seq_len, theta)
    attn = tf.SelfAttention(d_model, num_heads, rotary)
    load(
        attn,
        ("q_proj.weight", q_proj_weight),
        ("k_proj.weight", k_proj_weight),
        ("v_proj.weight", v_proj_weight),
        ("output_proj.weight", o_proj_weight),
    )
    return attn(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return tf.RotaryEmbedding(d_k, max_seq_len, theta)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    rotary = tf.RotaryEmbedding(d_model // num_heads, max_seq_len, theta)
    return load(tf.Block(d_model, num_heads, d_ff, rotary), *weights.items())(in_features)


def run_transformer_lm(
    vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta, weights, in_indices
):
    lm = tf.TransformerLM(
        vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta
    )
    return load(lm, *weights.items())(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    return load(tf.RMSNorm(d_model, eps), ("weight", weights))(in_features)


def run_silu(in_features):
    return tf.silu(in_features)


def run_softmax(in_features, dim):
    return tf.softmax(in_features, dim)
