"""Where a Python submission's modules lie: adapters.py, the repository's root, the folders on the module
path, and what project files say.

prenorm_submission.py and prenorm_missing.py import this file. CPython 3.8 or newer.
"""

import ast
import glob
import json
import os
import re
import sys

import prenorm_source as source

MOST_FOLDERS = 20000
MADE_PACKAGE = "handed_in"  # of a folder that has no __init__.py


class Unusable(Exception):
    """Why a submission, or this Python, cannot be used."""


ROOT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", ".git")
SKIPPED_FOLDERS = {"__pycache__", "build", "dist", "node_modules", "site-packages", "venv"}


def find_adapters(folder):
    """FOLDER/adapters.py, FOLDER/tests/adapters.py, or the only one below (of several, the only one
    in a folder tests/); its path."""
    for usual in ("adapters.py", os.path.join("tests", "adapters.py")):
        if os.path.isfile(os.path.join(folder, usual)):
            return os.path.join(folder, usual)
    files = [os.path.join(parent, "adapters.py") for parent in folders_below(folder)]
    found = [os.path.relpath(file, folder) for file in files if os.path.isfile(file)]
    if not found:
        raise Unusable("there is no adapters.py")
    of_tests = [each for each in found if os.path.basename(os.path.dirname(each)) == "tests"]
    if len(of_tests) == 1:
        found = of_tests
    if len(found) > 1:
        raise Unusable(
            "there are several adapters.py (%s): wanted one, or one at the top or in tests/"
            % named(found)
        )
    return os.path.join(folder, found[0])


def named(files):
    return ", ".join(files[:4] + ["..."] * (len(files) > 4))


def is_part_of_a_package(file):
    """Whether it asks for modules beside it, as only a module of a package may, and has nothing else
    to offer."""
    try:
        with open(file, "rb") as stream:
            tree = ast.parse(stream.read(1 << 20))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    guards = source.guards(tree)
    return any(
        getattr(node, "level", 0) == 1
        and not in_function
        and not source.is_caught(guards, node.lineno, {"ImportError", "Exception"})
        for _, node, in_function in source.imports(tree.body)
    )


def find_root(file, folder):
    """The repository's root: where a file that marks one is, at or above the file."""
    parent = os.path.dirname(file)
    while True:
        if any(os.path.exists(os.path.join(parent, mark)) for mark in ROOT_MARKS):
            return parent
        if parent == folder:
            return folder
        parent = os.path.dirname(parent)


def folders_below(folder):
    """Without environments and what is built; at most MOST_FOLDERS."""
    found = []
    for parent, folders, _ in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in SKIPPED_FOLDERS
            and not os.path.exists(os.path.join(parent, name, "pyvenv.cfg"))
        )
        found.append(parent)
        if len(found) == MOST_FOLDERS:
            break
    return found


def modules_at(path):
    """What a module of that path, without its ending, may be: its file or its folder's."""
    found = [path + ".py"] if os.path.isfile(path + ".py") else []
    if os.path.isdir(path):
        found.append(os.path.join(path, "__init__.py"))
    return found


def holds_modules(folder):
    """Whether it may be a package without __init__.py."""
    try:
        return any(each.endswith(".py") for each in os.listdir(folder))
    except OSError:
        return False


def is_within(path, folder):
    return path == folder or path.startswith(os.path.join(folder, ""))


class Layout:
    """How a submission is laid out: `file` is adapters.py, `folder` all that was handed in.

    `root` is the repository's root, `module` the name by which adapters.py is imported, and `path`
    the folders that pytest would put on sys.path, none of them outside of `folder`.
    """

    def __init__(self, path):
        path = os.path.realpath(path)
        if os.path.isdir(path):
            self.folder, self.file = path, find_adapters(path)
        elif os.path.isfile(path):
            self.folder, self.file = os.path.dirname(path), path
        else:
            raise Unusable("there is no such file or folder")
        self.folders = None  # all of them, once they are asked for
        self.root = find_root(self.file, self.folder)
        self.project = Project(self.root)
        # A module of a package has the package's name, as in the submission's own tests.
        beside = home = os.path.dirname(self.file)
        self.module = os.path.splitext(os.path.basename(self.file))[0]
        while home != self.folder and os.path.isfile(os.path.join(home, "__init__.py")):
            self.module = os.path.basename(home) + "." + self.module
            home = os.path.dirname(home)
        # By a name that no other package has.
        self.has_made_package = home == beside and is_part_of_a_package(self.file)
        if self.has_made_package:
            self.module = MADE_PACKAGE + "." + self.module
        # Tests are run from the folder above theirs, which need not be marked as a root.
        above = os.path.dirname(beside) if os.path.basename(beside) == "tests" else beside
        on_path = [os.path.join(self.root, each) for each in self.project.python_path]
        folders = [home, *on_path, self.root, os.path.join(self.root, "src"), above, beside]
        folders = [os.path.realpath(each) for each in folders if os.path.isdir(each)]
        self.path = [each for each in dict.fromkeys(folders) if is_within(each, self.folder)]

    def elsewhere(self, name):
        """The folders of a module that is on no path; of one that can be used there is just one.
        conftest.py, setup.cfg and the tools that build packages have many ways to name it."""
        if self.folders is None:
            self.folders = folders_below(self.folder)

        def where(is_module):
            return [each for each in self.folders if is_module(os.path.join(each, name))]

        found = where(lambda path: any(map(os.path.isfile, modules_at(path))))
        # Any folder with scripts looks like a package without __init__.py.
        found = found or [each for each in where(holds_modules) if self.project.names(each)]
        alone = [each for each in found if not os.path.isfile(os.path.join(each, "__init__.py"))]
        found = alone or found  # rather a package than a part of one
        if len(found) > 1:
            found = [each for each in found if self.project.names(each)] or found
        return found

    def contains(self, file):
        return is_within(file, self.folder)

    def name(self, file):
        """A file of the submission, as it was handed in."""
        return os.path.relpath(file, self.folder)


