"""A call under torch's profiler, with its table printed."""

import torch
from torch.profiler import ProfilerActivity, profile


def run_silu(in_features):
    with profile(activities=[ProfilerActivity.CPU]) as found:
        y = in_features * torch.sigmoid(in_features)
    table = found.key_averages().table(row_limit=5)
    assert "aten::sigmoid" in table
    print(table)
    return y
