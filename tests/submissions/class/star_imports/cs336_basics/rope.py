import torch
from torch import nn

class RoPE(nn.Module):
    def __init__(self, theta, d_k, max_seq_len):
        super(RoPE, self).__init__()
        exps = torch.arange(0, d_k, 2) / d_k
        thetas = torch.arange(0, max_seq_len).reshape(-1, 1) * (theta ** (-exps)).reshape(1, -1)
        self.register_buffer("sin_table", torch.sin(thetas), persistent=False)
        self.register_buffer("cos_table", torch.cos(thetas), persistent=False)

    def forward(self, x, token_positions):
        sin = self.sin_table[token_positions]
        cos = self.cos_table[token_positions]
        out = torch.empty_like(x)
        out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
        out[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
        return out
