from __future__ import annotations

from cs336_basics import nn

PLACES = {
    "ln1": "r1.vec",
    "ln2": "r2.vec",
    "attn.q_proj": "mha.wq.mat",
    "attn.k_proj": "mha.wk.mat",
    "attn.v_proj": "mha.wv.mat",
    "attn.output_proj": "mha.wo.mat",
    "ffn.w1": "glu.one.mat",
    "ffn.w2": "glu.two.mat",
    "ffn.w3": "glu.three.mat",
    "token_embeddings": "emb.mat",
    "ln_final": "r.vec",
    "lm_head": "out.mat",
}


def translate(weights):
    state = {}
    for name, value in weights.items():
        name = name.removesuffix(".weight")
        front = ""
        if name.startswith("layers."):
            _, n, name = name.split(".", 2)
            front = f"blocks.{n}."
        state[front + PLACES[name]] = value
    return state


def run_linear(d_in, d_out, weights, in_features):
    m = nn.Linear(d_in, d_out)
    m.load_state_dict({"mat": weights})
    return m(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    m = nn.Embed(vocab_size, d_model)
    m.load_state_dict({"mat": weights})
    return m(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    m = nn.GLU(d_model, d_ff)
    m.load_state_dict({"one.mat": w1_weight, "two.mat": w2_weight, "three.mat": w3_weight})
    return m(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return nn.attn(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    m = nn.MHA(d_model, num_heads)
    m.load_state_dict(
        {"wq.mat": q_proj_weight, "wk.mat": k_proj_weight, "wv.mat": v_proj_weight, "wo.mat": o_proj_weight}
    )
    return m(in_features)


def run_multihead_self_attention_with_rope(
    d_model,
    num_heads,
    max_seq_len,
    theta,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
    token_positions=None,
):
    m = nn.MHA(d_model, num_heads, nn.Rope(theta, d_model // num_heads, max_seq_len))
    m.load_state_dict(
        {"wq.mat": q_proj_weight, "wk.mat": k_proj_weight, "wv.mat": v_proj_weight, "wo.mat": o_proj_weight}
    )
    return m(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return nn.Rope(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    m = nn.Block(d_model, num_heads, d_ff, max_seq_len, theta)
    m.load_state_dict(translate(weights))
    return m(in_features)


def run_transformer_lm(
    vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta, weights, in_indices
):
    m = nn.LM(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta)
    m.load_state_dict(translate(weights))
    return m(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    m = nn.RMS(d_model, eps)
    m.load_state_dict({"vec": weights})
    return m(in_features)


def run_silu(in_features):
    return in_features * in_features.sigmoid()


def run_softmax(in_features, dim):
    return nn.softmax(in_features, dim)
