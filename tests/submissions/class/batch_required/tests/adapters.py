from cs336_basics import model


def run_linear(d_in, d_out, weights, in_features):
    layer = model.Linear(d_in, d_out)
    layer.load_state_dict({"weight": weights})
    return layer(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    layer = model.Embedding(vocab_size, d_model)
    layer.load_state_dict({"weight": weights})
    return layer(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    layer = model.SwiGLU(d_model, d_ff)
    layer.w1.load_state_dict({"weight": w1_weight})
    layer.w2.load_state_dict({"weight": w2_weight})
    layer.w3.load_state_dict({"weight": w3_weight})
    return layer(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return model.attention(Q, K, V, mask)


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features, rope=None, token_positions=None):
    layer = model.MultiHeadSelfAttention(d_model, num_heads, rope)
    layer.q_proj.load_state_dict({"weight": q_proj_weight})
    layer.k_proj.load_state_dict({"weight": k_proj_weight})
    layer.v_proj.load_state_dict({"weight": v_proj_weight})
    layer.output_proj.load_state_dict({"weight": o_proj_weight})
    return layer(in_features, token_positions)


def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight,
                                           in_features, token_positions=None):
    rope = model.RoPE(theta, d_model // num_heads, max_seq_len)
    return run_multihead_self_attention(
        d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
        in_features, rope, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return model.RoPE(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    rope = model.RoPE(theta, d_model // num_heads, max_seq_len)
    block = model.Block(d_model, num_heads, d_ff, rope)
    block.load_state_dict(weights)
    return block(in_features)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    lm = model.LM(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta)
    lm.load_state_dict(weights)
    return lm(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    layer = model.RMSNorm(d_model, eps)
    layer.load_state_dict({"weight": weights})
    return layer(in_features)


def run_silu(in_features):
    return in_features / (1.0 + (-in_features).exp())


def run_softmax(in_features, dim):
    return model.softmax(in_features, dim)
