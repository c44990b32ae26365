import torch
from torch import nn


class _Weight(nn.Module):
    """something with one parameter called weight"""

    def __init__(self, *shape):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(*shape))
        self.reset()

    def reset(self):
        nn.init.trunc_normal_(self.weight, std=(2 / sum(self.weight.shape)) ** 0.5)


class Linear(_Weight):
    def __init__(self, d_in, d_out):
        super().__init__(d_out, d_in)

    def forward(self, x):
        return torch.tensordot(x, self.weight, dims=([-1], [1]))


class Embedding(_Weight):
    def reset(self):
        nn.init.trunc_normal_(self.weight, a=-3, b=3)

    def forward(self, ids):
        return self.weight[ids.long()]


class RMSNorm(_Weight):
    def __init__(self, d_model, eps=1e-5):
        super().__init__(d_model)
        self.eps = eps

    def reset(self):
        nn.init.ones_(self.weight)

    def forward(self, x):
        x32 = x.float()
        denominator = (x32.pow(2).mean(-1, True) + self.eps) ** 0.5
        return (x32 / denominator * self.weight).to(x.dtype)


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1, self.w3 = Linear(d_model, d_ff), Linear(d_model, d_ff)
        self.w2 = Linear(d_ff, d_model)

    def forward(self, x):
        h = self.w1(x)
        return self.w2(h * h.sigmoid() * self.w3(x))


def stable_softmax(x, dim=-1):
    x = x - x.max(dim, keepdim=True).values
    x = x.exp()
    return x / x.sum(dim, keepdim=True)


def dot_product_attention(q, k, v, mask=None):
    """mask: where to look"""
    w = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if mask is not None:
        w = w.masked_fill(~mask, -float("inf"))
    w = stable_softmax(w)
    # Nobody to look at: no output. Comparing with itself finds NaN.
    w = torch.where(w == w, w, torch.zeros(())) if mask is not None else w
    return w @ v


def rotate_pairs(x, positions, theta):
    """float64 because positions get large"""
    d = x.shape[-1]
    f = torch.tensor([theta ** (-2 * i / d) for i in range(d // 2)], dtype=torch.float64)
    a = positions.double().unsqueeze(-1) * f
    c, s = a.cos().to(x.dtype), a.sin().to(x.dtype)
    p = x.reshape(*x.shape[:-1], d // 2, 2)
    first = p[..., 0] * c - p[..., 1] * s
    second = p[..., 1] * c + p[..., 0] * s
    return torch.stack((first, second), -1).reshape(*first.shape[:-1], d)
