"""The assignment as its handout reads, in float32: right, and no more than is asked.

Angles are kept in float32 tables, a mask is filled with -inf before the softmax, and positions are
those of one sequence.
"""

import math

import torch


def run_linear(d_in, d_out, weights, in_features):
    return in_features @ weights.T


def run_embedding(vocab_size, d_model, weights, token_ids):
    return weights[token_ids]


def run_rmsnorm(d_model, eps, weights, in_features):
    in_dtype = in_features.dtype
    x = in_features.to(torch.float32)
    rms = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (x / rms * weights.to(torch.float32)).to(in_dtype)


def run_silu(in_features):
    return in_features * torch.sigmoid(in_features)


def run_gelu(in_features):
    return 0.5 * in_features * (1 + torch.erf(in_features / math.sqrt(2)))


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    return (run_silu(in_features @ w1_weight.T) * (in_features @ w3_weight.T)) @ w2_weight.T


def run_softmax(in_features, dim):
    shifted = in_features - in_features.max(dim=dim, keepdim=True).values
    exponentials = torch.exp(shifted)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return run_softmax(scores, -1) @ V


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    frequencies = 1.0 / theta ** (torch.arange(0, d_k, 2).float() / d_k)
    angles = torch.outer(torch.arange(max_seq_len).float(), frequencies)
    cos, sin = angles.cos()[token_positions], angles.sin()[token_positions]
    even, odd = in_query_or_key[..., 0::2], in_query_or_key[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def attention(num_heads, q_proj, k_proj, v_proj, o_proj, x, turn=lambda heads: heads):
    sequence, d_model = x.shape[-2:]

    def heads(weight):
        return (x @ weight.T).unflatten(-1, (num_heads, -1)).transpose(-3, -2)

    q, k, v = turn(heads(q_proj)), turn(heads(k_proj)), heads(v_proj)
    causal = torch.tril(torch.ones(sequence, sequence, dtype=torch.bool))
    together = run_scaled_dot_product_attention(q, k, v, causal)
    return together.transpose(-3, -2).flatten(-2) @ o_proj.T


def run_multihead_self_attention(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                                 o_proj_weight, in_features):
    return attention(num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
                     in_features)


def run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, q_proj_weight,
                                           k_proj_weight, v_proj_weight, o_proj_weight, in_features,
                                           token_positions=None):
    if token_positions is None:
        token_positions = torch.arange(in_features.shape[-2])

    def turn(heads):
        return run_rope(d_model // num_heads, theta, max_seq_len, heads, token_positions)

    return attention(num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight,
                     in_features, turn)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    x = in_features
    normed = run_rmsnorm(d_model, 1e-5, weights["ln1.weight"], x)
    x = x + run_multihead_self_attention_with_rope(
        d_model, num_heads, max_seq_len, theta, weights["attn.q_proj.weight"],
        weights["attn.k_proj.weight"], weights["attn.v_proj.weight"],
        weights["attn.output_proj.weight"], normed)
    normed = run_rmsnorm(d_model, 1e-5, weights["ln2.weight"], x)
    return x + run_swiglu(d_model, d_ff, weights["ffn.w1.weight"], weights["ffn.w2.weight"],
                          weights["ffn.w3.weight"], normed)


def run_transformer_lm(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta,
                       weights, in_indices):
    x = weights["token_embeddings.weight"][in_indices]
    for i in range(num_layers):
        start = f"layers.{i}."
        layer = {key.replace(start, ""): weights[key] for key in weights if key.startswith(start)}
        x = run_transformer_block(d_model, num_heads, d_ff, context_length, rope_theta, layer, x)
    return run_rmsnorm(d_model, 1e-5, weights["ln_final.weight"], x) @ weights["lm_head.weight"].T
