import torch


class RoPE(torch.nn.Module):
    def __init__(self, theta: float, dim: int, length: int) -> None:
        super().__init__()
        inverse = theta ** (torch.arange(0, -dim, -2, dtype=torch.float32) / dim)
        angles = torch.outer(torch.arange(length, dtype=torch.float32), inverse)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        cos, sin = self.cos[positions], self.sin[positions]
        x_even, x_odd = x.unflatten(-1, (-1, 2)).unbind(-1)
        y_even = x_even * cos - x_odd * sin
        y_odd = x_even * sin + x_odd * cos
        return torch.stack((y_even, y_odd), dim=-1).flatten(-2)
