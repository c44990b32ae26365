"""The whole model in one class: parameters in one ParameterDict, methods for the parts."""

import math

import torch
from torch import Tensor, nn


def linear(x: Tensor, w: Tensor) -> Tensor:
    return x @ w.mT


def rmsnorm(x: Tensor, w: Tensor, eps: float) -> Tensor:
    y = x.to(torch.float32)
    y = y / (y.pow(2).mean(-1, keepdim=True) + eps).sqrt()
    return (y * w).to(x.dtype)


def silu(x: Tensor) -> Tensor:
    return x / (1 + (-x).exp())


def swiglu(x: Tensor, w1: Tensor, w2: Tensor, w3: Tensor) -> Tensor:
    return linear(silu(linear(x, w1)) * linear(x, w3), w2)


def softmax(x: Tensor, dim: int) -> Tensor:
    e = (x - x.amax(dim=dim, keepdim=True)).exp()
    return e / e.sum(dim=dim, keepdim=True)


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        bias = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, -math.inf)
        scores = scores + bias
    return softmax(scores, -1) @ v


class Rotation:
    """Rotation of neighbouring pairs. The table grows when a later position is asked for."""

    def __init__(self, theta: float, d_k: int):
        # 1 / theta ** (2 k / d_k), in float64 and then kept in float32
        k = torch.arange(d_k // 2, dtype=torch.float64)
        self.omega = (1 / theta ** (2 * k / d_k)).float()

    def __call__(self, x: Tensor, positions: Tensor) -> Tensor:
        phase = positions.unsqueeze(-1).float() * self.omega
        cos, sin = phase.cos(), phase.sin()
        pairs = x.unflatten(-1, (-1, 2))
        re, im = pairs[..., 0], pairs[..., 1]
        return torch.stack((re * cos - im * sin, im * cos + re * sin), -1).flatten(-2).to(x.dtype)


def multihead(x: Tensor, wq, wk, wv, wo, heads: int, rotation=None, positions=None) -> Tensor:
    seq = x.shape[-2]
    q, k, v = (linear(x, w).unflatten(-1, (heads, -1)).transpose(-2, -3) for w in (wq, wk, wv))
    if rotation is not None:
        at = torch.arange(seq) if positions is None else positions
        q, k = rotation(q, at.unsqueeze(-2)), rotation(k, at.unsqueeze(-2))
    lower = torch.arange(seq) <= torch.arange(seq).unsqueeze(-1)
    return linear(attention(q, k, v, lower).transpose(-2, -3).flatten(-2), wo)


class Transformer(nn.Module):
    def __init__(self, num_heads: int, d_k: int, theta: float, eps: float = 1e-5):
        super().__init__()
        self.num_heads, self.eps = num_heads, eps
        self.rotation = Rotation(theta, d_k)
        self.weights: dict[str, Tensor] = {}

    def load(self, weights: dict[str, Tensor]):
        """Takes the weights as they are, under their own names."""
        self.weights = {name.removesuffix(".weight"): w for name, w in weights.items()}
        return self

    def block(self, x: Tensor, at: str = "") -> Tensor:
        w = self.weights
        attn = [w[f"{at}attn.{name}_proj"] for name in ("q", "k", "v", "output")]
        x = x + multihead(rmsnorm(x, w[at + "ln1"], self.eps), *attn, self.num_heads, self.rotation)
        ffn = [w[f"{at}ffn.w{n}"] for n in (1, 2, 3)]
        return x + swiglu(rmsnorm(x, w[at + "ln2"], self.eps), *ffn)

    def forward(self, ids: Tensor, num_layers: int) -> Tensor:
        x = self.weights["token_embeddings"][ids]
        for n in range(num_layers):
            x = self.block(x, f"layers.{n}.")
        return linear(rmsnorm(x, self.weights["ln_final"], self.eps), self.weights["lm_head"])
