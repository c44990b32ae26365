"""Building blocks of the Transformer.

Every class keeps its parameters under the names of the course's state dict, so that loading is one
call and no renaming is needed.
"""

from __future__ import annotations

import math

import torch
import torch.nn as nn


class Linear(nn.Module):
    """Linear transformation without a bias.

    Attributes:
        weight: The matrix, stored as (out, in) for the sake of memory order.
    """

    def __init__(self, d_in: int, d_out: int, device=None, dtype=None) -> None:
        """Construct the layer.

        Args:
            d_in: Final dimension of the input.
            d_out: Final dimension of the output.
            device: Device to store the parameters on.
            dtype: Data type of the parameters.
        """
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_out, d_in, device=device, dtype=dtype))
        bound = 3 * math.sqrt(2 / (d_in + d_out))
        nn.init.trunc_normal_(self.weight, std=bound / 3, a=-bound, b=bound)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply the linear transformation.

        Args:
            x: Tensor of shape (..., d_in).

        Returns:
            Tensor of shape (..., d_out).
        """
        return torch.einsum("... i, o i -> ... o", x, self.weight)


class Embedding(nn.Module):
    """Lookup of vectors by token id."""

    def __init__(self, vocab_size: int, d_model: int, device=None, dtype=None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model, device=device, dtype=dtype))
        nn.init.trunc_normal_(self.weight, a=-3, b=3)

    def forward(self, token_ids: torch.Tensor) -> torch.Tensor:
        """Look up the vectors.

        Args:
            token_ids: Integers of any shape.

        Returns:
            The same shape with d_model appended.
        """
        return self.weight[token_ids, :]


class RMSNorm(nn.Module):
    """Root mean square layer normalization."""

    def __init__(self, d_model: int, eps: float = 1e-5, device=None, dtype=None) -> None:
        super().__init__()
        self.d_model = d_model
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model, device=device, dtype=dtype))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalize the last axis. Upcasts to float32 to prevent an overflow of the squares."""
        original = x.dtype
        x = x.to(torch.float32)
        mean_of_squares = torch.einsum("... d, ... d -> ...", x, x) / self.d_model
        inverse = 1.0 / torch.sqrt(mean_of_squares + self.eps)
        return (x * inverse.unsqueeze(-1) * self.weight).to(original)


class SiLU(nn.Module):
    """x * sigmoid(x)"""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(x)


class SwiGLU(nn.Module):
    """The gated feed-forward network."""

    def __init__(self, d_model: int, d_ff: int | None = None) -> None:
        super().__init__()
        if d_ff is None:
            d_ff = 64 * round(8 / 3 * d_model / 64)
        self.activation = SiLU()
        self.w1 = Linear(d_model, d_ff)
        self.w2 = Linear(d_ff, d_model)
        self.w3 = Linear(d_model, d_ff)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.w2(self.activation(self.w1(x)) * self.w3(x))
