from cs336_basics.layers import (
    LM, Attention, Block, Embedding, Linear, RMSNorm, RoPE, SwiGLU, attention, silu, softmax
)


def run_linear(d_in, d_out, weights, in_features):
    linear = Linear(d_in, d_out)
    linear.weight.data = weights
    return linear(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    embedding = Embedding(vocab_size, d_model)
    embedding.weight.data = weights
    return embedding(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    swiglu = SwiGLU(d_model, d_ff)
    swiglu.w1.weight.data = w1_weight
    swiglu.w2.weight.data = w2_weight
    swiglu.w3.weight.data = w3_weight
    return swiglu(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attention(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    module = Attention(d_model, num_heads)
    module.q_proj.weight.data = q_proj_weight
    module.k_proj.weight.data = k_proj_weight
    module.v_proj.weight.data = v_proj_weight
    module.output_proj.weight.data = o_proj_weight
    return module(in_features)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight,
    o_proj_weight, in_features, token_positions=None,
):
    module = Attention(d_model, num_heads, RoPE(theta, d_model // num_heads, max_seq_len))
    module.q_proj.weight.data = q_proj_weight
    module.k_proj.weight.data = k_proj_weight
    module.v_proj.weight.data = v_proj_weight
    module.output_proj.weight.data = o_proj_weight
    return module(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return RoPE(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    block = Block(d_model, num_heads, d_ff, RoPE(theta, d_model // num_heads, max_seq_len))
    block.load_state_dict(weights)
    return block(in_features)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    lm = LM(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta)
    lm.load_state_dict(weights)
    return lm(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    norm = RMSNorm(d_model, eps)
    norm.weight.data = weights
    return norm(in_features)


def run_silu(in_features):
    return silu(in_features)


def run_softmax(in_features, dim):
    return softmax(in_features, dim)
