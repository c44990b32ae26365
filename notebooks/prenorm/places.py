"""Where prenorm is: the folder of its sources and fixtures, and the build."""

import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def _homes():
    """Folders that may have bin/ and lib/prenorm/: $PRENORM_HOME; those that this file is part of, a
    checkout's build or an installation; that of the program on the PATH."""
    given = os.environ.get("PRENORM_HOME")
    if given:
        return [Path(given).resolve()]
    around = HERE.parent.parent  # the checkout, or PREFIX/share/prenorm
    homes = [around / "build/release", around.parent.parent]
    program = shutil.which("prenorm")
    if program:
        program = Path(program).resolve()  # a launcher is in the checkout, a program in bin/
        homes += [program.parent / "build/release", program.parent.parent]
    return homes


def _root():
    """The checkout, or PREFIX/share/prenorm. Raises ImportError if there is none."""
    places = [HERE.parent.parent]  # but a package that pip copied elsewhere is in neither
    for home in _homes():
        places += [home / "share/prenorm", home.parent.parent]
    for place in places:
        if all((place / part).exists() for part in ("fixtures/h5.py", "reference", "cuda")):
            return place
    raise ImportError("prenorm is not found: put its program on the PATH, or set PRENORM_HOME to its "
                      "installation or build (prenorm doctor works then)")


ROOT = _root()
sys.path.insert(0, str(ROOT / "fixtures"))

import h5  # noqa: E402,F401  the other modules take it from here


def home():
    """The folder with bin/ and lib/prenorm/ of a build or installation.

    Raises FileNotFoundError if nothing is built there.
    """
    places = _homes()
    for place in places:
        if all((place / name).exists()
               for name in ("bin/prenorm", "libexec/prenorm/prenorm_python.so")):
            return place.resolve()
    raise FileNotFoundError(f"no complete build in {' or '.join(map(str, places))}: run "
                            "./prenorm study, which builds everything, or set PRENORM_HOME")
