import importlib.metadata

from . import layers, model, profiling

__version__ = importlib.metadata.version("cs336-basics")
__all__ = ["layers", "model", "profiling"]
