"""A model is saved to a temporary file, loaded again, and trained by a step that changes nothing."""

import os
import tempfile

import torch
from torch import nn


class SiLU(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x):
        return self.scale * x * torch.sigmoid(x)


def run_silu(in_features):
    model = SiLU()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    model(in_features).sum().backward()
    optimizer.step()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.pt")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
        found = torch.load(path, map_location="cpu")
    again = SiLU()
    again.load_state_dict(found["model"])
    with torch.no_grad():
        return again(in_features)
