import torch
from torch import Tensor
from torch.nn import Module, ModuleDict, ModuleList, Parameter

__all__ = ["Attention", "Block", "Lin", "Lookup", "RoPE", "Rms", "Swi", "TransformerLM", "sdpa",
           "soft_max"]


class Lin(Module):
    def __init__(self, i: int, o: int):
        super().__init__()
        self.weight = Parameter(torch.randn(o, i) * (2 / (i + o)) ** 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return (self.weight @ x.unsqueeze(-1)).squeeze(-1)


class Lookup(Module):
    def __init__(self, n: int, d: int):
        super().__init__()
        self.weight = Parameter(torch.randn(n, d))

    def forward(self, ids: Tensor) -> Tensor:
        return self.weight[ids]


class Rms(Module):
    def __init__(self, d: int, eps: float = 1e-5):
        super().__init__()
        self.weight, self.eps = Parameter(torch.ones(d)), eps

    def forward(self, x: Tensor) -> Tensor:
        r = (x.float().square().mean(dim=-1, keepdim=True) + self.eps).sqrt()
        return (x.float() / r * self.weight).to(x.dtype)


class Swi(Module):
    def __init__(self, d: int, f: int):
        super().__init__()
        self.parts = ModuleDict({"w1": Lin(d, f), "w2": Lin(f, d), "w3": Lin(d, f)})

    def forward(self, x: Tensor) -> Tensor:
        g = self.parts["w1"](x)
        return self.parts["w2"](torch.sigmoid(g) * g * self.parts["w3"](x))


def soft_max(x: Tensor, dim: int) -> Tensor:
    e = (x - x.detach().amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)


def sdpa(q: Tensor, k: Tensor, v: Tensor, mask: Tensor = None) -> Tensor:
    s = q.matmul(k.transpose(-2, -1)).div(q.size(-1) ** 0.5)
    return soft_max(s if mask is None else s.masked_fill(~mask, -torch.inf), -1).matmul(v)


class RoPE(Module):
    def __init__(self, theta: float, d: int, n: int):
        super().__init__()
        t = torch.arange(n, dtype=torch.float)
        f = theta ** (-torch.arange(0, d, 2, dtype=torch.float) / d)
        a = torch.einsum("t,f->tf", t, f)
        self.register_buffer("table", torch.stack((a.cos(), a.sin())), persistent=False)

    def forward(self, x: Tensor, at: Tensor) -> Tensor:
        c, s = self.table[:, at]
        u, v = x[..., 0::2], x[..., 1::2]
        return torch.stack((u * c - v * s, u * s + v * c), dim=-1).flatten(start_dim=-2)


class Attention(Module):
    def __init__(self, d: int, h: int, rope: RoPE = None):
        super().__init__()
        self.h, self.rope = h, rope
        self.parts = ModuleDict({name: Lin(d, d) for name in "qkvo"})

    def forward(self, x: Tensor, at: Tensor = None) -> Tensor:
        n = x.size(-2)
        q, k, v = (self.parts[p](x).unflatten(-1, (self.h, -1)).movedim(-2, -3) for p in "qkv")
        if self.rope:
            at = (torch.arange(n) if at is None else at).unsqueeze(-2)
            q, k = self.rope(q, at), self.rope(k, at)
        y = sdpa(q, k, v, torch.ones(n, n).tril() > 0)
        return self.parts["o"](y.movedim(-3, -2).flatten(-2))


class Block(Module):
    def __init__(self, d: int, h: int, f: int, rope: RoPE):
        super().__init__()
        self.a, self.f = Attention(d, h, rope), Swi(d, f)
        self.na, self.nf = Rms(d), Rms(d)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.a(self.na(x))
        return x + self.f(self.nf(x))


class TransformerLM(Module):
    def __init__(self, v: int, n: int, d: int, layers: int, h: int, f: int, theta: float):
        super().__init__()
        self.inp, self.norm, self.out = Lookup(v, d), Rms(d), Lin(d, v)
        rope = RoPE(theta, d // h, n)
        self.layers = ModuleList(Block(d, h, f, rope) for _ in range(layers))

    def forward(self, ids: Tensor) -> Tensor:
        x = self.inp(ids)
        for layer in self.layers:
            x = layer(x)
        return self.out(self.norm(x))
