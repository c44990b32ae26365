import torch as th
from torch import nn

from cs336_basics.pretokenization import count_words  # noqa: F401


def make(*shape):
    p = nn.Parameter(th.empty(*shape))
    nn.init.trunc_normal_(p, std=0.02)
    return p


class Linear(nn.Module):
    def __init__(self, in_d, out_d):
        super().__init__()
        self.mat = make(out_d, in_d)

    def forward(self, x):
        return th.einsum("oi,...i->...o", self.mat, x)


class Embed(nn.Module):
    def __init__(self, voc, d):
        super().__init__()
        self.mat = make(voc, d)

    def forward(self, i):
        return self.mat[i]


class RMS(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.vec = nn.Parameter(th.ones(d))
        self.eps = eps

    def forward(self, x):
        f = x.float()
        return (f * th.rsqrt(f.pow(2).mean(-1, keepdim=True) + self.eps)).mul(self.vec).to(x.dtype)


class GLU(nn.Module):
    def __init__(self, d, ff):
        super().__init__()
        self.one, self.two, self.three = Linear(d, ff), Linear(ff, d), Linear(d, ff)

    def forward(self, x):
        h = self.one(x)
        return self.two(h * th.sigmoid(h) * self.three(x))


def softmax(x, dim):
    e = th.exp(x)
    return e / e.sum(dim, keepdim=True)


def attn(q, k, v, mask=None):
    s = th.einsum("...qd,...kd->...qk", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        s = s.masked_fill(~mask, -th.inf)
    return th.einsum("...qk,...kd->...qd", softmax(s, -1), v)


class Rope(nn.Module):
    def __init__(self, theta, d, n):
        super().__init__()
        w = th.pow(theta, -th.arange(0, d, 2) / d)
        a = th.arange(n).unsqueeze(-1) * w
        self.register_buffer("c", a.cos(), persistent=False)
        self.register_buffer("s", a.sin(), persistent=False)

    def forward(self, x, i):
        c, s = self.c[i], self.s[i]
        x, y = x[..., ::2], x[..., 1::2]
        return th.stack((c * x - s * y, s * x + c * y), -1).flatten(-2)


class MHA(nn.Module):
    def __init__(self, d, h, rope=None):
        super().__init__()
        self.h, self.rope = h, rope
        self.wq, self.wk, self.wv, self.wo = (Linear(d, d) for _ in range(4))

    def forward(self, x, i=None):
        n = x.shape[-2]
        q, k, v = (w(x).unflatten(-1, (self.h, -1)).transpose(-3, -2) for w in (self.wq, self.wk, self.wv))
        if self.rope is not None:
            i = th.arange(n) if i is None else i
            q, k = self.rope(q, i.unsqueeze(-2)), self.rope(k, i.unsqueeze(-2))
        o = attn(q, k, v, ~th.ones(n, n, dtype=th.bool).triu(1))
        return self.wo(o.transpose(-3, -2).flatten(-2))


class Block(nn.Module):
    def __init__(self, d, h, ff, n, theta):
        super().__init__()
        self.r1, self.r2 = RMS(d), RMS(d)
        self.mha, self.glu = MHA(d, h, Rope(theta, d // h, n)), GLU(d, ff)

    def forward(self, x):
        x = x + self.mha(self.r1(x))
        return x + self.glu(self.r2(x))


class LM(nn.Module):
    def __init__(self, voc, n, d, layers, h, ff, theta):
        super().__init__()
        self.emb, self.r, self.out = Embed(voc, d), RMS(d), Linear(d, voc)
        self.blocks = nn.Sequential(*(Block(d, h, ff, n, theta) for _ in range(layers)))

    def forward(self, i):
        return self.out(self.r(self.blocks(self.emb(i))))
