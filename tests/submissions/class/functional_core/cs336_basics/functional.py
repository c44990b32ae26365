"""
Stateless versions of everything. A "module" in this repository is a dict of weights that somebody
else owns; the training loop hands the dict in. No classes.
"""
import math

import torch


def linear(x, weight):
    """
    :param x: (..., d_in)
    :param weight: (d_out, d_in)
    :return: (..., d_out)
    """
    return torch.matmul(x, weight.transpose(0, 1))


def embedding(ids, table):
    """
    :param ids: integers of any shape
    :param table: (vocab_size, d_model)
    """
    return torch.index_select(table, 0, ids.reshape(-1)).reshape(*ids.shape, table.shape[1])


def rmsnorm(x, gain, eps=1e-5):
    """
    :param x: (..., d_model), 16 bits are widened
    :param gain: (d_model,)
    """
    y = x.float()
    y = y * torch.rsqrt(torch.mean(torch.square(y), dim=-1, keepdim=True) + eps)
    return torch.mul(y, gain.float()).type_as(x)


def silu(x):
    return torch.mul(x, torch.sigmoid(x))


def swiglu(x, w1, w2, w3):
    return linear(silu(linear(x, w1)) * linear(x, w3), w2)


def softmax(x, dim):
    m, _ = torch.max(x, dim, keepdim=True)
    e = torch.exp(torch.sub(x, m))
    return torch.div(e, torch.sum(e, dim, keepdim=True))


def attention(q, k, v, mask=None):
    """
    :param mask: True where a query looks at a key; None is all True
    """
    logits = torch.matmul(q, torch.transpose(k, -1, -2)) * (q.size(-1) ** -0.5)
    if mask is not None:
        logits = torch.where(mask, logits, torch.full_like(logits, -math.inf))
    return torch.matmul(softmax(logits, -1), v)


def rope(x, positions, theta):
    """
    :param x: (..., seq, d_k)
    :param positions: (..., seq)
    :param theta: base of the wavelengths; the angle of pair i is pos * exp(-log(theta) * 2i / d_k)
    """
    d_k = x.size(-1)
    rates = torch.exp(torch.arange(0, d_k, 2, dtype=torch.float32) * (-math.log(theta) / d_k))
    angles = positions.unsqueeze(-1).float() * rates
    c, s = torch.cos(angles), torch.sin(angles)
    a, b = x[..., 0::2], x[..., 1::2]
    out = torch.empty(torch.broadcast_shapes(a.shape, c.shape)[:-1] + (d_k,), dtype=x.dtype)
    out[..., 0::2] = a * c - b * s
    out[..., 1::2] = a * s + b * c
    return out


def split_heads(x, n):
    *rest, seq, d = x.shape
    return x.reshape(*rest, seq, n, d // n).transpose(-2, -3)


def merge_heads(x):
    x = x.transpose(-2, -3)
    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])


def self_attention(x, wq, wk, wv, wo, n_heads, theta=None, positions=None):
    """
    Causal self-attention. With a theta, q and k are rotated; without positions, by 0, 1, 2, ...
    """
    seq = x.size(-2)
    q, k, v = (split_heads(linear(x, w), n_heads) for w in (wq, wk, wv))
    if theta is not None:
        if positions is None:
            positions = torch.arange(seq)
        positions = positions.unsqueeze(-2)  # the same for every head
        q, k = rope(q, positions, theta), rope(k, positions, theta)
    causal = torch.tril(torch.ones((seq, seq), dtype=torch.bool))
    return linear(merge_heads(attention(q, k, v, causal)), wo)


def block(x, p, prefix, n_heads, theta):
    """
    :param p: dict of weights
    :param prefix: "" or "layers.3."
    """
    def w(name):
        return p[prefix + name + ".weight"]

    h = rmsnorm(x, w("ln1"))
    x = x + self_attention(h, w("attn.q_proj"), w("attn.k_proj"), w("attn.v_proj"),
                           w("attn.output_proj"), n_heads, theta)
    h = rmsnorm(x, w("ln2"))
    return x + swiglu(h, w("ffn.w1"), w("ffn.w2"), w("ffn.w3"))


def language_model(ids, p, n_layers, n_heads, theta):
    x = embedding(ids, p["token_embeddings.weight"])
    for i in range(n_layers):
        x = block(x, p, "layers.%d." % i, n_heads, theta)
    return linear(rmsnorm(x, p["ln_final.weight"]), p["lm_head.weight"])
