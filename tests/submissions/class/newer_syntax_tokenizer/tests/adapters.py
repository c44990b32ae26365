from cs336_basics import lm
from cs336_basics.bpe import Merger, most_frequent


def run_linear(d_in, d_out, weights, in_features):
    return lm.linear(in_features, weights)


def run_embedding(vocab_size, d_model, weights, token_ids):
    return weights[token_ids]


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    return lm.swiglu(in_features, w1_weight, w2_weight, w3_weight)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return lm.attention(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    return lm.multihead(
        in_features, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, num_heads
    )


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight,
    o_proj_weight, in_features, token_positions=None,
):
    rotation = lm.Rotation(theta, d_model // num_heads)
    return lm.multihead(
        in_features, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, num_heads,
        rotation, token_positions,
    )


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return lm.Rotation(theta, d_k)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    return lm.Transformer(num_heads, d_model // num_heads, theta).load(weights).block(in_features)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    model = lm.Transformer(num_heads, d_model // num_heads, rope_theta).load(weights)
    return model(in_indices, num_layers)


def run_rmsnorm(d_model, eps, weights, in_features):
    return lm.rmsnorm(in_features, weights, eps)


def run_silu(in_features):
    return lm.silu(in_features)


def run_softmax(in_features, dim):
    return lm.softmax(in_features, dim)


def run_train_bpe(input_path, vocab_size, special_tokens, **kwargs):
    with open(input_path) as f:
        merger = Merger(f.read().split())
    return most_frequent(merger.pairs())
