"""All shapes of this repository by name, and the decorator that reads them.

`typed` checks shapes when beartype is installed, and otherwise only documents them.
"""

from jaxtyping import Bool, Float, Int, jaxtyped
from torch import Tensor

try:
    from beartype import beartype as checker
except ImportError:
    checker = None

typed = jaxtyped(typechecker=checker)

Hidden = Float[Tensor, "... seq d_model"]
Ids = Int[Tensor, "... seq"]
Mask = Bool[Tensor, "... n m"]
__all__ = ["Bool", "Float", "Hidden", "Ids", "Int", "Mask", "Tensor", "typed"]
