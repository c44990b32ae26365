"""A model."""

from .parts import activation

__all__ = ["activation"]
