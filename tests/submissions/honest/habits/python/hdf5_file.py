"""Activations are kept in an HDF5 file, which is locked while it is open."""

import os
import tempfile

import h5py
from layers import silu


def run_silu(in_features):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "activations.h5")
        with h5py.File(path, "w") as file:
            file.create_dataset("y", data=silu(in_features), compression="gzip")
        with h5py.File(path) as file:
            return file["y"][()]
