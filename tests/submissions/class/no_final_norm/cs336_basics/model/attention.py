import torch
from torch import nn

from .layers import Linear


def softmax(x, dim):
    x = x - x.amax(dim=dim, keepdim=True)
    x = torch.exp(x)
    return x / x.sum(dim=dim, keepdim=True)


def attention(q, k, v, mask=None):
    s = torch.einsum("...id, ...jd -> ...ij", q, k).div(q.shape[-1] ** 0.5)
    if mask is not None:
        s = s.masked_fill(mask.eq(False), -float("inf"))
    return torch.einsum("...ij, ...jd -> ...id", softmax(s, -1), v)


class Rope(nn.Module):
    """Complex numbers, but by hand: (a + ib)(c + is)"""

    def __init__(self, theta, d, n):
        super().__init__()
        powers = torch.linspace(0, 1, d // 2 + 1)[:-1]
        phase = torch.arange(n).unsqueeze(1) * torch.pow(theta, -powers).unsqueeze(0)
        self.register_buffer("cs", torch.stack((phase.cos(), phase.sin()), -1), persistent=False)

    def forward(self, x, i):
        c, s = self.cs[i].unbind(-1)
        a, b = x.reshape(*x.shape[:-1], -1, 2).unbind(-1)
        return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2)


class MultiHead(nn.Module):
    def __init__(self, d, h, rope=None):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = Linear(d, d), Linear(d, d), Linear(d, d)
        self.output_proj = Linear(d, d)
        self.h, self.rope = h, rope

    def forward(self, x, i=None):
        *b, n, d = x.shape
        q = self.q_proj(x).reshape(*b, n, self.h, d // self.h).transpose(-3, -2)
        k = self.k_proj(x).reshape(*b, n, self.h, d // self.h).transpose(-3, -2)
        v = self.v_proj(x).reshape(*b, n, self.h, d // self.h).transpose(-3, -2)
        if self.rope is not None:
            if i is None:
                i = torch.arange(n, device=x.device)
            q, k = self.rope(q, i[..., None, :]), self.rope(k, i[..., None, :])
        m = torch.arange(n, device=x.device)
        y = attention(q, k, v, m[:, None] >= m)
        return self.output_proj(y.transpose(-3, -2).reshape(*b, n, d))
