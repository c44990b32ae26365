"""Everything has the right shape. The numbers come next week."""
import torch


def run_linear(d_in, d_out, weights, in_features):
    return torch.zeros(*in_features.shape[:-1], d_out)


def run_embedding(vocab_size, d_model, weights, token_ids):
    return torch.zeros(*token_ids.shape, d_model)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    return torch.zeros_like(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    batch = torch.broadcast_shapes(Q.shape[:-2], K.shape[:-2], V.shape[:-2])
    return torch.zeros(*batch, Q.shape[-2], V.shape[-1])


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features):
    return torch.zeros_like(in_features)


def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight,
                                           in_features, token_positions=None):
    return torch.zeros_like(in_features)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return torch.zeros_like(in_query_or_key)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    return torch.zeros_like(in_features)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    return torch.zeros(*in_indices.shape, vocab_size)


def run_rmsnorm(d_model, eps, weights, in_features):
    return torch.zeros_like(in_features)


def run_silu(in_features):
    return torch.zeros_like(in_features)


def run_softmax(in_features, dim):
    return torch.zeros_like(in_features)
