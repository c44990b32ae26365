"""Exercises in C++: a cell is compiled against the reference's tensors, and graded."""

import atexit
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .exercises import grade
from .places import HERE, ROOT, home
from .solutions import Error, load


def compiled(problem, text):
    """A C++ function as a solution of this problem, in float32. `text` defines it, under the problem's name,
    with exercise.hpp before it: tensors are Tensor, Integers or Mask; a scalar int is std::int64_t, a float
    double.

    Raises Error with what the compiler says first.
    """
    folder = Path(tempfile.mkdtemp(prefix="prenorm-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    source, library = f"{problem}.cpp", folder / f"lib{problem}.so"
    (folder / source).write_text(f'#include "exercise.hpp"\n#line 2 "{source}"\n{text}\n'
                                 f"PRENORM_SOLUTION(kDLCPU)\nPRENORM_EXPORT_FUNCTION({problem}, {problem})\n")
    given = os.environ.get("CXX")
    compiler = shlex.split(given or "c++")
    cache = ["ccache"] if shutil.which("ccache") and not given else []
    for command in ([*cache, *compiler, "-std=c++20", "-O1", "-fPIC", "-fmax-errors=1", f"-I{HERE}",
                     f"-I{ROOT}/reference", f"-I{home()}/include", "-c", source, "-o", "cell.o"],
                    [*compiler, "-shared", "cell.o", "-o", library, "-lopenblas"]):
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if " error: " in line]
            raise Error("\n".join(errors) or done.stderr)
    solution = load(library)
    solution.name = "your cell"
    return solution


def cpp(problem, cell):
    """`%%cpp PROBLEM`: a cell that defines this problem's function in C++; its grade, as grade() gives it."""
    try:
        solution = compiled(problem, cell)
    except Error as error:
        print(error)
        return 0.0
    return grade(problem, getattr(solution, problem), "float32")


def register():
    """Adds `%%cpp` to the notebook in which this runs, if it is one."""
    ipython = sys.modules.get("IPython")
    if ipython and (shell := ipython.get_ipython()):
        shell.register_magic_function(cpp, "cell")
