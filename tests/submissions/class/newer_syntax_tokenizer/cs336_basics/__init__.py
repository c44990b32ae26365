__all__ = ["bpe", "lm"]
