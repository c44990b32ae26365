import torch
from torch import Tensor
from torch.nn import Module, ModuleList, Parameter

from .tokenizer import Tokenizer  # noqa: F401


class Linear(Module):
    weight: Parameter

    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.weight = Parameter(torch.randn(d_out, d_in) / d_in**0.5)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight.T


class Embedding(Module):
    weight: Parameter

    def __init__(self, vocab_size: int, d_model: int):
        super().__init__()
        self.weight = Parameter(torch.randn(vocab_size, d_model))

    def forward(self, ids: Tensor) -> Tensor:
        return self.weight[ids]


class RMSNorm(Module):
    weight: Parameter

    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        self.weight = Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        match x.dtype:
            case torch.float16 | torch.bfloat16:
                return self.forward(x.float()).to(x.dtype)
            case _:
                return x / (x.square().mean(-1, keepdim=True) + self.eps).sqrt() * self.weight


class SwiGLU(Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.w1, self.w3 = Linear(d_model, d_ff), Linear(d_model, d_ff)
        self.w2 = Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        a = self.w1(x)
        return self.w2(a * a.sigmoid() * self.w3(x))


def softmax(x: Tensor, dim: int) -> Tensor:
    x = (x - x.amax(dim, keepdim=True)).exp()
    return x / x.sum(dim, keepdim=True)


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return softmax(scores, -2) @ v


class RoPE(Module):
    cos: Tensor
    sin: Tensor

    def __init__(self, theta: float, d_k: int, length: int):
        super().__init__()
        angles = torch.arange(length)[:, None] / theta ** (torch.arange(0, d_k, 2) / d_k)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        c, s = self.cos[positions], self.sin[positions]
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack((a * c - b * s, b * c + a * s), -1).flatten(-2)


class SelfAttention(Module):
    def __init__(self, d_model: int, num_heads: int, rope: RoPE | None = None):
        super().__init__()
        self.num_heads, self.rope = num_heads, rope
        for name in ("q_proj", "k_proj", "v_proj", "output_proj"):
            setattr(self, name, Linear(d_model, d_model))

    def heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.num_heads, -1)).movedim(-2, -3)

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        n = x.shape[-2]
        q, k, v = map(self.heads, (self.q_proj(x), self.k_proj(x), self.v_proj(x)))
        if self.rope is not None:
            at = (torch.arange(n) if positions is None else positions)[..., None, :]
            q, k = self.rope(q, at), self.rope(k, at)
        y = attention(q, k, v, torch.ones(n, n, dtype=torch.bool).tril())
        return self.output_proj(y.movedim(-3, -2).flatten(-2))


class Block(Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, rope: RoPE):
        super().__init__()
        self.ln1, self.ln2 = RMSNorm(d_model), RMSNorm(d_model)
        self.attn, self.ffn = SelfAttention(d_model, num_heads, rope), SwiGLU(d_model, d_ff)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class TransformerLM(Module):
    def __init__(self, vocab_size, length, d_model, num_layers, num_heads, d_ff, theta):
        super().__init__()
        rope = RoPE(theta, d_model // num_heads, length)
        self.token_embeddings = Embedding(vocab_size, d_model)
        self.layers = ModuleList(Block(d_model, num_heads, d_ff, rope) for _ in range(num_layers))
        self.ln_final, self.lm_head = RMSNorm(d_model), Linear(d_model, vocab_size)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.token_embeddings(ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.ln_final(x))
