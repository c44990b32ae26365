import importlib.metadata

__version__ = importlib.metadata.version("cs336_basics")

from .logger import Logger  # noqa: E402
