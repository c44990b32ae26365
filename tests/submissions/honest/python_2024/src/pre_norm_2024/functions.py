import math
from typing import Optional

import torch
from torch import Tensor


def gelu(x: Tensor) -> Tensor:
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def softmax(x: Tensor, dim: int) -> Tensor:
    if x.numel() == 0:
        return x.clone()
    exponentials = torch.exp(x - torch.amax(x, dim, keepdim=True))
    return exponentials / torch.sum(exponentials, dim, keepdim=True)


def attention(
    keys: Tensor, queries: Tensor, values: Tensor, masked: Optional[Tensor], pdrop: float = 0.0
) -> Tensor:
    """`masked` is True where a query must not look. Who sees nothing gets zeros."""
    if queries.shape[-1] == 0 or (keys.shape[-2] == 0 and queries.shape[-2] > 0):
        raise ValueError("there is nothing to sum over")
    scores = queries @ keys.transpose(-1, -2) / math.sqrt(queries.shape[-1])
    if masked is not None:
        scores = torch.where(masked, -math.inf, scores)
    blind = torch.isneginf(scores).all(dim=-1, keepdim=True)
    probabilities = torch.where(blind, torch.zeros_like(scores), softmax(scores, -1))
    return torch.dropout(probabilities, pdrop, train=True) @ values
