from __future__ import annotations

from cs336_basics import transformer as t


class Loaded:
    """Loaded(module, weight=...)(x): underscores instead of dots are fine"""

    def __init__(self, module, state=None, /, **weights):
        state = state or {k.replace("__", "."): w for k, w in weights.items()}
        module.load_state_dict(state)
        self.module = module

    def __call__(self, *args):
        return self.module(*args)


def run_linear(d_in, d_out, weights, in_features):
    return Loaded(t.Linear(d_in, d_out), weight=weights)(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    return Loaded(t.Embedding(vocab_size, d_model), weight=weights)(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    ffn = Loaded(
        t.SwiGLU(d_model, d_ff), w1__weight=w1_weight, w2__weight=w2_weight, w3__weight=w3_weight
    )
    return ffn(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return t.attention(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    attn = Loaded(
        t.SelfAttention(d_model, num_heads),
        q_proj__weight=q_proj_weight,
        k_proj__weight=k_proj_weight,
        v_proj__weight=v_proj_weight,
        output_proj__weight=o_proj_weight,
    )
    return attn(in_features)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight,
    o_proj_weight, in_features, token_positions=None,
):
    attn = Loaded(
        t.SelfAttention(d_model, num_heads, t.RoPE(theta, d_model // num_heads, max_seq_len)),
        q_proj__weight=q_proj_weight,
        k_proj__weight=k_proj_weight,
        v_proj__weight=v_proj_weight,
        output_proj__weight=o_proj_weight,
    )
    return attn(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return t.RoPE(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    rope = t.RoPE(theta, d_model // num_heads, max_seq_len)
    return Loaded(t.Block(d_model, num_heads, d_ff, rope), weights)(in_features)


def run_transformer_lm(
    vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta, weights, in_indices
):
    lm = t.TransformerLM(
        vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta
    )
    return Loaded(lm, weights)(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    return Loaded(t.RMSNorm(d_model, eps), weight=weights)(in_features)


def run_silu(in_features):
    return in_features * in_features.sigmoid()


def run_softmax(in_features, dim):
    return t.softmax(in_features, dim)
