"""Solutions, fixtures and sources of prenorm as Python, on NumPy arrays.

    import prenorm

    reference = prenorm.load("reference")              # a name or path, as --solution takes it
    y = reference.rmsnorm(x, weight, eps=1e-5)         # any problem, in any of its dtypes
    wrong = prenorm.load("mistakes/no_eps").rmsnorm(x, weight)

    case = prenorm.fixture("rmsnorm").cases["by_hand_float32"]
    y = reference.rmsnorm(**case.arguments)
    prenorm.compare(y, case).passes                    # element by element

    prenorm.verify("rmsnorm", "reference", "mistakes/no_eps")    # prenorm verify, as a table
    prenorm.source("rmsnorm", "cuda-naive")                      # the code that is compiled
    prenorm.laws("rmsnorm")                                      # what every right one does
    prenorm.grade("rmsnorm", my_rmsnorm)                         # a function of your own
    prenorm.hint()                                               # on its first failure

A solution is called through the C interface (<prenorm/prenorm.h>) by ctypes, in this process: a
solution that crashes takes the notebook's kernel with it. `prenorm.verify` runs solutions in a
process of their own.

bfloat16 is the dtype `prenorm.bfloat16`, which stores bits and has no arithmetic: `to(values,
"bfloat16")` rounds to it, `widen(array)` gives float64. Arrays of ml_dtypes.bfloat16 are accepted
too; the results then have that type.

The modules, each of which imports only those before it: places, dtypes, harness, fixtures,
solutions, program, exercises, puzzles, cells; and cpp, panes, sources, sides.
"""

from . import cells
from .dtypes import DTYPES, bfloat16, dtype_name, to, widen
from .exercises import catches, grade, hint
from .fixtures import Case, Comparison, Fixture, compare, fixture, problems, random_weights
from .harness import spacing
from .places import ROOT, home
from .program import mistakes, names_of_honest, names_of_mistakes, run, verdicts, verify
from .sides import side_by_side
from .solutions import Error, Function, Solution, load
from .sources import contract, function_source as source, ladder, laws

__all__ = ["Case", "Comparison", "DTYPES", "Error", "Fixture", "Function", "ROOT", "Solution",
           "bfloat16", "catches", "compare", "contract", "dtype_name", "fixture", "grade", "hint",
           "home", "ladder", "laws", "load", "mistakes", "names_of_honest", "names_of_mistakes", "problems",
           "random_weights", "run", "side_by_side", "source", "spacing", "to", "verdicts", "verify", "widen"]

cells.register()  # %%cpp
