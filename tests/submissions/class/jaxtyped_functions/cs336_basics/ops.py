from math import log, sqrt

import torch

from .types import Float, Hidden, Ids, Int, Mask, Tensor, typed


@typed
def linear(x: Float[Tensor, "... d_in"], w: Float[Tensor, "d_out d_in"]) -> Float[Tensor, "... d_out"]:
    return torch.einsum("...i, oi -> ...o", x, w)


@typed
def embed(ids: Int[Tensor, "..."], table: Float[Tensor, "vocab d_model"]) -> Float[Tensor, "... d_model"]:
    return table[ids]


@typed
def rms_norm(
    x: Float[Tensor, "... d_model"], gain: Float[Tensor, "d_model"], eps: float
) -> Float[Tensor, "... d_model"]:
    wide = x.to(torch.float32)
    scale = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True).add(eps))
    return wide.mul(scale).mul(gain).to(x.dtype)


@typed
def silu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    return x * x.sigmoid()


@typed
def swiglu(
    x: Float[Tensor, "... d_model"],
    w1: Float[Tensor, "d_ff d_model"],
    w2: Float[Tensor, "d_model d_ff"],
    w3: Float[Tensor, "d_ff d_model"],
) -> Float[Tensor, "... d_model"]:
    return linear(silu(linear(x, w1)) * linear(x, w3), w2)


@typed
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    e = torch.exp(x - torch.amax(x, dim, True))
    return e / torch.sum(e, dim, True)


@typed
def attention(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... m d_k"],
    v: Float[Tensor, "... m d_v"],
    mask: Mask | None = None,
) -> Float[Tensor, "... n d_v"]:
    scores = torch.einsum("...nd, ...md -> ...nm", q, k) / sqrt(q.shape[-1])
    if mask is not None:
        scores = torch.masked_fill(scores, mask.logical_not(), -torch.inf)
    return torch.einsum("...nm, ...md -> ...nd", softmax(scores, -1), v)


@typed
def rope(x: Float[Tensor, "... seq d_k"], positions: Ids, theta: float) -> Float[Tensor, "... seq d_k"]:
    pair = torch.arange(x.shape[-1] // 2, dtype=torch.float32)
    rate = torch.exp(-2 * pair / x.shape[-1] * log(theta))
    angle = positions[..., None] * rate
    # a rotation by 90 degrees turns (a, b) into (-b, a)
    turned = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
    cos = angle.cos().repeat_interleave(2, dim=-1).to(x.dtype)
    sin = angle.sin().repeat_interleave(2, dim=-1).to(x.dtype)
    return x * cos + turned * sin


@typed
def self_attention(
    x: Hidden,
    weights: dict,
    heads: int,
    theta: float | None = None,
    positions: Ids | None = None,
) -> Hidden:
    def project(name: str):
        return linear(x, weights[name]).unflatten(-1, (heads, -1)).transpose(-2, -3)

    seq = x.shape[-2]
    q, k, v = project("q_proj"), project("k_proj"), project("v_proj")
    if theta is not None:
        here = torch.arange(seq) if positions is None else positions
        q, k = rope(q, here.unsqueeze(-2), theta), rope(k, here.unsqueeze(-2), theta)
    causal = torch.arange(seq)[:, None] >= torch.arange(seq)[None, :]
    out = attention(q, k, v, causal)
    return linear(out.transpose(-2, -3).flatten(-2), weights["output_proj"])


def below(weights: dict, prefix: str) -> dict:
    """The entries under a prefix, without the prefix and without ".weight"."""
    found = {name[len(prefix) :]: w for name, w in weights.items() if name.startswith(prefix)}
    return {name.removesuffix(".weight"): w for name, w in found.items()}


@typed
def block(x: Hidden, weights: dict, heads: int, theta: float, eps: float = 1e-5) -> Hidden:
    normed = rms_norm(x, weights["ln1.weight"], eps)
    x = x + self_attention(normed, below(weights, "attn."), heads, theta)
    normed = rms_norm(x, weights["ln2.weight"], eps)
    return x + swiglu(normed, **below(weights, "ffn."))


@typed
def language_model(
    ids: Ids, weights: dict, layers: int, heads: int, theta: float, eps: float = 1e-5
) -> Float[Tensor, "... seq vocab"]:
    x = embed(ids, weights["token_embeddings.weight"])
    for n in range(layers):
        own = {
            name.removeprefix(f"layers.{n}."): w
            for name, w in weights.items()
            if name.startswith(f"layers.{n}.")
        }
        x = block(x, own, heads, theta, eps)
    return linear(rms_norm(x, weights["ln_final.weight"], eps), weights["lm_head.weight"])
