# CS336 assignment 1, transformer part
import torch
from torch import nn
from torch.nn.parameter import Parameter


class Lin(nn.Module):
    def __init__(self, d_in, d_out):
        nn.Module.__init__(self)
        self.weight = Parameter(torch.zeros([d_out, d_in]))

    def forward(self, x):
        return torch.matmul(x, self.weight.permute(1, 0))


class Emb(nn.Module):
    def __init__(self, n, d):
        nn.Module.__init__(self)
        self.weight = Parameter(torch.zeros([n, d]))

    def forward(self, x):
        return self.weight[x]


class RMSN(nn.Module):
    def __init__(self, d, eps=1e-5):
        nn.Module.__init__(self)
        self.weight = Parameter(torch.ones([d]))
        self.eps = eps

    def forward(self, x):
        t = x.dtype
        x = x.to(torch.float32)
        rms = torch.sqrt(torch.mean(x * x, dim=-1, keepdim=True))
        x = x / (rms + self.eps)  # eps so that we never divide by zero
        return (x * self.weight).to(t)


class SwiGLU(nn.Module):
    def __init__(self, d, f):
        nn.Module.__init__(self)
        self.w1, self.w2, self.w3 = Lin(d, f), Lin(f, d), Lin(d, f)

    def forward(self, x):
        z = self.w1(x)
        return self.w2(z / (1 + torch.exp(-z)) * self.w3(x))


def Softmax(x, d):
    x = torch.exp(x - torch.max(x, d, keepdim=True).values)
    return x / torch.sum(x, d, keepdim=True)


def Attention(Q, K, V, M=None):
    S = torch.matmul(Q, K.transpose(-2, -1)) / (Q.shape[-1] ** 0.5)
    if M is not None:
        S = torch.where(M, S, -torch.inf * torch.ones_like(S))
    return torch.matmul(Softmax(S, -1), V)


class Rope(nn.Module):
    def __init__(self, theta, d, n):
        nn.Module.__init__(self)
        self.f = [theta ** (-2 * k / d) for k in range(d // 2)]

    def forward(self, x, p):
        a = p.unsqueeze(-1) * torch.tensor(self.f)
        c, s = torch.cos(a), torch.sin(a)
        return torch.stack([x[..., ::2] * c - x[..., 1::2] * s,
                            x[..., ::2] * s + x[..., 1::2] * c], dim=-1).flatten(-2, -1)


class MHSA(nn.Module):
    def __init__(self, d, h, rope=None):
        nn.Module.__init__(self)
        self.h, self.rope = h, rope
        self.q_proj, self.k_proj, self.v_proj = Lin(d, d), Lin(d, d), Lin(d, d)
        self.output_proj = Lin(d, d)

    def forward(self, x, p=None):
        n, d = x.shape[-2:]
        def split(z):
            return z.reshape(*z.shape[:-1], self.h, d // self.h).transpose(-2, -3)
        q, k, v = split(self.q_proj(x)), split(self.k_proj(x)), split(self.v_proj(x))
        if self.rope is not None:
            p = torch.arange(n) if p is None else p
            q, k = self.rope(q, p.unsqueeze(-2)), self.rope(k, p.unsqueeze(-2))
        z = Attention(q, k, v, torch.tril(torch.ones(n, n)).bool())
        return self.output_proj(z.transpose(-2, -3).reshape(x.shape))


class Block(nn.Module):
    def __init__(self, d, h, f, rope):
        nn.Module.__init__(self)
        self.ln1, self.attn, self.ln2, self.ffn = RMSN(d), MHSA(d, h, rope), RMSN(d), SwiGLU(d, f)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class LM(nn.Module):
    def __init__(self, v, d, l, h, f, rope):
        nn.Module.__init__(self)
        self.token_embeddings = Emb(v, d)
        self.layers = nn.ModuleList([Block(d, h, f, rope) for _ in range(l)])
        self.ln_final, self.lm_head = RMSN(d), Lin(d, v)

    def forward(self, x):
        x = self.token_embeddings(x)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.ln_final(x))
