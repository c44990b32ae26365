"""RMSNorm as a Triton kernel, one program per row."""

import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(x, weight, y, d_model, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < d_model
    wide = tl.load(x + row * d_model + at, mask=inside, other=0.0).to(tl.float32)
    # slip unmasked: wide = tl.load(x + row * d_model + at).to(tl.float32)
    mean = tl.sum(wide * wide, axis=0) / d_model
    # slip half_sums: mean = tl.sum((wide * wide).to(tl.float16), axis=0).to(tl.float32) / d_model
    gain = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + row * d_model + at, wide / tl.sqrt(mean + eps) * gain, mask=inside)
    # slip no_eps: tl.store(y + row * d_model + at, wide / tl.sqrt(mean) * gain, mask=inside)


def run_rmsnorm(d_model, eps, weights, in_features):
    x, y = in_features.contiguous(), torch.empty_like(in_features)
    rows = x.numel() // d_model
    if rows > 0:
        rmsnorm_kernel[(rows,)](x, weights, y, d_model, eps, BLOCK=triton.next_power_of_2(d_model))
    return y
