import math

import torch
from torch import nn


class RotaryPositionalEmbedding(nn.Module):
    """
    The handout defines RoPE with a block diagonal matrix R^i made of 2x2 rotations R^i_k.
    We keep the blocks only: self.R[i, k] is the 2x2 matrix of position i and pair k.

    Building it takes a moment when max_seq_len is large, but it happens once per model.
    """

    def __init__(self, theta: float, d_k: int, max_seq_len: int, device=None):
        super().__init__()
        if d_k % 2 != 0:
            raise ValueError("d_k must be even")
        pairs = d_k // 2
        R = torch.zeros(max_seq_len, pairs, 2, 2)
        for i in range(max_seq_len):
            for k in range(pairs):
                angle = i / theta ** (2 * k / d_k)
                R[i, k, 0, 0] = math.cos(angle)
                R[i, k, 0, 1] = -math.sin(angle)
                R[i, k, 1, 0] = math.sin(angle)
                R[i, k, 1, 1] = math.cos(angle)
        self.register_buffer("R", R.to(device) if device is not None else R, persistent=False)

    def forward(self, x: torch.Tensor, token_positions: torch.Tensor) -> torch.Tensor:
        R = self.R[token_positions]  # (..., seq, pairs, 2, 2)
        pairs = x.reshape(*x.shape[:-1], -1, 2, 1)  # columns
        rotated = torch.matmul(R.to(x.dtype), pairs)
        return rotated.reshape(*rotated.shape[:-3], x.shape[-1])
