from cs336_basics.basics import (FFN, Attention, Linear, MultiHeadSelfAttention, RMSNorm, RoPE, SiLU,
                                 TransformerBlock, TransformerLM, Weights, softmax)


def run_linear(d_in, d_out, weights, in_features):
    assert weights.shape == (d_out, d_in)
    return Linear(weights, in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    assert weights.shape == (vocab_size, d_model)
    return weights[token_ids]


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    assert w1_weight.shape == w3_weight.shape == w2_weight.T.shape == (d_ff, d_model)
    return FFN(w1_weight, w2_weight, w3_weight, in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return Attention(Q, K, V, mask)


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features):
    return MultiHeadSelfAttention(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
                                  num_heads, in_features)


def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight,
                                           in_features, token_positions=None):
    return MultiHeadSelfAttention(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
                                  num_heads, in_features, theta, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return RoPE(theta, in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    return TransformerBlock(Weights(weights), "", num_heads, theta, in_features)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    return TransformerLM(Weights(weights), num_layers, num_heads, rope_theta, in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    return RMSNorm(weights, in_features, eps)


def run_silu(in_features):
    return SiLU(in_features)


def run_softmax(in_features, dim):
    return softmax(in_features, dim)
