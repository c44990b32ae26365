"""The parts of the 2024 edition: GELU, no RoPE."""

from .modules import Block, FeedForward, RMSNorm, SelfAttention
from .functions import attention, gelu, softmax

__all__ = ["Block", "FeedForward", "RMSNorm", "SelfAttention", "attention", "gelu", "softmax"]
