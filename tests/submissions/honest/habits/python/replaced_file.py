"""A file that is replaced by its new version in one step, with the times and rights of the old."""

import json
import os
import shutil
from pathlib import Path

from layers import silu

CONFIG = Path(__file__).with_name("config.json")
CONFIG.write_text('{"calls": 0}')


def run_silu(in_features):
    config = json.loads(CONFIG.read_text())
    config["calls"] += 1
    fresh = CONFIG.with_suffix(".tmp")
    with open(fresh, "w") as file:
        json.dump(config, file)
        file.flush()
        os.fsync(file.fileno())
    shutil.copystat(CONFIG, fresh)
    os.replace(fresh, CONFIG)
    shutil.copy2(CONFIG, CONFIG.with_suffix(".bak"))
    os.utime(CONFIG)
    assert json.loads(CONFIG.with_suffix(".bak").read_text()) == config
    return silu(in_features)
