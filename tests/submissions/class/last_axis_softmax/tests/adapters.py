from basics import core, modules


def run(module, x, *more, **weights):
    module.load_state_dict({name.replace("_weight", ".weight"): w for name, w in weights.items()})
    return module(x, *more)


def run_linear(d_in, d_out, weights, in_features):
    return run(modules.Linear(d_in, d_out), in_features, weight=weights)


def run_embedding(vocab_size, d_model, weights, token_ids):
    return run(modules.Embedding(vocab_size, d_model), token_ids, weight=weights)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    return run(modules.FFN(d_model, d_ff), in_features,
               w1_weight=w1_weight, w2_weight=w2_weight, w3_weight=w3_weight)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return core.sdpa(Q, K, V, mask)


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features):
    return run(modules.Attention(d_model, num_heads), in_features,
               q_proj_weight=q_proj_weight, k_proj_weight=k_proj_weight,
               v_proj_weight=v_proj_weight, output_proj_weight=o_proj_weight)


def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight,
                                           in_features, token_positions=None):
    rotary = modules.Rotary(theta, d_model // num_heads, max_seq_len)
    return run(modules.Attention(d_model, num_heads, rotary), in_features, token_positions,
               q_proj_weight=q_proj_weight, k_proj_weight=k_proj_weight,
               v_proj_weight=v_proj_weight, output_proj_weight=o_proj_weight)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return modules.Rotary(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    rotary = modules.Rotary(theta, d_model // num_heads, max_seq_len)
    return run(modules.Block(d_model, num_heads, d_ff, rotary), in_features, **weights)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    lm = modules.LM(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta)
    return run(lm, in_indices, **weights)


def run_rmsnorm(d_model, eps, weights, in_features):
    return run(modules.RMSNorm(d_model, eps), in_features, weight=weights)


def run_silu(in_features):
    return in_features * in_features.sigmoid()


def run_softmax(in_features, dim):
    return core.softmax(in_features)
