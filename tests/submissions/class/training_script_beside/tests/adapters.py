import re

import cs336_basics as c

# the course's names -> ours, in this order
RENAME = [
    (r"^token_embeddings", "inp"),
    (r"^ln_final", "norm"),
    (r"^lm_head", "out"),
    (r"attn\.output_proj", "a.parts.o"),
    (r"attn\.([qkv])_proj", r"a.parts.\1"),
    (r"ffn\.(w\d)", r"f.parts.\1"),
    (r"ln1", "na"),
    (r"ln2", "nf"),
]


def renamed(weights):
    out = {}
    for name, w in weights.items():
        for old, new in RENAME:
            name = re.sub(old, new, name)
        out[name] = w
    return out


def run_linear(d_in, d_out, weights, in_features):
    m = c.Lin(d_in, d_out)
    m.weight.data = weights
    return m(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    m = c.Lookup(vocab_size, d_model)
    m.weight.data = weights
    return m(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    m = c.Swi(d_model, d_ff)
    for name, w in dict(w1=w1_weight, w2=w2_weight, w3=w3_weight).items():
        m.parts[name].weight.data = w
    return m(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return c.sdpa(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    m = c.Attention(d_model, num_heads)
    for p, w in zip("qkvo", (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)):
        m.parts[p].weight.data = w
    return m(in_features)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight,
    o_proj_weight, in_features, token_positions=None,
):
    m = c.Attention(d_model, num_heads, c.RoPE(theta, d_model // num_heads, max_seq_len))
    for p, w in zip("qkvo", (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)):
        m.parts[p].weight.data = w
    return m(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return c.RoPE(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    m = c.Block(d_model, num_heads, d_ff, c.RoPE(theta, d_model // num_heads, max_seq_len))
    m.load_state_dict(renamed(weights))
    return m(in_features)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff,
                       rope_theta, weights, in_indices):
    m = c.TransformerLM(
        vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta
    )
    m.load_state_dict(renamed(weights))
    return m(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    m = c.Rms(d_model, eps)
    m.weight.data = weights
    return m(in_features)


def run_silu(in_features):
    return in_features * in_features.sigmoid()


def run_softmax(in_features, dim):
    return c.soft_max(in_features, dim)
