"""A folder for logs beside the module, and a handler that starts new files there."""

import logging.handlers
from pathlib import Path

from layers import silu

FOLDER = Path(__file__).parent / "logs"
FOLDER.mkdir(exist_ok=True)
handler = logging.handlers.RotatingFileHandler(FOLDER / "run.log", maxBytes=100, backupCount=2)
logger = logging.getLogger(__name__)
logger.addHandler(handler)


def run_silu(in_features):
    for _ in range(20):
        logger.warning("silu of %s", in_features.shape)
    assert (FOLDER / "run.log.1").exists()
    return silu(in_features)
