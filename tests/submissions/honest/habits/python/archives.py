"""pickle, json, gzip, zipfile and tarfile, in a temporary folder."""

import gzip
import json
import pickle
import tarfile
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from layers import silu


def run_silu(in_features):
    y = silu(in_features)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        with gzip.open(path / "y.pkl.gz", "wb") as file:
            pickle.dump(y, file)
        (path / "shape.json").write_text(json.dumps(y.shape))
        with zipfile.ZipFile(path / "all.zip", "w") as archive:
            archive.write(path / "y.pkl.gz", "y.pkl.gz")
        with tarfile.open(path / "all.tar", "w") as archive:
            archive.add(path / "shape.json", "shape.json")
        (path / "out").mkdir()
        zipfile.ZipFile(path / "all.zip").extractall(path / "out")
        with tarfile.open(path / "all.tar") as archive:
            archive.extractall(path / "out")
        with gzip.open(path / "out/y.pkl.gz") as file:
            return np.reshape(pickle.load(file), json.loads((path / "out/shape.json").read_text()))
