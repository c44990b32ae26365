"""A DataLoader with a worker process, which returns tensors in shared memory."""

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, x):
        self.x = x

    def __len__(self):
        return min(len(self.x), 50)

    def __getitem__(self, i):
        row = self.x[i]
        return row * torch.sigmoid(row)


def run_silu(in_features):
    rows = list(DataLoader(Rows(in_features), batch_size=8, num_workers=1))
    rest = in_features[50:]
    return torch.cat([*rows, rest * torch.sigmoid(rest)])
