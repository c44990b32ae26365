"""Results in the working folder: a folder for checkpoints, and a table that every call extends."""

import csv
import os

import numpy as np
from layers import silu


def run_silu(in_features):
    y = silu(in_features)
    os.makedirs("checkpoints", exist_ok=True)
    np.savez_compressed("checkpoints/last.npz", y=y)
    with open("results.csv", "a", newline="") as file:
        csv.writer(file).writerow([in_features.size, float(np.abs(y).sum())])
    with open("results.csv") as file:
        assert [row for row in csv.reader(file)][-1][0] == str(in_features.size)
    return np.load("checkpoints/last.npz")["y"]
