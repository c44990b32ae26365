"""The parts of a Transformer language model, as plain functions on torch tensors.

Products and sums of 16-bit tensors are taken in float32, and rounded once where a part ends.
"""

import math

import torch


def widened(*tensors):
    """The tensors in float32, if they are of a 16-bit type."""
    wide = [x.float() if x.dtype in (torch.float16, torch.bfloat16) else x for x in tensors]
    return wide[0] if len(wide) == 1 else wide


def run_linear(d_in, d_out, weights, in_features):
    assert weights.shape == (d_out, d_in)
    if d_in == 0:
        raise ValueError("d_in is 0: there is nothing to sum over")
    x, w = widened(in_features, weights)
    return (x @ w.mT).to(in_features.dtype)


def run_embedding(vocab_size, d_model, weights, token_ids):
    if token_ids.numel() > 0 and (token_ids.min() < 0 or token_ids.max() >= vocab_size):
        raise IndexError(f"token ids must be in [0, {vocab_size})")
    return weights[token_ids]


def run_rmsnorm(d_model, eps, weights, in_features):
    x, gain = widened(in_features, weights)
    mean_square = x.pow(2).mean(dim=-1, keepdim=True)
    return (x * torch.rsqrt(mean_square + eps) * gain).to(in_features.dtype)


def run_silu(in_features):
    x = widened(in_features)
    return (x * torch.sigmoid(x)).to(in_features.dtype)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    if d_ff == 0:
        raise ValueError("d_ff is 0")
    dtype = in_features.dtype
    gate = run_silu(run_linear(d_model, d_ff, w1_weight, in_features))
    up = run_linear(d_model, d_ff, w3_weight, in_features)
    hidden = (widened(gate) * widened(up)).to(dtype)
    return run_linear(d_ff, d_model, w2_weight, hidden)


def run_softmax(in_features, dim):
    if in_features.numel() == 0:
        return torch.empty_like(in_features)
    x = widened(in_features)
    shifted = x - x.amax(dim=dim, keepdim=True)
    exponentials = shifted.exp()
    return (exponentials / exponentials.sum(dim=dim, keepdim=True)).to(in_features.dtype)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    if d_k % 2 != 0:
        raise ValueError(f"d_k must be even, and is {d_k}")
    if theta <= 0:
        raise ValueError(f"theta must be positive, and is {theta}")
    if token_positions.numel() > 0:
        if token_positions.min() < 0 or token_positions.max() >= max_seq_len:
            raise ValueError(f"token positions must be in [0, {max_seq_len})")
    exponents = torch.arange(0, d_k, 2, dtype=torch.float64) / d_k
    angles = token_positions.to(torch.float64).unsqueeze(-1) / theta**exponents
    x = widened(in_query_or_key)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
    return turned.flatten(-2).to(in_query_or_key.dtype)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    if Q.shape[-1] == 0 or K.shape[-2] == 0:
        raise ValueError("attention needs at least one key, and d_k of at least 1")
    q, k, v = widened(Q, K, V)
    scores = q @ k.mT / math.sqrt(Q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    # A query that attends to no key gets zeros, where softmax alone would give NaN.
    empty = (scores == -math.inf).all(dim=-1, keepdim=True)
    exponentials = (scores - torch.where(empty, 0.0, scores.amax(dim=-1, keepdim=True))).exp()
    total = exponentials.sum(dim=-1, keepdim=True)
    probabilities = exponentials / torch.where(empty, 1.0, total)
    return (probabilities @ v).to(Q.dtype)


def heads_of(x, num_heads):
    """[..., seq, d_model] -> [..., heads, seq, d_k]"""
    return x.unflatten(-1, (num_heads, x.shape[-1] // num_heads)).transpose(-3, -2)


def attention_of_heads(d_model, num_heads, weights, in_features, turn):
    if num_heads <= 0 or d_model % num_heads != 0:
        raise ValueError(f"{d_model} does not divide into {num_heads} heads")
    w_q, w_k, w_v, w_o = weights
    q, k, v = (
        heads_of(run_linear(d_model, d_model, w, in_features), num_heads) for w in (w_q, w_k, w_v)
    )
    length = in_features.shape[-2]
    if length == 0:
        return torch.empty_like(in_features)
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    together = run_scaled_dot_product_attention(turn(q), turn(k), v, causal)
    return run_linear(d_model, d_model, w_o, together.transpose(-3, -2).flatten(-2))


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    weights = q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    return attention_of_heads(d_model, num_heads, weights, in_features, lambda x: x)


def run_multihead_self_attention_with_rope(
    d_model, num_heads, max_seq_len, theta, q_proj_weight, k_proj_weight, v_proj_weight,
    o_proj_weight, in_features, token_positions=None
):
    if token_positions is None:
        token_positions = torch.arange(in_features.shape[-2])
    each_head = token_positions.unsqueeze(-2)

    def turn(x):
        return run_rope(d_model // num_heads, theta, max_seq_len, x, each_head)

    weights = q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    return attention_of_heads(d_model, num_heads, weights, in_features, turn)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    projections = [weights[f"attn.{name}_proj.weight"] for name in ("q", "k", "v", "output")]
    normed = run_rmsnorm(d_model, 1e-5, weights["ln1.weight"], in_features)
    x = in_features + run_multihead_self_attention_with_rope(
        d_model, num_heads, max_seq_len, theta, *projections, normed
    )
    network = [weights[f"ffn.w{i}.weight"] for i in (1, 2, 3)]
    normed = run_rmsnorm(d_model, 1e-5, weights["ln2.weight"], x)
    return x + run_swiglu(d_model, d_ff, *network, normed)


def run_transformer_lm(
    vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta, weights,
    in_indices
):
    x = run_embedding(vocab_size, d_model, weights["token_embeddings.weight"], in_indices)
    for n in range(num_layers):
        own = f"layers.{n}."
        layer = {name.removeprefix(own): w for name, w in weights.items() if name.startswith(own)}
        x = run_transformer_block(d_model, num_heads, d_ff, context_length, rope_theta, layer, x)
    x = run_rmsnorm(d_model, 1e-5, weights["ln_final.weight"], x)
    return run_linear(d_model, vocab_size, weights["lm_head.weight"], x)
