import lm
from loading import take


def run_linear(d_in, d_out, weights, in_features):
    return in_features @ weights.T


def run_embedding(vocab_size, d_model, weights, token_ids):
    return weights[token_ids]


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    return lm.swiglu(in_features, w1_weight, w2_weight, w3_weight)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return lm.attention(Q, K, V, mask)


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features):
    w = {"q_proj.weight": q_proj_weight, "k_proj.weight": k_proj_weight,
         "v_proj.weight": v_proj_weight, "output_proj.weight": o_proj_weight}
    return lm.multihead(in_features, w, num_heads)


def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight,
                                           in_features, token_positions=None):
    w = {"q_proj.weight": q_proj_weight, "k_proj.weight": k_proj_weight,
         "v_proj.weight": v_proj_weight, "output_proj.weight": o_proj_weight}
    return lm.multihead(in_features, w, num_heads, theta, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return lm.rotate(in_query_or_key, token_positions, theta)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    return lm.block(in_features, weights, take, num_heads, theta)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    return lm.language_model(in_indices, weights, take, num_layers, num_heads, rope_theta)


def run_rmsnorm(d_model, eps, weights, in_features):
    return lm.rmsnorm(in_features, weights, eps)


def run_silu(in_features):
    import torch

    return in_features / (1.0 + torch.exp(-in_features))


def run_softmax(in_features, dim):
    return lm.softmax(in_features, dim)
