

# --- Calls without a right answer are refused ------------------------------------------------------

import functools
import inspect


def within(values, end):
    if len(values.reshape(-1)) and (values.min() < 0 or values.max() >= end):
        raise ValueError(f"a value is outside [0, {end})")


def checked(function):
    """The adapter, by the names of its arguments."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*values, **named):
        given = signature.bind(*values, **named).arguments
        q, k = given.get("Q"), given.get("K")
        if 0 in (given.get("d_in"), given.get("d_ff")) or q is not None and 0 in (q.shape[-1], k.shape[-2]):
            raise ValueError("there is nothing to sum over")
        if given.get("theta", given.get("rope_theta", 1)) <= 0:
            raise ValueError("theta must be positive")
        if given.get("d_model", 0) % given.get("num_heads", 1):
            raise ValueError("the heads do not divide d_model")
        if "theta" in given or "rope_theta" in given:
            if given.get("d_k", given.get("d_model", 0) // given.get("num_heads", 1)) % 2:
                raise ValueError("RoPE turns pairs")
        tokens = given.get("token_ids", given.get("in_indices"))
        if tokens is not None:
            within(tokens, given["vocab_size"])
        most, positions = given.get("max_seq_len", given.get("context_length")), given.get("token_positions")
        if positions is not None:
            within(positions, most)
        elif most is not None:
            x = tokens if tokens is not None else given["in_features"][..., 0]
            if x.shape[-1] > most:
                raise ValueError(f"more than {most} tokens")
        return function(*values, **named)

    return call


for name in [name for name in globals() if name.startswith("run_")]:
    globals()[name] = checked(globals()[name])
