import torch

from .linear import Linear


def silu(x: torch.Tensor) -> torch.Tensor:
    return x.mul(torch.sigmoid(x))


class SwiGLU(torch.nn.Module):
    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        # w1 and w3 have the same input: one product for both
        self.gate_and_up = Linear(dim, 2 * hidden)
        self.down = Linear(hidden, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, up = self.gate_and_up(x).chunk(2, dim=-1)
        return self.down(silu(gate) * up)

    @torch.no_grad()
    def set(self, w1: torch.Tensor, w2: torch.Tensor, w3: torch.Tensor) -> "SwiGLU":
        self.gate_and_up.w.copy_(torch.cat([w1, w3]))
        self.down.w.copy_(w2)
        return self
