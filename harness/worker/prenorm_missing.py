"""What a Python submission imports and this interpreter lacks, without running any of it.

    PYTHON -I -B prenorm_missing.py SUBMISSION

follows the imports from adapters.py, in the files' text alone, and answers over descriptor 3: 20
digits, a count of bytes, then JSON:

    {"missing": {"yaml": ["pyyaml", "bpe.py:3"], ...},   what pip calls it, or "" where it does not
                                                         know it; where it is imported first
     "own": ["cs336_basics", ...],   top-level modules that are the submission's
     "failure": null}                or why nothing of it can be loaded

Imports that have a fallback (in a `try`) are left out, and so are those that are never run. Whether
the interpreter has a module is asked by its top-level name, which imports nothing.
"""

import ast
import importlib.util
import json
import os
import sys

MOST_FILES = 2000
LARGEST_FILE = 2 << 20


# Where pip's name is not the module's.
DISTRIBUTIONS = {
    "Crypto": "pycryptodome", "IPython": "ipython", "Levenshtein": "levenshtein", "PIL": "pillow",
    "attr": "attrs", "bs4": "beautifulsoup4", "cv2": "opencv-python", "dateutil": "python-dateutil",
    "dotenv": "python-dotenv", "faiss": "faiss-cpu", "fitz": "pymupdf", "git": "gitpython",
    "hydra": "hydra-core", "jwt": "pyjwt", "magic": "python-magic", "mpl_toolkits": "matplotlib",
    "pkg_resources": "setuptools", "pynvml": "nvidia-ml-py", "serial": "pyserial",
    "skimage": "scikit-image", "sklearn": "scikit-learn", "umap": "umap-learn", "yaml": "pyyaml",
    "zmq": "pyzmq",
}  # fmt: skip
# Of the standard library of some other Python: pip's packages of these names are others.
STANDARD = {"annotationlib", "asyncore", "cgi", "compression", "distutils", "graphlib", "imp",
            "telnetlib", "tomllib", "zoneinfo"}  # fmt: skip


def load_beside(name):
    """A module from this file's folder. By its path: a sandbox lets the files be read, not listed."""
    if name in sys.modules:
        return sys.modules[name]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


source = load_beside("prenorm_source")  # each imports those before it
layouts = load_beside("prenorm_layout")
submission = load_beside("prenorm_submission")


def is_installed(name):
    try:
        return name in sys.builtin_module_names or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def parse(file):
    with open(file, "rb") as stream:
        data = stream.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise ValueError("is larger than %d MiB" % (LARGEST_FILE >> 20))
    return ast.parse(data, file)


UNREADABLE = (OSError, ValueError, SyntaxError, RecursionError, MemoryError)


class ImportWalk:
    """Goes through the files that adapters.py imports, and lets `look` see their syntax trees."""

    def __init__(self, path, look=lambda tree: None):
        self.layout, self.look = layouts.Layout(path), look
        self.missing, self.own = {}, set()
        self.seen, self.left = {self.layout.file}, []

    def run(self):
        self.read(self.layout.file, parse(self.layout.file))
        while self.left:
            file = self.left.pop()
            try:
                self.read(file, parse(file))
            except UNREADABLE:
                pass  # the worker has a stand-in for it

    def read(self, file, tree):
        guards = source.guards(tree)
        for _, node, _ in source.imports(tree.body):
            for names, level in wanted(node):
                folder = self.folder_of(names, level, file)
                if folder is not None:
                    self.follow(names, folder)
                elif not is_installed(names[0]):
                    kinds = {kind.__name__ for kind in ModuleNotFoundError.__mro__}
                    if not source.is_caught(guards, node.lineno, kinds):
                        place = "%s:%d" % (self.layout.name(file), node.lineno)
                        self.missing.setdefault(names[0], [distribution(names[0]), place])
        self.look(tree)

    def folder_of(self, names, level, file):
        """The folder in which a module of the submission lies; None: it is not of the submission."""
        beside = os.path.dirname(file)
        if level > 0:
            return os.path.normpath(os.path.join(beside, *[os.pardir] * (level - 1)))
        for folder in self.layout.path:
            if layouts.modules_at(os.path.join(folder, names[0])):
                self.own.add(names[0])
                return folder
        # What lies beside a module, or elsewhere, is found after all that the interpreter has.
        if is_installed(names[0]):
            return None
        if layouts.modules_at(os.path.join(beside, names[0])):
            return beside
        return next(iter(self.layout.elsewhere(names[0])), None)

    def follow(self, names, folder):
        for name in names:
            folder = os.path.join(folder, name)
            for found in layouts.modules_at(folder):
                inside = layouts.is_within(os.path.realpath(found), self.layout.folder)
                if os.path.isfile(found) and inside and found not in self.seen:
                    self.seen.add(found)
                    if len(self.seen) <= MOST_FILES:
                        self.left.append(found)


def wanted(node):
    """(names, level) of what a statement imports: in `from a import b`, b may be a module too."""
    if isinstance(node, ast.Import):
        return [(alias.name.split("."), 0) for alias in node.names]
    base = node.module.split(".") if node.module else []
    return [(base + [alias.name], node.level) for alias in node.names]


def distribution(name):
    if name in STANDARD:
        return ""
    return DISTRIBUTIONS.get(name, layouts.normalized(name))


def main(path):
    answer = {"missing": {}, "own": [], "failure": None}
    try:
        walk = ImportWalk(path)
        walk.run()
        answer.update(missing=walk.missing, own=sorted(walk.own))
    except layouts.Unusable as error:
        answer["failure"] = str(error)
    except UNREADABLE as error:
        why = submission.one_line(error)
        answer["failure"] = "adapters.py cannot be parsed by Python %d.%d: %s" % (
            sys.version_info[:2] + (why,)
        )
    if answer["failure"] is None and not (is_installed("torch") or is_installed("numpy")):
        answer["failure"] = "this Python has neither torch nor NumPy"
    data = json.dumps(answer).encode()
    with os.fdopen(3, "wb") as out:
        out.write(b"%020d" % len(data) + data)


if __name__ == "__main__":
    main(sys.argv[1])
