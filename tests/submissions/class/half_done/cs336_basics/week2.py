import math

import torch
from einops import einsum, rearrange

from cs336_basics.week1 import linear


def rope(x, positions, theta, d_k):
    k = torch.arange(0, d_k, 2).float()
    angles = einsum(positions.float(), theta ** (-k / d_k), "... seq, half -> ... seq half")
    cos, sin = torch.cos(angles), torch.sin(angles)
    x1, x2 = x[..., ::2], x[..., 1::2]
    both = torch.stack([x1 * cos - x2 * sin, x1 * sin + x2 * cos])
    return rearrange(both, "two ... half -> ... (half two)")


def softmax(x, dim):
    x = x - x.max(dim=dim, keepdim=True).values
    return x.exp() / x.exp().sum(dim=dim, keepdim=True)


def attention(Q, K, V, mask):
    scores = einsum(Q, K, "... n d, ... m d -> ... n m") / math.sqrt(Q.shape[-1])
    if mask is not None:
        scores = torch.masked_fill(scores, ~mask, float("-inf"))
    return einsum(softmax(scores, -1), V, "... n m, ... m d -> ... n d")


def multihead(num_heads, wq, wk, wv, wo, x):
    q, k, v = [
        rearrange(linear(w, x), "... n (h d) -> ... h n d", h=num_heads) for w in (wq, wk, wv)
    ]
    mask = torch.tril(torch.ones(x.shape[-2], x.shape[-2])).bool()
    return linear(wo, rearrange(attention(q, k, v, mask), "... h n d -> ... n (h d)"))


# next: multihead with rope, the block, the model. See TODO.md
