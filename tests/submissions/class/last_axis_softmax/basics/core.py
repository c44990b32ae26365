"""Core math. Modules are in basics.modules and hold nothing but parameters."""

import torch


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Over the last axis."""
    z = x - x.max(-1, keepdim=True).values
    return z.exp() / z.exp().sum(-1, keepdim=True)


def sdpa(q, k, v, allowed=None):
    z = q @ k.transpose(-1, -2)
    z = z / torch.tensor(float(q.shape[-1]), dtype=z.dtype).sqrt()
    if allowed is not None:
        z = torch.where(allowed, z, torch.full((), -torch.inf, dtype=z.dtype))
    return softmax(z) @ v


def rotate(x, cos, sin):
    out = torch.zeros_like(x)
    out[..., 0::2] += x[..., 0::2] * cos
    out[..., 0::2] -= x[..., 1::2] * sin
    out[..., 1::2] += x[..., 1::2] * cos
    out[..., 1::2] += x[..., 0::2] * sin
    return out


def rms(x, eps):
    return torch.sqrt(torch.mean(x**2, dim=-1, keepdim=True) + eps)
