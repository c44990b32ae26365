"""How the adapters run a part: in float64 or float32, rounded once to the type of the input."""

import torch


def at_least_float32(*tensors):
    return [x.to(torch.promote_types(x.dtype, torch.float32)) for x in tensors]


def run(module, weights, x):
    (wide,) = at_least_float32(x)
    module.to(wide.dtype).load_state_dict(weights)
    return module(wide).to(x.dtype)
