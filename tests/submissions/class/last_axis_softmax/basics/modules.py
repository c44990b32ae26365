import torch
from torch.nn import Module, ModuleList, Parameter

from .core import rms, rotate, sdpa


class Linear(Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = Parameter(torch.randn(n_out, n_in) * 0.02)

    def forward(self, x):
        return x @ self.weight.T


class Embedding(Module):
    def __init__(self, n, d):
        super().__init__()
        self.weight = Parameter(torch.randn(n, d))

    def forward(self, i):
        return self.weight[i]


class RMSNorm(Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.weight = Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        y = x.float()
        return (y / rms(y, self.eps) * self.weight.float()).to(x.dtype)


class FFN(Module):
    def __init__(self, d, f):
        super().__init__()
        self.w1 = Linear(d, f)
        self.w2 = Linear(f, d)
        self.w3 = Linear(d, f)

    def forward(self, x):
        y = self.w1(x)
        return self.w2(self.w3(x) * y * y.sigmoid())


class Rotary(Module):
    def __init__(self, theta, d, n):
        super().__init__()
        i = torch.arange(n)[:, None]
        k = torch.arange(0, d, 2)[None, :]
        angle = i / theta ** (k / d)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def forward(self, x, i):
        return rotate(x, self.cos[i], self.sin[i])


class Attention(Module):
    def __init__(self, d, heads, rotary=None):
        super().__init__()
        self.heads, self.rotary = heads, rotary
        self.q_proj = Linear(d, d)
        self.k_proj = Linear(d, d)
        self.v_proj = Linear(d, d)
        self.output_proj = Linear(d, d)

    def forward(self, x, i=None):
        b, t, d = x.shape

        def to_heads(y):
            return y.view(b, t, self.heads, d // self.heads).transpose(1, 2)

        q, k, v = map(to_heads, (self.q_proj(x), self.k_proj(x), self.v_proj(x)))
        if self.rotary is not None:
            i = torch.arange(t) if i is None else i.reshape(-1, 1, t)
            q, k = self.rotary(q, i), self.rotary(k, i)
        y = sdpa(q, k, v, torch.ones(t, t, dtype=torch.bool).tril())
        return self.output_proj(y.transpose(1, 2).reshape(b, t, d))


class Block(Module):
    def __init__(self, d, heads, f, rotary):
        super().__init__()
        self.ln1, self.ln2 = RMSNorm(d), RMSNorm(d)
        self.attn, self.ffn = Attention(d, heads, rotary), FFN(d, f)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class LM(Module):
    def __init__(self, vocab, n, d, layers, heads, f, theta):
        super().__init__()
        rotary = Rotary(theta, d // heads, n)
        self.token_embeddings = Embedding(vocab, d)
        self.layers = ModuleList([Block(d, heads, f, rotary) for _ in range(layers)])
        self.ln_final = RMSNorm(d)
        self.lm_head = Linear(d, vocab)

    def forward(self, i):
        x = self.token_embeddings(i)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.ln_final(x))
