"""What the site is made from, as digests: a page is built anew only if one of its inputs changed."""

import hashlib
import importlib
import re
import sys
from pathlib import Path

LIBRARIES = ("nbconvert", "ipykernel", "matplotlib", "numpy", "h5py", "pandas", "pygments")


def digest(paths, *words):
    """Of files and words. A file counts by its content, so a build that changes nothing is no change."""
    found = hashlib.sha256(repr(words).encode())
    for path in sorted(set(paths)):
        content = path.read_bytes()
        found.update(f"{path.name} {len(content)}\n".encode() + content)
    return found.hexdigest()


def of_results(root, home):
    """What each notebook may use and each page shows: the program, its solutions, the fixtures, the
    code, this builder."""
    here = Path(__file__).resolve().parent
    paths = [*_files(home / "bin"), *_files(home / "libexec/prenorm"),
             *(home / "lib/prenorm").glob("*.so"), *(home / "lib/prenorm").glob("*.absent"),
             *(root / "fixtures").glob("*.h5"), *_files(root / "reference"), *_files(root / "cuda"),
             *here.parent.glob("*.py"), *_files(here.parent / "model"), *(here.parent / "prenorm").glob("*"),
             *here.glob("*.py"), *here.glob("*.j2")]
    versions = [(name, importlib.import_module(name).__version__) for name in LIBRARIES]
    return digest((path for path in paths if path.is_file()), sys.version, versions)


def of_every_page(results, notebooks):
    """The same, and the other pages' titles, which are links."""
    titles = {name: re.findall(r'"(# .*?)(?:\\n)?"', path.read_text())[:1]
              for name, path in notebooks.items()}
    return digest([], results, titles)


def of_the_rest(root, documents, katex, names):
    """What else the site has: pages of documentation, their pictures, styles, scripts; the list of
    notebooks."""
    here = Path(__file__).resolve().parent
    paths = [*(root / each for each in documents), *_files(here.parent / "readme"),
             *here.glob("*.css"), *here.glob("*.js"), *katex]
    return digest((path for path in paths if path.is_file()), names)


def _files(folder):
    """The files below a folder, without what belongs to Python or an editor."""
    return [path for path in folder.rglob("*")
            if not path.name.startswith(".") and "__pycache__" not in path.parts]
