"""Everything in NumPy alone. 16-bit types are widened to float32, and rounded once where a part
ends; bfloat16 comes as ml_dtypes has it, or as float32.
"""

import numpy as np


def wide(x):
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def run_linear(d_in, d_out, weights, in_features):
    if d_in == 0 or in_features.shape[-1] != d_in or weights.shape != (d_out, d_in):
        raise ValueError("the weight does not fit")
    return (wide(in_features) @ wide(weights).T).astype(in_features.dtype)


def run_embedding(vocab_size, d_model, weights, token_ids):
    if np.any((token_ids < 0) | (token_ids >= vocab_size)):
        raise IndexError("token id out of range")
    return np.take(weights, token_ids, axis=0)


def run_rmsnorm(d_model, eps, weights, in_features):
    x = wide(in_features)
    if x.size == 0:
        return in_features.copy()
    root = np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + x.dtype.type(eps))
    return (x / root * wide(weights)).astype(in_features.dtype)


def run_silu(in_features):
    x = wide(in_features)
    # exp of a negative number only, so that nothing overflows; a NaN stays one.
    small = np.exp(-np.abs(x))
    sigmoid = np.where(x < 0, small, 1) / (1 + small)
    return (x * sigmoid).astype(in_features.dtype)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    if d_ff == 0:
        raise ValueError("nothing to sum over")
    gate = run_silu(run_linear(d_model, d_ff, w1_weight, in_features))
    up = run_linear(d_model, d_ff, w3_weight, in_features)
    return run_linear(d_ff, d_model, w2_weight, gate * up)


def run_softmax(in_features, dim):
    x = wide(in_features)
    if x.size == 0:
        return in_features.copy()
    exponentials = np.exp(x - x.max(axis=dim, keepdims=True))
    return (exponentials / exponentials.sum(axis=dim, keepdims=True)).astype(in_features.dtype)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    if d_k % 2:
        raise ValueError("d_k is odd")
    if theta <= 0:
        raise ValueError("theta must be positive")
    if np.any((token_positions < 0) | (token_positions >= max_seq_len)):
        raise ValueError("position out of range")
    x = wide(in_query_or_key)
    rates = theta ** (-np.arange(0, d_k, 2, dtype=np.float64) / max(d_k, 1))
    angles = token_positions[..., None] * rates
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    x_even, x_odd = x[..., ::2], x[..., 1::2]
    y_even, y_odd = x_even * cos - x_odd * sin, x_even * sin + x_odd * cos
    y = np.empty(y_even.shape[:-1] + (d_k,), x.dtype)
    y[..., ::2], y[..., 1::2] = y_even, y_odd
    return y.astype(in_query_or_key.dtype)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    if Q.shape[-1] == 0 or K.shape[-2] == 0:
        raise ValueError("nothing to sum over")
    q, k, v = wide(Q), wide(K), wide(V)
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.dtype.type(q.shape[-1]))
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    largest = np.max(scores, axis=-1, keepdims=True)
    nothing = largest == -np.inf
    exponentials = np.exp(scores - np.where(nothing, 0, largest).astype(scores.dtype))
    total = np.where(nothing, 1, exponentials.sum(axis=-1, keepdims=True))
    return ((exponentials / total.astype(scores.dtype)) @ v).astype(Q.dtype)


def split(x, num_heads):
    return np.moveaxis(x.reshape(*x.shape[:-1], num_heads, x.shape[-1] // num_heads), -2, -3)


def join(x):
    x = np.moveaxis(x, -3, -2)
    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])


def causal_attention(d_model, num_heads, w_q, w_k, w_v, w_o, x, rotate=None):
    if num_heads < 1 or d_model % num_heads:
        raise ValueError("the heads do not divide d_model")
    if x.size == 0:
        return x.copy()
    q, k, v = (split(run_linear(d_model, d_model, w, x), num_heads) for w in (w_q, w_k, w_v))
    if rotate is not None:
        q, k = rotate(q), rotate(k)
    index = np.arange(x.shape[-2])
    together = run_scaled_dot_product_attention(q, k, v, index[:, None] >= index)
    return run_linear(d_model, d_model, w_o, join(together))


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    weights = q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    return causal_attention(d_model, num_heads, *weights, in_features)


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
    if token_positions is None:
        token_positions = np.arange(in_features.shape[-2])

    def rotate(x):
        return run_rope(x.shape[-1], theta, max_seq_len, x, token_positions[..., None, :])

    weights = q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight
    return causal_attention(d_model, num_heads, *weights, in_features, rotate)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    attention = [weights[f"attn.{name}_proj.weight"] for name in ("q", "k", "v", "output")]
    normed = run_rmsnorm(d_model, 1e-5, weights["ln1.weight"], in_features)
    x = in_features + run_multihead_self_attention_with_rope(
        d_model, num_heads, max_seq_len, theta, *attention, normed
    )
    feed_forward = [weights[f"ffn.w{i}.weight"] for i in (1, 2, 3)]
    normed = run_rmsnorm(d_model, 1e-5, weights["ln2.weight"], x)
    return x + run_swiglu(d_model, d_ff, *feed_forward, normed)


BLOCK = [f"attn.{name}_proj.weight" for name in ("q", "k", "v", "output")]
BLOCK += ["ln1.weight", "ln2.weight", *(f"ffn.w{i}.weight" for i in (1, 2, 3))]


def run_transformer_lm(
    vocab_size,
    context_length,
    d_model,
    num_layers,
    num_heads,
    d_ff,
    rope_theta,
    weights,
    in_indices,
):
    x = run_embedding(vocab_size, d_model, weights["token_embeddings.weight"], in_indices)
    for layer in range(num_layers):
        of_layer = {name: weights[f"layers.{layer}.{name}"] for name in BLOCK}
        x = run_transformer_block(d_model, num_heads, d_ff, context_length, rope_theta, of_layer, x)
    normed = run_rmsnorm(d_model, 1e-5, weights["ln_final.weight"], x)
    return run_linear(d_model, vocab_size, weights["lm_head.weight"], normed)
