import torch
from einops import einsum, rearrange
from torch import nn


class Linear(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        sd = (2 / (d_in + d_out)) ** 0.5
        self.weight = nn.Parameter(torch.randn(d_out, d_in).mul(sd).clamp(-3 * sd, 3 * sd))

    def forward(self, x):
        return einsum(x, self.weight, "... i, o i -> ... o")


class Embedding(nn.Module):
    def __init__(self, n: int, d: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n, d).clamp(-3, 3))

    def forward(self, ids):
        return self.weight[ids]


class RMSNorm(nn.Module):
    """Everything in float64, one rounding at the end."""

    def __init__(self, d: int, eps: float = 1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        y = x.double()
        y = y / (y.square().mean(-1, keepdim=True) + self.eps).sqrt()
        return (y * self.weight.double()).to(x.dtype)


def silu(x):
    return x * torch.sigmoid(x)


class SwiGLU(nn.Module):
    def __init__(self, d: int, f: int):
        super().__init__()
        self.w1 = Linear(d, f)
        self.w2 = Linear(f, d)
        self.w3 = Linear(d, f)

    def forward(self, x):
        return self.w2(silu(self.w1(x)) * self.w3(x))


def softmax(x, dim):
    """Sums in float64."""
    y = x.double()
    y = torch.exp(y - y.amax(dim, keepdim=True))
    return (y / y.sum(dim, keepdim=True)).to(x.dtype)


def attention(q, k, v, mask=None):
    scores = einsum(q, k, "... n d, ... m d -> ... n m") / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return einsum(softmax(scores, -1), v, "... n m, ... m d -> ... n d")


class RoPE(nn.Module):
    """The table is float64, so that far positions are exact."""

    def __init__(self, theta: float, d_k: int, max_seq_len: int):
        super().__init__()
        rate = theta ** -(torch.arange(0, d_k, 2).double() / d_k)
        angle = einsum(torch.arange(max_seq_len).double(), rate, "i, k -> i k")
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def forward(self, x, positions):
        cos, sin = self.cos[positions], self.sin[positions]
        a, b = rearrange(x, "... (k two) -> two ... k", two=2)
        y = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1)
        return rearrange(y, "... k two -> ... (k two)")


class Attention(nn.Module):
    def __init__(self, d: int, h: int, rope: RoPE | None = None):
        super().__init__()
        self.h, self.rope = h, rope
        self.q_proj, self.k_proj, self.v_proj = Linear(d, d), Linear(d, d), Linear(d, d)
        self.output_proj = Linear(d, d)

    def forward(self, x, positions=None):
        n = x.shape[-2]
        split = "... n (h d) -> ... h n d"
        q = rearrange(self.q_proj(x), split, h=self.h)
        k = rearrange(self.k_proj(x), split, h=self.h)
        v = rearrange(self.v_proj(x), split, h=self.h)
        if self.rope is not None:
            positions = torch.arange(n) if positions is None else positions
            positions = rearrange(positions, "... n -> ... 1 n")
            # RoPE gives float64, the product with v wants float32
            q = self.rope(q, positions).to(x.dtype)
            k = self.rope(k, positions).to(x.dtype)
        causal = torch.ones(n, n, dtype=torch.bool).tril()
        return self.output_proj(rearrange(attention(q, k, v, causal), "... h n d -> ... n (h d)"))


class Block(nn.Module):
    def __init__(self, d: int, h: int, f: int, rope: RoPE):
        super().__init__()
        self.ln1, self.ln2 = RMSNorm(d), RMSNorm(d)
        self.attn = Attention(d, h, rope)
        self.ffn = SwiGLU(d, f)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.ffn(self.ln2(x))
        return x


class LM(nn.Module):
    def __init__(self, v: int, n: int, d: int, layers: int, h: int, f: int, theta: float):
        super().__init__()
        rope = RoPE(theta, d // h, n)
        self.token_embeddings = Embedding(v, d)
        self.layers = nn.ModuleList(Block(d, h, f, rope) for _ in range(layers))
        self.ln_final = RMSNorm(d)
        self.lm_head = Linear(d, v)

    def forward(self, ids):
        x = self.token_embeddings(ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.ln_final(x))
