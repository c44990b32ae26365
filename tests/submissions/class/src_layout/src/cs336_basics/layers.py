import torch
import torch.nn as nn
import torch.nn.functional as F


def init_(weight: torch.Tensor, std: float) -> torch.Tensor:
    return nn.init.trunc_normal_(weight, std=std, a=-3 * std, b=3 * std)


class Linear(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(init_(torch.empty(d_out, d_in), (2 / (d_in + d_out)) ** 0.5))

    def forward(self, x):
        return F.linear(x, self.weight)


class Embedding(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.weight = nn.Parameter(init_(torch.empty(n, d), 1.0))

    def forward(self, ids):
        return F.embedding(ids, self.weight)


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        norm = x.norm(dim=-1, keepdim=True) * x.shape[-1] ** -0.5
        return (x / (norm**2 + self.eps).sqrt() * self.weight).to(dtype)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1 = Linear(d_model, d_ff)
        self.w2 = Linear(d_ff, d_model)
        self.w3 = Linear(d_model, d_ff)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Rope(nn.Module):
    """cos and sin of all positions, made once."""

    def __init__(self, theta, d_k, max_seq_len):
        super().__init__()
        inverse = 1.0 / (theta ** (torch.arange(0, d_k, 2).float() / d_k))
        angles = torch.outer(torch.arange(max_seq_len).float(), inverse)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x, positions):
        cos, sin = self.cos[positions], self.sin[positions]
        x1, x2 = x.unflatten(-1, (-1, 2)).unbind(-1)
        return torch.stack((x1 * cos - x2 * sin, x2 * cos + x1 * sin), -1).flatten(-2)


def softmax(x, dim=-1):
    return torch.softmax(x, dim=dim)


def sdpa(q, k, v, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores.masked_fill_(mask.logical_not(), float("-inf"))
    return softmax(scores) @ v
