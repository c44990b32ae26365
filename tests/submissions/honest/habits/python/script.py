"""A script with its own command line, an executable program that it writes, and a main part."""

import argparse
import os
import subprocess
import sys
import tempfile

from layers import silu

parser = argparse.ArgumentParser()
parser.add_argument("--scale", type=int, default=1)
scale = parser.parse_args([]).scale

path = os.path.join(tempfile.mkdtemp(prefix="prenorm-habit"), "tool.sh")
with open(path, "w") as file:
    file.write("#!/bin/sh\necho ran\n")
os.chmod(path, 0o755)
assert subprocess.run([path], capture_output=True, text=True, check=True).stdout == "ran\n"


def run_silu(in_features):
    assert scale == 1
    return silu(in_features)


if __name__ == "__main__":
    sys.exit("this is no script here")
