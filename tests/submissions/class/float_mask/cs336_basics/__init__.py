from . import nn

__version__ = "0.9.0"
