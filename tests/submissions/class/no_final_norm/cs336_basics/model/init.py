import math

import torch


def linear_(w: torch.Tensor) -> torch.Tensor:
    out, in_ = w.shape
    s = math.sqrt(2 / (out + in_))
    return torch.nn.init.trunc_normal_(w, 0, s, -3 * s, 3 * s)


def embedding_(w: torch.Tensor) -> torch.Tensor:
    return torch.nn.init.trunc_normal_(w, 0, 1, -3, 3)
