from .nets import attention, block, language_model, multihead, rmsnorm, rotate, softmax, swiglu

__all__ = [
    "attention", "block", "language_model", "multihead", "rmsnorm", "rotate", "softmax", "swiglu",
]
