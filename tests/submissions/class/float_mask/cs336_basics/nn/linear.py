from typing import Optional

import torch


class Linear(torch.nn.Module):
    def __init__(self, in_dim: int, out_dim: int, *, dtype: Optional[torch.dtype] = None) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.empty(out_dim, in_dim, dtype=dtype))
        torch.nn.init.xavier_normal_(self.w)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.w.t()


class Embedding(torch.nn.Module):
    def __init__(self, count: int, dim: int, *, dtype: Optional[torch.dtype] = None) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.empty(count, dim, dtype=dtype))
        torch.nn.init.normal_(self.w)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.w[ids]
