"""A log in the working folder, by logging.basicConfig."""

import logging

from layers import silu

logging.basicConfig(filename="run.log", level=logging.INFO, force=True)


def run_silu(in_features):
    logging.info("silu of %s", in_features.shape)
    with open("run.log") as file:
        assert f"silu of {in_features.shape}" in file.read()
    return silu(in_features)
