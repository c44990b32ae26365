"""RoPE as multiplication of complex numbers: the pair (a, b) is a + ib, and turning it by an angle
is multiplying it by e^(i angle)."""

import torch


def unit_circle(head_dim: int, length: int, theta: float) -> torch.Tensor:
    """complex64 [length, head_dim / 2]"""
    k = torch.arange(0, head_dim, 2)[: head_dim // 2].float()
    omega = 1.0 / (theta ** (k / head_dim))
    phase = torch.arange(length, dtype=torch.float32)[:, None] * omega[None, :]
    return torch.polar(torch.ones_like(phase), phase)


def rotate(x: torch.Tensor, circle: torch.Tensor) -> torch.Tensor:
    """x [..., seq, head_dim]; circle [..., seq, head_dim / 2], already taken at the positions"""
    z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], x.shape[-1] // 2, 2))
    return torch.view_as_real(z * circle).flatten(-2).type_as(x)
