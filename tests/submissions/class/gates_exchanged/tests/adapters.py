import torch

from cs336_basics import lm, parts


def put(module, weights):
    """ "attn.q_proj.weight" is module.attn.p["q_proj"]; a norm's weight is p["gain"] """
    with torch.no_grad():
        for name, value in weights.items():
            *path, last, _ = name.split(".")
            owner = module
            for step in path:
                owner = owner[int(step)] if step.isdigit() else getattr(owner, step)
            if last.startswith("ln"):
                getattr(owner, last).p["gain"].copy_(value)
            else:
                owner.p[last].copy_(value)
    return module


def run_linear(d_in, d_out, weights, in_features):
    return parts.matmul_last(in_features, weights)


def run_embedding(vocab_size, d_model, weights, token_ids):
    return weights[token_ids]


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    weights = {"w1.weight": w1_weight, "w2.weight": w2_weight, "w3.weight": w3_weight}
    return put(parts.FeedForward(d_model, d_ff), weights)(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return parts.attend(Q, K, V, mask)


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features):
    weights = {"q_proj.weight": q_proj_weight, "k_proj.weight": k_proj_weight,
               "v_proj.weight": v_proj_weight, "output_proj.weight": o_proj_weight}
    return put(parts.Attention(d_model, num_heads), weights)(in_features)


def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight,
                                           in_features, token_positions=None):
    weights = {"q_proj.weight": q_proj_weight, "k_proj.weight": k_proj_weight,
               "v_proj.weight": v_proj_weight, "output_proj.weight": o_proj_weight}
    rotary = parts.Rotary(theta, d_model // num_heads, max_seq_len)
    return put(parts.Attention(d_model, num_heads, rotary), weights)(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return parts.Rotary(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    rotary = parts.Rotary(theta, d_model // num_heads, max_seq_len)
    return put(parts.Layer(d_model, num_heads, d_ff, rotary), weights)(in_features)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    model = lm.LanguageModel(
        vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta)
    return put(model, weights)(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    norm = parts.RootMeanSquareNorm(d_model, eps)
    norm.p["gain"].data.copy_(weights)
    return norm(in_features)


def run_silu(in_features):
    return in_features * torch.sigmoid(in_features)


def run_softmax(in_features, dim):
    return parts.softmax(in_features, dim)
