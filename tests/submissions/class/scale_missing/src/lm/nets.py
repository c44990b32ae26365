"""Functional Transformer in the style of NumPy code: weights are plain tensors or flat dictionaries.

Shapes: x (..., d_model), q (..., n, d_k), k (..., m, d_k), v (..., m, d_v), mask of bool (..., n, m),
positions of int (..., seq), w1 and w3 (d_ff, d_model), w2 (d_model, d_ff).
"""

import numpy as np
import torch


def rmsnorm(x, gain, eps=1e-5):
    """Root mean square normalization."""
    y = x.to(torch.float32)
    y = y / torch.sqrt((y**2).mean(axis=-1, keepdims=True) + eps)
    return (y * gain).to(x.dtype)


def swiglu(x, w1, w2, w3):
    """Gated feed-forward network."""
    a = x @ w1.T
    return (a / (1.0 + torch.exp(-a)) * (x @ w3.T)) @ w2.T


def softmax(x, axis):
    """Softmax that does not overflow."""
    z = torch.exp(x - x.amax(axis=axis, keepdims=True))
    return z / z.sum(axis=axis, keepdims=True)


def attention(q, k, v, mask=None):
    """Attention."""
    logits = q @ k.swapaxes(-1, -2)
    if mask is not None:
        logits = torch.where(mask, logits, -np.inf)
    return softmax(logits, -1) @ v


def rotate(x, positions, theta):
    """Rotary embedding of neighbouring pairs."""
    d = x.shape[-1]
    frequency = torch.from_numpy(np.power(theta, -np.arange(0, d, 2) / d))
    angle = positions[..., None] * frequency
    cos, sin = torch.cos(angle).to(x.dtype), torch.sin(angle).to(x.dtype)
    y = torch.stack([x[..., 0::2] * cos - x[..., 1::2] * sin,
                     x[..., 0::2] * sin + x[..., 1::2] * cos], axis=-1)
    return y.flatten(-2)


def multihead(x, w, num_heads, theta=None, positions=None):
    """Causal multi-head self-attention."""
    n, d = x.shape[-2:]

    def heads(name):
        y = x @ w[f"{name}_proj.weight"].T
        return y.reshape(*y.shape[:-1], num_heads, d // num_heads).swapaxes(-2, -3)

    q, k, v = heads("q"), heads("k"), heads("v")
    if theta is not None:
        positions = torch.arange(n) if positions is None else positions
        q = rotate(q, positions[..., None, :], theta)
        k = rotate(k, positions[..., None, :], theta)
    mask = torch.from_numpy(np.tri(n, dtype=bool))
    y = attention(q, k, v, mask).swapaxes(-2, -3)
    return y.reshape(x.shape) @ w["output_proj.weight"].T


def block(x, w, take, num_heads, theta):
    """Pre-norm block. `take(w, prefix)` gives the part of a dictionary below a prefix."""
    x = x + multihead(rmsnorm(x, w["ln1.weight"]), take(w, "attn."), num_heads, theta)
    ffn = [w[f"ffn.w{i}.weight"] for i in (1, 2, 3)]
    return x + swiglu(rmsnorm(x, w["ln2.weight"]), *ffn)


def language_model(ids, w, take, num_layers, num_heads, theta):
    """Logits, shape (..., seq, vocab_size)."""
    x = w["token_embeddings.weight"][ids]
    for i in range(num_layers):
        x = block(x, take(w, f"layers.{i}."), take, num_heads, theta)
    return rmsnorm(x, w["ln_final.weight"]) @ w["lm_head.weight"].T
