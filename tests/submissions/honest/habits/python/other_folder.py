"""The working folder is another one after the import."""

import os
import tempfile

from layers import silu

folder = tempfile.mkdtemp(prefix="prenorm-habit")
os.chdir(folder)


def run_silu(in_features):
    assert os.getcwd() == folder
    with open("here.txt", "w") as file:
        file.write("here")
    assert os.listdir(".") == ["here.txt"]
    return silu(in_features)
