"""
parts.py
--------
All parts of the language model. Weights live in torch.nn.ParameterDict objects.
"""

import math
import torch

F32 = torch.float32


def params(**shapes):
    """A ParameterDict of normal weights, scaled by fan-in."""
    made = {}
    for name, shape in shapes.items():
        made[name] = torch.nn.Parameter(torch.randn(shape) / math.sqrt(shape[-1]))
    return torch.nn.ParameterDict(made)


def matmul_last(x, w):
    """x: (..., i), w: (o, i) -> (..., o)"""
    flat = x.reshape(-1, x.shape[-1])
    return torch.mm(flat, w.t()).reshape(x.shape[:-1] + (w.shape[0],))


class FeedForward(torch.nn.Module):

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.p = params(w1=(d_ff, d_model), w2=(d_model, d_ff), w3=(d_ff, d_model))

    def forward(self, x):
        linear_part = matmul_last(x, self.p["w1"])
        gate = matmul_last(x, self.p["w3"])
        gate = gate * torch.sigmoid(gate)
        return matmul_last(linear_part * gate, self.p["w2"])


class RootMeanSquareNorm(torch.nn.Module):

    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.p = torch.nn.ParameterDict({"gain": torch.nn.Parameter(torch.ones(d_model))})

    def forward(self, x):
        wide = x.to(F32)
        rms = wide.pow(2).mean(dim=-1, keepdim=True).add(self.eps).sqrt()
        return wide.div(rms).mul(self.p["gain"]).to(x.dtype)


def softmax(x, dim):
    largest = torch.amax(x, dim=dim, keepdim=True)
    numerator = torch.exp(x - largest)
    return numerator / torch.sum(numerator, dim=dim, keepdim=True)


def attend(q, k, v, mask=None):
    similarity = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
    if mask is not None:
        similarity = torch.where(mask, similarity, similarity.new_full((), -math.inf))
    return torch.matmul(softmax(similarity, -1), v)


class Rotary:

    def __init__(self, theta, d_k, max_seq_len):
        positions = torch.arange(max_seq_len, dtype=F32).reshape(-1, 1)
        wavelengths = torch.tensor([theta ** (2.0 * k / d_k) for k in range(d_k // 2)], dtype=F32)
        self.cos = torch.cos(positions / wavelengths)
        self.sin = torch.sin(positions / wavelengths)

    def __call__(self, x, where):
        cos, sin = self.cos[where], self.sin[where]
        first, second = x[..., 0::2], x[..., 1::2]
        rotated = (first * cos - second * sin, first * sin + second * cos)
        return torch.stack(rotated, dim=-1).flatten(start_dim=-2)


class Attention(torch.nn.Module):

    def __init__(self, d_model, num_heads, rotary=None):
        super().__init__()
        self.num_heads = num_heads
        self.rotary = rotary
        square = (d_model, d_model)
        self.p = params(q_proj=square, k_proj=square, v_proj=square, output_proj=square)

    def heads(self, x, name):
        y = matmul_last(x, self.p[name])
        return y.reshape(y.shape[:-1] + (self.num_heads, -1)).transpose(-2, -3)

    def forward(self, x, where=None):
        length = x.shape[-2]
        q, k, v = (self.heads(x, name) for name in ("q_proj", "k_proj", "v_proj"))
        if self.rotary is not None:
            if where is None:
                where = torch.arange(length)
            where = where.unsqueeze(-2)
            q, k = self.rotary(q, where), self.rotary(k, where)
        causal = torch.ones((length, length), dtype=torch.bool).tril(diagonal=0)
        y = attend(q, k, v, causal).transpose(-2, -3)
        return matmul_last(y.reshape(x.shape), self.p["output_proj"])


class Layer(torch.nn.Module):

    def __init__(self, d_model, num_heads, d_ff, rotary):
        super().__init__()
        self.ln1 = RootMeanSquareNorm(d_model)
        self.attn = Attention(d_model, num_heads, rotary)
        self.ln2 = RootMeanSquareNorm(d_model)
        self.ffn = FeedForward(d_model, d_ff)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.ffn(self.ln2(x))
        return x
