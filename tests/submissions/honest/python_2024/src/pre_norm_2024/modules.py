import torch
from torch import Tensor, nn

from . import functions


class RMSNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class FeedForward(nn.Module):
    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        if d_ff == 0:
            raise ValueError("d_ff is 0")
        self.w1 = nn.Linear(d_model, d_ff, bias=False)
        self.w2 = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2(functions.gelu(self.w1(x)))


class SelfAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, pdrop: float = 0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("the heads must share d_model evenly")
        self.num_heads, self.pdrop = num_heads, pdrop
        self.q_proj, self.k_proj, self.v_proj, self.output_proj = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(4)
        )

    def forward(self, x: Tensor) -> Tensor:
        batch, length, d_model = x.shape

        def heads(y: Tensor) -> Tensor:
            return y.view(batch, length, self.num_heads, d_model // self.num_heads).transpose(1, 2)

        future = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
        y = functions.attention(
            heads(self.k_proj(x)), heads(self.q_proj(x)), heads(self.v_proj(x)), future, self.pdrop
        )
        return self.output_proj(y.transpose(1, 2).reshape(batch, length, d_model))


class Block(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, pdrops=(0.0, 0.0)):
        super().__init__()
        self.ln1, self.ln2 = RMSNorm(d_model), RMSNorm(d_model)
        self.attn = SelfAttention(d_model, num_heads, pdrops[0])
        self.ffn = FeedForward(d_model, d_ff)
        self.drop = nn.Dropout(pdrops[1])

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop(self.attn(self.ln1(x)))
        return x + self.drop(self.ffn(self.ln2(x)))
