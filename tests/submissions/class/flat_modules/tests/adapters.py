import attn
import bpe
import lm
import norm
import ops


def run_linear(d_in, d_out, weights, in_features):
    return ops.matvec(weights, in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    return weights[token_ids]


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    return lm.Gated(d_model, d_ff).set(w1_weight, w2_weight, w3_weight)(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attn.attend(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    heads = attn.Heads(d_model, num_heads)
    heads.set(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return heads(in_features)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight,
    o_proj_weight, in_features, token_positions=None,
):
    heads = attn.Heads(d_model, num_heads, attn.Rope(theta, d_model // num_heads, max_seq_len))
    heads.set(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return heads(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return attn.Rope(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    return lm.Layer(d_model, num_heads, d_ff, max_seq_len, theta).set(weights)(in_features)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    model = lm.Model(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta)
    return model.set(weights)(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    n = norm.Norm(d_model, eps)
    n.scale.data = weights
    return n(in_features)


def run_silu(in_features):
    return ops.swish(in_features)


def run_softmax(in_features, dim):
    return ops.softmax(in_features, dim)


def get_pair_queue():
    return bpe.PairQueue()
