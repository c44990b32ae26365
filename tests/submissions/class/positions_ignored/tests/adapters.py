from cs336_basics.layers import *


def run_linear(d_in, d_out, weights, in_features):
    layer = Linear(d_in, d_out)
    layer.load_state_dict({'weight': weights})
    return layer.forward(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    layer = Embedding(vocab_size, d_model)
    layer.load_state_dict({'weight': weights})
    return layer.forward(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    layer = SwiGLU(d_model, d_ff)
    layer.load_state_dict({'w1.weight': w1_weight, 'w2.weight': w2_weight, 'w3.weight': w3_weight})
    return layer.forward(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return sdpa(Q, K, V, mask)


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features):
    layer = MultiheadSelfAttention(d_model, num_heads)
    layer.load_state_dict({
        'q_proj.weight': q_proj_weight, 'k_proj.weight': k_proj_weight,
        'v_proj.weight': v_proj_weight, 'output_proj.weight': o_proj_weight})
    return layer.forward(in_features)


def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight,
                                           in_features, token_positions=None):
    rope = RotaryPositionalEmbedding(theta, d_model // num_heads, max_seq_len)
    layer = MultiheadSelfAttention(d_model, num_heads, rope)
    layer.load_state_dict({
        'q_proj.weight': q_proj_weight, 'k_proj.weight': k_proj_weight,
        'v_proj.weight': v_proj_weight, 'output_proj.weight': o_proj_weight})
    return layer.forward(in_features)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return RotaryPositionalEmbedding(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    rope = RotaryPositionalEmbedding(theta, d_model // num_heads, max_seq_len)
    layer = TransformerBlock(d_model, num_heads, d_ff, rope)
    layer.load_state_dict(weights)
    return layer.forward(in_features)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    layer = TransformerLM(
        vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta)
    layer.load_state_dict(weights)
    return layer.forward(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    layer = RMSNorm(d_model, eps)
    layer.load_state_dict({'weight': weights})
    return layer.forward(in_features)


def run_silu(in_features):
    return in_features * torch.sigmoid(in_features)


def run_softmax(in_features, dim):
    return softmax(in_features, dim)
