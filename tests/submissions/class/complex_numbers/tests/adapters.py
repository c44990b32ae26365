from __future__ import annotations

import torch

from cs336_basics import ModelConfig, Transformer
from cs336_basics import transformer as T
from cs336_basics.rotary import rotate, unit_circle


def build(kind, weights, **sizes):
    module = kind(ModelConfig(**sizes))
    module.load_state_dict(weights)
    return module


def run_linear(d_in, d_out, weights, in_features):
    dense = T.Dense(d_in, d_out)
    dense.load_state_dict({"weight": weights})
    return dense(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    return build(T.Table, {"weight": weights}, vocab_size=vocab_size, d_model=d_model)(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    weights = {"w1.weight": w1_weight, "w2.weight": w2_weight, "w3.weight": w3_weight}
    return build(T.GatedMLP, weights, d_model=d_model, d_ff=d_ff)(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return T.attention(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    module = T.SelfAttention(ModelConfig(d_model=d_model, num_heads=num_heads), use_rope=False)
    load(module, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return module(in_features)


def run_multihead_self_attention_with_rope(
    d_model,
    num_heads,
    max_seq_len,
    theta,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
    token_positions=None,
):
    cfg = ModelConfig(
        d_model=d_model, num_heads=num_heads, context_length=max_seq_len, rope_theta=theta
    )
    module = T.SelfAttention(cfg)
    load(module, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return module(in_features, token_positions)


def load(module, q, k, v, o):
    for name, weight in zip(("q_proj", "k_proj", "v_proj", "output_proj"), (q, k, v, o)):
        getattr(module, name).weight.data = weight


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return rotate(in_query_or_key, unit_circle(d_k, max_seq_len, theta)[token_positions])


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    block = build(
        T.Block,
        weights,
        d_model=d_model,
        num_heads=num_heads,
        d_ff=d_ff,
        context_length=max_seq_len,
        rope_theta=theta,
    )
    return block(in_features)


def run_transformer_lm(
    vocab_size,
    context_length,
    d_model,
    num_layers,
    num_heads,
    d_ff,
    rope_theta,
    weights,
    in_indices,
):
    cfg = ModelConfig(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta)
    model = Transformer(cfg)
    model.load_state_dict(weights)
    with torch.inference_mode():
        return model(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    return build(T.Norm, {"weight": weights}, d_model=d_model, norm_eps=eps)(in_features)


def run_silu(in_features):
    return in_features / (1 + torch.exp(-in_features))


def run_softmax(in_features, dim):
    return T.softmax(in_features, dim)
