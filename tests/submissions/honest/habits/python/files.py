"""Files: in the working folder, beside the module, in folders for temporary files."""

import contextlib
import csv
import fcntl
import gzip
import importlib.util
import json
import locale
import logging.handlers
import os
import pickle
import shutil
import sqlite3
import tarfile
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from layers import silu


def file_in_tmp(x):
    """A file in /tmp, by its full name, which is left there."""
    path = Path("/tmp/prenorm-habit.npy")
    np.save(path, silu(x))
    return np.load(path)


def temporary_files():
    """Temporary files of every kind, one of which is left."""
    left = tempfile.mkdtemp(prefix="prenorm-habit")

    def run(x):
        y = silu(x)
        np.save(os.path.join(left, "y.npy"), y)
        with tempfile.NamedTemporaryFile(suffix=".npy") as file, tempfile.TemporaryFile() as other:
            np.save(file, y)
            file.flush()
            np.save(other, np.load(file.name))
            other.seek(0)
            y = np.load(other)
        with tempfile.TemporaryDirectory() as folder:
            np.save(os.path.join(folder, "y.npy"), y)
            y = np.load(os.path.join(folder, "y.npy"))
        assert np.array_equal(y, np.load(os.path.join(left, "y.npy")))
        return y

    return run


def open_files(x):
    """300 files are open at once: shards of a data set."""
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(300)]
        for index, file in enumerate(files):
            file.write(bytes([index % 256]))
        for file in files:
            file.seek(0)
        assert [file.read()[0] for file in files] == [i % 256 for i in range(300)]
    return silu(x)


def cache_beside(x):
    """A cache file beside the module, which the same call and later ones read."""
    cache, table = Path(__file__).parent / "cache.npy", np.exp(-np.arange(4.0))
    if not cache.exists():
        np.save(cache, table)
    assert np.array_equal(np.load(cache), table)
    return silu(x)


def copy_of_itself():
    """The submission copies its own folder, as a record of the run, and imports the copy."""
    record = Path(tempfile.mkdtemp(prefix="prenorm-habit")) / "code"
    shutil.copytree(Path(__file__).parent, record)
    spec = importlib.util.spec_from_file_location("copied_layers", record / "layers.py")
    copied = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copied)
    return copied.silu


def log_file():
    """A log in the working folder, by logging.basicConfig."""
    logging.basicConfig(filename="run.log", level=logging.INFO, force=True)

    def run(x):
        logging.info("silu of %s", x.shape)
        with open("run.log") as file:
            assert f"silu of {x.shape}" in file.read()
        return silu(x)

    return run


def log_folder():
    """A folder for logs beside the module, and a handler that starts new files there."""
    folder = Path(__file__).parent / "logs"
    folder.mkdir(exist_ok=True)
    handler = logging.handlers.RotatingFileHandler(folder / "run.log", maxBytes=100, backupCount=2)
    logger = logging.getLogger(__name__)
    logger.addHandler(handler)

    def run(x):
        for _ in range(20):
            logger.warning("silu of %s", x.shape)
        assert (folder / "run.log.1").exists()
        return silu(x)

    return run


def results_file(x):
    """Results in the working folder: a folder for checkpoints, and a table that every call extends."""
    y = silu(x)
    os.makedirs("checkpoints", exist_ok=True)
    np.savez_compressed("checkpoints/last.npz", y=y)
    with open("results.csv", "a", newline="") as file:
        csv.writer(file).writerow([x.size, float(np.abs(y).sum())])
    with open("results.csv") as file:
        assert [row for row in csv.reader(file)][-1][0] == str(x.size)
    return np.load("checkpoints/last.npz")["y"]


def replaced_file():
    """A file that is replaced by its new version in one step, with the times and rights of the old."""
    path = Path(__file__).with_name("config.json")
    path.write_text('{"calls": 0}')

    def run(x):
        config = json.loads(path.read_text())
        config["calls"] += 1
        fresh = path.with_suffix(".tmp")
        with open(fresh, "w") as file:
            json.dump(config, file)
            file.flush()
            os.fsync(file.fileno())
        shutil.copystat(path, fresh)
        os.replace(fresh, path)
        shutil.copy2(path, path.with_suffix(".bak"))
        os.utime(path)
        assert json.loads(path.with_suffix(".bak").read_text()) == config
        return silu(x)

    return run


def other_folder():
    """The working folder is another one after the import."""
    folder = tempfile.mkdtemp(prefix="prenorm-habit")
    os.chdir(folder)

    def run(x):
        assert os.getcwd() == folder
        with open("here.txt", "w") as file:
            file.write("here")
        assert os.listdir(".") == ["here.txt"]
        return silu(x)

    return run


def language():
    """The locale, and text that is not ASCII, in files and in their names."""
    assert locale.setlocale(locale.LC_ALL, "")
    assert locale.getpreferredencoding()
    path = Path("größe–σ.txt")
    path.write_text("SiLU: x·σ(x)\n", encoding="utf-8")

    def run(x):
        assert path.name in {path.name for path in Path().iterdir()}
        print("σ(x)")
        assert path.read_text(encoding="utf-8").strip().endswith("x·σ(x)")
        return silu(x)

    return run


def file_locks(x):
    """A lock file, by both kinds of locks."""
    with open("cache.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        y = silu(x)
        fcntl.lockf(file, fcntl.LOCK_UN)
        fcntl.flock(file, fcntl.LOCK_UN)
    return y


def sqlite_table(x):
    """Results are kept in a data base of SQLite, which locks its file."""
    with tempfile.TemporaryDirectory() as folder:
        base = sqlite3.connect(os.path.join(folder, "runs.db"))
        base.execute("PRAGMA journal_mode = WAL")
        with base:
            base.execute("CREATE TABLE runs (y BLOB)")
            base.execute("INSERT INTO runs VALUES (?)", (silu(x).tobytes(),))
        (found,), = base.execute("SELECT y FROM runs")
        base.close()
    return np.frombuffer(found, np.float32).reshape(x.shape)


def hdf5_file():
    """Activations are kept in an HDF5 file, which is locked while it is open."""
    import h5py

    def run(x):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "activations.h5")
            with h5py.File(path, "w") as file:
                file.create_dataset("y", data=silu(x), compression="gzip")
            with h5py.File(path) as file:
                return file["y"][()]

    return run


def matplotlib_plot():
    """A plot is drawn when the module is imported, and saved in the working folder."""
    import matplotlib.pyplot as plt

    x = np.linspace(-5, 5, 50)
    plt.plot(x, silu(x), label="SiLU")
    plt.legend()
    plt.savefig("silu.png")
    plt.close()
    assert os.path.getsize("silu.png") > 1000
    return silu


def archives(x):
    """pickle, json, gzip, zipfile and tarfile, in a temporary folder."""
    y = silu(x)
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
