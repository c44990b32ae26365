"""Where prenorm is: the folder of its sources and fixtures, and the build."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent  # the checkout, or PREFIX/share/prenorm
sys.path.insert(0, str(ROOT / "fixtures"))

import h5  # noqa: E402,F401  the other modules take it from here


def home():
    """The folder with bin/ and lib/prenorm/ of a build: $PRENORM_HOME, the checkout's own build, or
    the installation that this file is part of.

    Raises FileNotFoundError if nothing is built there.
    """
    given = os.environ.get("PRENORM_HOME")
    places = [Path(given)] if given else [ROOT / "build/release", ROOT.parent.parent]
    for place in places:
        if all((place / name).exists()
               for name in ("bin/prenorm", "libexec/prenorm/prenorm_python.so")):
            return place.resolve()
    raise FileNotFoundError(f"no complete build in {' or '.join(map(str, places))}: run "
                            "./prenorm study, which builds everything, or set PRENORM_HOME")
