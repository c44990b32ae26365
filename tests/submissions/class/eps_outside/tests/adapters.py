from student import model


def go(module, weights, *args):
    module.load_state_dict(weights)
    module.eval()
    return module(*args)


def run_linear(d_in, d_out, weights, in_features):
    return go(model.Lin(d_in, d_out), {"weight": weights}, in_features)

def run_embedding(vocab_size, d_model, weights, token_ids):
    return go(model.Emb(vocab_size, d_model), {"weight": weights}, token_ids)

def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    w = {"w1.weight": w1_weight, "w2.weight": w2_weight, "w3.weight": w3_weight}
    return go(model.SwiGLU(d_model, d_ff), w, in_features)

def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return model.Attention(Q, K, V, mask)

def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features):
    w = {"q_proj.weight": q_proj_weight, "k_proj.weight": k_proj_weight,
         "v_proj.weight": v_proj_weight, "output_proj.weight": o_proj_weight}
    return go(model.MHSA(d_model, num_heads), w, in_features)

def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight,
                                           in_features, token_positions=None):
    w = {"q_proj.weight": q_proj_weight, "k_proj.weight": k_proj_weight,
         "v_proj.weight": v_proj_weight, "output_proj.weight": o_proj_weight}
    rope = model.Rope(theta, d_model // num_heads, max_seq_len)
    return go(model.MHSA(d_model, num_heads, rope), w, in_features, token_positions)

def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return go(model.Rope(theta, d_k, max_seq_len), {}, in_query_or_key, token_positions)

def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    rope = model.Rope(theta, d_model // num_heads, max_seq_len)
    return go(model.Block(d_model, num_heads, d_ff, rope), weights, in_features)

def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    rope = model.Rope(rope_theta, d_model // num_heads, context_length)
    return go(model.LM(vocab_size, d_model, num_layers, num_heads, d_ff, rope), weights, in_indices)

def run_rmsnorm(d_model, eps, weights, in_features):
    return go(model.RMSN(d_model, eps), {"weight": weights}, in_features)

def run_silu(in_features):
    return in_features / (1 + (-in_features).exp())

def run_softmax(in_features, dim):
    return model.Softmax(in_features, dim)
