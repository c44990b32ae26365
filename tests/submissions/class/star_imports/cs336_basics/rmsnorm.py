import torch
from torch import nn

class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5, device=None, dtype=None):
        super(RMSNorm, self).__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model, device=device, dtype=dtype))

    def forward(self, x):
        in_type = x.dtype
        x = x.to(torch.float32)
        var = torch.mean(x * x, dim=-1)
        rms = torch.sqrt(var + self.eps)
        x = x / rms[..., None]
        x = x * self.gamma
        return x.to(in_type)
