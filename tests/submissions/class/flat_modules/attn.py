import math

import torch

from ops import matvec, softmax


def attend(q, k, v, mask):
    w = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        w = w.where(mask, torch.tensor(-math.inf, dtype=w.dtype))
    return softmax(w, -1) @ v


class Rope:
    """powf in float32, as a C programmer would: omega = powf(theta, -2k/d)"""

    def __init__(self, theta, d, n):
        d = torch.tensor(float(d))
        k = torch.arange(int(d) // 2, dtype=torch.float32)
        omega = torch.tensor(theta, dtype=torch.float32).pow(-2.0 * k / d)
        self.angle = torch.arange(n, dtype=torch.float32)[:, None] * omega[None]

    def __call__(self, x, at):
        c, s = self.angle[at].cos(), self.angle[at].sin()
        even, odd = x[..., ::2], x[..., 1::2]
        y = torch.stack([even * c - odd * s, even * s + odd * c], -1)
        return y.flatten(-2).to(x.dtype)


class Heads(torch.nn.Module):
    def __init__(self, d, h, rope=None):
        super().__init__()
        self.h, self.rope = h, rope
        self.qkv = torch.nn.Parameter(torch.randn(3, d, d) / d**0.5)
        self.out = torch.nn.Parameter(torch.randn(d, d) / d**0.5)

    def set(self, q, k, v, o):
        self.qkv.data = torch.stack([q, k, v])
        self.out.data = o
        return self

    def forward(self, x, at=None):
        t = x.shape[-2]
        y = torch.stack([matvec(w, x) for w in self.qkv])          # 3, ..., t, d
        y = y.unflatten(-1, (self.h, -1)).transpose(-2, -3)        # 3, ..., h, t, d/h
        q, k, v = y.unbind(0)
        if self.rope is not None:
            at = torch.arange(t) if at is None else at
            q = self.rope(q, at[..., None, :])
            k = self.rope(k, at[..., None, :])
        below = torch.ones(t, t).tril().bool()
        y = attend(q, k, v, below)
        return matvec(self.out, y.transpose(-2, -3).flatten(-2))