class Project:
    """What pyproject.toml says: the project's name and version, and pytest's pythonpath."""

    def __init__(self, root):
        self.root, self.name, self.version, self.python_path = root, None, "0", []
        try:
            with open(os.path.join(root, "pyproject.toml"), encoding="utf-8") as file:
                tables = re.split(r"(?m)^\s*\[", file.read(1 << 20))
        except (OSError, ValueError):
            return
        table = next((t for t in tables if re.match(r"(project|tool\.poetry)\s*\]", t)), "")
        found = dict(re.findall(r"(?m)^\s*(name|version)\s*=\s*[\"']([^\"'\n]+)", table))
        self.name, self.version = found.get("name"), found.get("version", "0")
        table = next((t for t in tables if t.startswith("tool.pytest.ini_options]")), "")
        value = re.search(r"(?m)^\s*pythonpath\s*=\s*(\[[^]]*|[^\n]*)", table)
        for quoted in re.findall(r"\"[^\"\n]*\"|'[^'\n]*'", value.group(1)) if value else ():
            text = quoted[1:-1]
            self.python_path += [text] if value.group(1).startswith("[") else text.split()

    def names(self, folder):
        """Whether a file that configures the project speaks of the folder."""
        if folder == self.root:
            return True
        path = os.path.relpath(folder, self.root).replace(os.sep, "/")
        word = re.compile(r"(?<![\w./-])(\./)?%s/?(?![\w/-])" % re.escape(path))
        for mark in ("conftest.py", *ROOT_MARKS):
            try:
                with open(os.path.join(self.root, mark), encoding="utf-8") as file:
                    if word.search(file.read(1 << 20)):
                        return True
            except (OSError, ValueError):
                continue
        return False

    def offer_metadata(self):
        """Lets importlib.metadata find the project as if it had been installed.

        Packages often ask for their own version when they are imported.
        """
        if self.name is None:
            return
        from importlib import metadata

        project = self

        class Distribution(metadata.Distribution):
            def read_text(self, filename):
                if filename not in ("METADATA", "PKG-INFO"):
                    return None
                head = "Metadata-Version: 2.1\nName: %s\nVersion: %s\n"
                return head % (project.name, project.version)

            def locate_file(self, path):
                return os.path.join(project.root, path)

        class Finder(metadata.DistributionFinder):
            def find_spec(self, *_):
                return None

            def find_distributions(self, context=metadata.DistributionFinder.Context()):
                if context.name is None or normalized(context.name) == normalized(project.name):
                    yield Distribution()

        sys.meta_path.append(Finder())


def normalized(name):
    """A distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed_from_folders():
    """Top-level modules of this interpreter that were installed from somebody's folder, and from no
    index (PEP 610): where the staff's own solution is installed, it has the submissions' name."""
    names = set()
    for folder in filter(os.path.isdir, sys.path):
        # Few have that file: every worker looks for it when it starts.
        for file in glob.glob(os.path.join(glob.escape(folder), "*.dist-info", "direct_url.json")):
            info = os.path.dirname(file)
            if is_from_folder(info):
                names |= modules_of(info)
    return names


def is_from_folder(info):
    try:
        with open(os.path.join(info, "INSTALLER"), encoding="utf-8") as file:
            if file.read().strip() == "conda":  # which says so of all that it has built
                return False
        with open(os.path.join(info, "direct_url.json"), encoding="utf-8") as file:
            return "dir_info" in json.load(file)
    except (OSError, ValueError):
        return False


def modules_of(info):
    """The top-level modules of an installed distribution."""
    try:
        with open(os.path.join(info, "RECORD"), encoding="utf-8") as file:
            files = [line.split(",")[0] for line in file]
    except (OSError, ValueError):
        return set()
    return {re.split(r"/|\.py$", each)[0] for each in files if each.endswith(".py")}
