import torch
from torch import nn

from . import init


class Linear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(init.linear_(torch.empty(o, i)))

    def forward(self, x):
        return torch.einsum("oi, ...i -> ...o", self.weight, x)


class Embedding(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.weight = nn.Parameter(init.embedding_(torch.empty(n, d)))

    def forward(self, i):
        return self.weight[i]


class Norm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d)), eps

    def forward(self, x):
        y = x.float()
        y = y / torch.sqrt(torch.linalg.vecdot(y, y).unsqueeze(-1) / y.shape[-1] + self.eps)
        return (y * self.weight).to(x.dtype)


class Gate(nn.Module):
    """SwiGLU"""

    def __init__(self, d, f):
        super().__init__()
        self.w1 = Linear(d, f)
        self.w2 = Linear(f, d)
        self.w3 = Linear(d, f)

    def forward(self, x):
        g = self.w1(x)
        return self.w2(g * torch.sigmoid(g) * self.w3(x))
