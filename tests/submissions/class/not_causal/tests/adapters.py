import cs336_basics.model as m


def run_linear(d_in, d_out, weights, in_features):
    layer = m.Linear(d_in, d_out)
    layer.load_state_dict({"weight": weights})
    return layer(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    layer = m.Embedding(vocab_size, d_model)
    layer.load_state_dict({"weight": weights})
    return layer(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    layer = m.SwiGLU(d_model, d_ff)
    layer.load_state_dict({"w1.weight": w1_weight, "w2.weight": w2_weight, "w3.weight": w3_weight})
    return layer(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return m.scaled_dot_product_attention(Q, K, V, mask)


def mha(d_model, num_heads, q, k, v, o, rope=None):
    layer = m.MHA(d_model, num_heads, rope)
    layer.load_state_dict(
        {"q_proj.weight": q, "k_proj.weight": k, "v_proj.weight": v, "output_proj.weight": o}
    )
    return layer


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    weights = q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    return mha(d_model, num_heads, *weights)(in_features)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight,
    o_proj_weight, in_features, token_positions=None,
):
    weights = q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    rope = m.RoPE(theta, d_model // num_heads, max_seq_len)
    return mha(d_model, num_heads, *weights, rope)(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return m.RoPE(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    rope = m.RoPE(theta, d_model // num_heads, max_seq_len)
    layer = m.Block(d_model, num_heads, d_ff, rope)
    layer.load_state_dict(weights)
    return layer(in_features)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    lm = m.TransformerLM(
        vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta
    )
    lm.load_state_dict(weights)
    return lm(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    layer = m.RMSNorm(d_model, eps)
    layer.load_state_dict({"weight": weights})
    return layer(in_features)


def run_silu(in_features):
    return m.nn.functional.silu(in_features)


def run_softmax(in_features, dim):
    return m.softmax(in_features, dim)
