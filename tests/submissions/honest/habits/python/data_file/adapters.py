"""A file of data beside the module: the points of a table."""

import json
from pathlib import Path

from layers import silu

with open(Path(__file__).parent / "config.json") as file:
    config = json.load(file)


def run_silu(in_features):
    assert config == {"activation": "silu", "layers": [1, 2, 3]}
    return {"silu": silu}[config["activation"]](in_features)
