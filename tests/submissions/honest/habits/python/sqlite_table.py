"""Results are kept in a data base of SQLite, which locks its file."""

import os
import sqlite3
import tempfile

import numpy as np
from layers import silu


def run_silu(in_features):
    with tempfile.TemporaryDirectory() as folder:
        base = sqlite3.connect(os.path.join(folder, "runs.db"))
        base.execute("PRAGMA journal_mode = WAL")
        with base:
            base.execute("CREATE TABLE runs (y BLOB)")
            base.execute("INSERT INTO runs VALUES (?)", (silu(in_features).tobytes(),))
        (found,), = base.execute("SELECT y FROM runs")
        base.close()
    return np.frombuffer(found, np.float32).reshape(in_features.shape)
