"""The parts of the 2024 edition: GELU, no RoPE."""

import importlib.metadata

from .functions import attention, gelu, softmax
from .modules import Block, FeedForward, RMSNorm, SelfAttention

__version__ = importlib.metadata.version("pre_norm_2024")

__all__ = ["Block", "FeedForward", "RMSNorm", "SelfAttention", "attention", "gelu", "softmax"]
