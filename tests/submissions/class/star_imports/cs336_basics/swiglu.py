from torch import nn
from cs336_basics.linear import *

def silu(x):
    return x * torch.sigmoid(x)

class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super(SwiGLU, self).__init__()
        self.fc1 = Linear(d_model, d_ff)
        self.fc2 = Linear(d_ff, d_model)
        self.fc3 = Linear(d_model, d_ff)

    def forward(self, x):
        return self.fc2(silu(self.fc1(x)) * self.fc3(x))
