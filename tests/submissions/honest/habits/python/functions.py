"""What Python offers to write functions: caches, dispatch, data classes, enumerations, generators."""

import dataclasses
import enum
import functools
import itertools
import typing

import numpy as np
from layers import silu


class Kind(enum.Enum):
    SILU = "silu"


@dataclasses.dataclass(frozen=True)
class Config:
    kind: Kind = Kind.SILU
    rows: typing.Optional[int] = 2


@functools.lru_cache(maxsize=None)
def activation(config):
    return {Kind.SILU: functools.partial(silu)}[config.kind]


@functools.singledispatch
def apply(x):
    raise TypeError(type(x))


@apply.register
def _(x: np.ndarray):
    return activation(Config())(x)


def run_silu(in_features):
    rows = (in_features[i] for i in itertools.count())
    return np.stack([apply(np.asarray(row)) for row in itertools.islice(rows, len(in_features))])
