"""What the adapters share."""

from torch import Tensor, nn


def loaded(module: nn.Module, weights: dict[str, Tensor]) -> nn.Module:
    module.load_state_dict(weights)
    return module
