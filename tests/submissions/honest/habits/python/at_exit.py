"""Work is done when the process ends: a summary is written."""

import atexit
import weakref

from layers import silu

calls = []


class Model:
    pass


model = Model()
weakref.finalize(model, calls.append, "model")


@atexit.register
def summary():
    with open("summary.txt", "w") as file:
        file.write(f"{len(calls)} calls\n")


def run_silu(in_features):
    calls.append(in_features.shape)
    return silu(in_features)
