from cs336_basics import my_layers as my


def run_linear(d_in, d_out, weights, in_features):
    x = my.MyLinear(d_in, d_out)
    x.weight.data[:] = weights
    return x(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    x = my.MyEmbedding(vocab_size, d_model)
    x.weight.data[:] = weights
    return x(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    x = my.MySwiGLU(d_model, d_ff)
    x.w1.weight.data[:] = w1_weight
    x.w2.weight.data[:] = w2_weight
    x.w3.weight.data[:] = w3_weight
    return x(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return my.my_attention(Q, K, V, mask)


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features):
    x = my.MyAttention(d_model, num_heads)
    x.q_proj.weight.data[:] = q_proj_weight
    x.k_proj.weight.data[:] = k_proj_weight
    x.v_proj.weight.data[:] = v_proj_weight
    x.output_proj.weight.data[:] = o_proj_weight
    return x(in_features)


def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight,
                                           in_features, token_positions=None):
    x = my.MyAttention(d_model, num_heads, my.MyRope(theta, d_model // num_heads, max_seq_len))
    x.q_proj.weight.data[:] = q_proj_weight
    x.k_proj.weight.data[:] = k_proj_weight
    x.v_proj.weight.data[:] = v_proj_weight
    x.output_proj.weight.data[:] = o_proj_weight
    return x(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return my.MyRope(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    rope = my.MyRope(theta, d_model // num_heads, max_seq_len)
    x = my.MyBlock(d_model, num_heads, d_ff, rope)
    x.load_state_dict(weights)
    return x(in_features)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    x = my.MyLM(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta)
    x.load_state_dict(weights)
    return x(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    x = my.MyRMSNorm(d_model, eps)
    x.weight.data[:] = weights
    return x(in_features)


def run_silu(in_features):
    return my.my_silu(in_features)


def run_softmax(in_features, dim):
    return my.my_softmax(in_features, dim)
