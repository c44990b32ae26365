"""A Python submission's modules: how they are imported, and stand-ins for what cannot be.

What cannot be imported costs only what needs it. An import that fails while a module of the
submission is executed (the interpreter lacks the module, or a name in it; the module itself fails)
binds a stand-in; so does a module of the submission that cannot be parsed, or that fails half-way:
what it has defined by then stays, and stand-ins take the place of the rest. While modules are
imported, a stand-in can be called, subscripted, subclassed and used as a decorator, which gives
another stand-in. Afterwards each use raises NotImported with the original message.

An import inside of a `try` that catches its error fails as usual: the submission has something else
to offer. Imports inside of functions fail as usual, too, when the function is called.

prenorm_worker.py and prenorm_missing.py load this file. CPython 3.8 or newer.
"""

import ast
import copy
import functools
import importlib.util
import os
import sys
import types
from importlib import machinery

import prenorm_source as source
from prenorm_layout import (
    MADE_PACKAGE,
    Unusable,
    installed_from_folders,
    is_within,
    named,
)

OTHER, MISSING_PACKAGE, UNREADABLE_CODE = 0, 1, 3  # kinds of notes
MOST_NOTES = 50
LONGEST_NOTE = 300


class NotImported(ImportError):
    """A stand-in was used."""


# Stand-ins.

executing = 0  # modules of the submission that are being executed


class StandIn:
    """In place of what could not be imported."""

    __name, __why = "", ""

    def __init__(self, name, why):
        self.__name, self.__why = name, why

    def __repr__(self):
        return "<stand-in for %s>" % self.__name

    def __getattr__(self, name):
        is_printed = name == "__version__" and executing
        if name.startswith("__") and name.endswith("__") and not is_printed:
            raise AttributeError(self.__why)  # what is asked of any object whether it has it
        return StandIn(self.__name + "." + name, self.__why)

    def __mro_entries__(self, bases):
        # The class can be defined; to make an object of it is a use, whatever its other bases are.
        def derived(cls, **_):
            cls.__new__ = self.__use

        return (type("StandInBase", (), {"__init_subclass__": classmethod(derived)}),)

    def __eq__(self, other):
        return self is other if executing else self.__use()

    def __hash__(self):
        return id(self)

    def __bool__(self):
        return True if executing else self.__use()

    def __use(self, *_, **__):
        """Another stand-in while modules are imported; fails afterwards."""
        if executing:
            return StandIn(self.__name, self.__why)
        raise NotImported(self.__why)

    def __fail(self, *_, **__):
        raise NotImported(self.__why)

    for __each in "call getitem or ror and rand add radd sub rsub mul rmul matmul rmatmul".split():
        locals()["__%s__" % __each] = __use
    for __each in "truediv rtruediv floordiv rfloordiv mod rmod pow rpow neg pos abs".split():
        locals()["__%s__" % __each] = __use
    def __enter__(self):
        return self.__use()

    def __exit__(self, *_):
        self.__use()

    for __each in "len iter next contains int float complex index array".split():
        locals()["__%s__" % __each] = __fail
    for __each in "lt le gt ge invert setitem delitem instancecheck subclasscheck".split():
        locals()["__%s__" % __each] = __fail
    del __each


def require_real(value):
    """Raises NotImported for a stand-in."""
    if isinstance(value, StandIn):
        value()


def one_line(error):
    return "%s: %s" % (type(error).__name__, " ".join(str(error).split()))


class Modules:
    """Imports a submission's modules. `notes` are what the person who grades should know."""

    HANDLER = "__import_failed__"  # a name in each module: what is called where an import fails

    def __init__(self, layout):
        self.layout = layout
        self.guards, self.free = {}, {}  # by file
        self.of_staff = set()
        self.notes, self.noted = [], set()
        self.unreadable = set()  # what the stand-ins of files that Python cannot parse say

    def install(self):
        self.of_staff = installed_from_folders()
        sys.path[:0] = self.layout.path
        sys.path_hooks.insert(0, self._finder)
        sys.meta_path.append(self)  # after all that the interpreter has
        if self.of_staff:
            sys.meta_path.insert(0, SubmissionFirst(self))
        if self.layout.has_made_package:
            package = sys.modules[MADE_PACKAGE] = types.ModuleType(MADE_PACKAGE)
            package.__path__ = [os.path.dirname(self.layout.file)]

    def find_spec(self, name, path=None, target=None):
        if path is not None:  # a part of a package
            return None
        folders = self.layout.elsewhere(name)
        if len(folders) != 1:
            return None
        return machinery.PathFinder.find_spec(name, folders, target)

    def _finder(self, folder):
        if not (os.path.isdir(folder) and is_within(os.path.realpath(folder), self.layout.folder)):
            raise ImportError("no folder of the submission")
        return machinery.FileFinder(
            folder,
            (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
            (functools.partial(Loader, self), machinery.SOURCE_SUFFIXES),
            (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES),
        )

    def compile(self, data, file):
        """The code of a module, and its import statements: each can fail by itself."""
        tree = ast.parse(data, file)
        self.guards[file] = source.guards(tree)
        self.free[file] = source.free_names(tree)
        statements = []
        for body, node, in_function in source.imports(tree.body):
            if in_function:
                continue
            tried = []
            for alias in node.names:
                text = "try: pass\nexcept: %s(%d)" % (self.HANDLER, len(statements))
                tried += ast.parse(text).body
                statements.append(copy.copy(node))
                statements[-1].names = [alias]
                tried[-1].body = [statements[-1]]
                for part in ast.walk(tried[-1]):
                    if "lineno" in part._attributes:
                        ast.copy_location(part, node)
            at = body.index(node)
            body[at : at + 1] = tried
        return compile(tree, file, "exec", dont_inherit=True), statements

    def is_caught(self, error, frame):
        """Whether a `try` of the submission's catches the error on its way out."""
        kinds = {kind.__name__ for kind in type(error).__mro__}
        while frame is not None:
            found = self.guards.get(frame.f_code.co_filename, ())
            if source.is_caught(found, frame.f_lineno, kinds):
                return True
            frame = frame.f_back
        return False

    def import_failed(self, statements, number):
        """Called by a module of the submission, in place of whose import a stand-in goes."""
        error, frame = sys.exc_info()[1], sys._getframe(1)
        if not isinstance(error, (Exception, SystemExit)) or self.is_caught(error, frame):
            raise
        file, statement = frame.f_code.co_filename, statements[number]
        alias, line = statement.names[0], statement.lineno
        if isinstance(statement, ast.Import):
            wanted = name = alias.name
            if alias.asname is None:
                name = name.split(".")[0]
            value = sys.modules.get(name)
            missing = wanted.split(".")[1:] if value is not None else []
        else:
            wanted = "." * statement.level + (statement.module or "")
            name, value, missing = wanted + "." + alias.name, None, []
        why = self._explain(error, wanted, file, line)
        if alias.name == "*":
            for free in self.free[file] - frame.f_locals.keys():
                frame.f_locals[free] = StandIn(wanted + "." + free, why)
            return
        bound = alias.asname or (name if isinstance(statement, ast.Import) else alias.name)
        frame.f_locals[bound] = StandIn(name, why) if value is None else value
        for part in missing:  # of `import a.b` there may be an a without b
            name += "." + part
            if not hasattr(value, part):
                setattr(value, part, StandIn(name, why))
                break
            value = getattr(value, part)

    def _explain(self, error, wanted, file, line):
        """Why an import failed, in words; and a note of it."""
        place = self.layout.name(file)
        lacking = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
        # Tensors are made of torch's, or where there is no torch of NumPy's.
        no_torch = importlib.util.find_spec("torch") is None
        if lacking in ("torch", "numpy") and no_torch and file == self.layout.file:
            raise Unusable(
                "%s, which %s imports in line %d: install it for %s, or name another with --python"
                % (error, place, line, sys.executable)
            )
        if lacking is not None and lacking.split(".")[0] == wanted.split(".")[0]:
            first = lacking.split(".")[0]
            lies = [self.layout.name(each) for each in self.layout.elsewhere(first)]
            kind = OTHER
            if first in sys.modules:
                what = "there is no module " + lacking
            elif lies:
                what = "%s lies in several folders (%s), and none is on the module path" % (
                    lacking,
                    named(lies),
                )
            else:
                what, kind = lacking + " is not installed", MISSING_PACKAGE
            self.note_of(what, "stand-in (%s:%d)" % (place, line), kind)
        elif not str(error).startswith("cannot import name"):
            why = "%s imports %s in line %d, which fails: " % (place, wanted, line)
            self.note_of("%s: %s" % (wanted, one_line(error)), "stand-in (%s:%d)" % (place, line))
            return why + one_line(error)
        else:
            self.note_of(str(error), "stand-in (%s:%d)" % (place, line))
        return "%s, which %s imports in line %d" % (error, place, line)

    def complete(self, module, file, error):
        """Stand-ins for what a module has not defined that failed while it was executed."""
        name = self.layout.name(file)
        if isinstance(error, SyntaxError) and error.filename == file:
            why = "%s cannot be parsed by Python %d.%d: %s (line %s)" % (
                (name,) + sys.version_info[:2] + (error.msg, error.lineno)
            )
            self.note_of(why, "stand-in")
            self.unreadable.add(why)
        else:
            what = "%s fails when it is imported: %s" % (name, one_line(error))
            what += place_of(error, self.layout.folder)
            self.note_of(what, "stand-ins for what it has not defined by then")
            why = str(error) if isinstance(error, NotImported) else what

        def stand_in(attribute):
            if attribute.startswith("__") and attribute.endswith("__"):
                raise AttributeError(why)
            whole = module.__name__ + "." + attribute
            # `from package import module` asks for an attribute before it looks for the module.
            if hasattr(module, "__path__") and importlib.util.find_spec(whole) is not None:
                raise AttributeError(why)
            return StandIn(whole, why)

        names = vars(module)
        try:
            with open(file, encoding="utf-8", errors="replace") as text:
                for found in map("".join, source.DEFINITION.findall(text.read())):
                    if not found.startswith("__"):
                        names.setdefault(found, stand_in(found))
        except OSError:
            pass
        names.setdefault("__getattr__", stand_in)

    def is_unreadable(self, error):
        """Whether an error comes of a file of the submission that Python cannot parse."""
        if isinstance(error, SyntaxError):
            return str(error.filename).startswith(self.layout.folder + os.sep)
        return isinstance(error, NotImported) and any(why in str(error) for why in self.unreadable)

    def note_of(self, what, consequence, kind=OTHER):
        if what not in self.noted and len(self.noted) < MOST_NOTES:
            self.noted.add(what)
            self.note(what + ": " + consequence, kind)

    def note(self, words, kind=OTHER, problem=""):
        note = " ".join(words.split())
        note = note if len(note) <= LONGEST_NOTE else note[:LONGEST_NOTE] + "..."
        self.notes.append((kind, problem, note))

    def take_notes(self):
        """Those that have come since it was called last."""
        notes, self.notes = self.notes, []
        return notes


class SubmissionFirst:
    """Finds a submission's module before one of its name that the staff has installed."""

    def __init__(self, modules):
        self.modules = modules

    def find_spec(self, name, path=None, target=None):
        if path is not None or name not in self.modules.of_staff:
            return None
        found = machinery.PathFinder.find_spec(name, self.modules.layout.path, target)
        found = found or self.modules.find_spec(name, path, target)
        if found is None:
            self.modules.note_of(
                "%s was not handed in" % name,
                "it is a package of this interpreter, installed from a folder",
            )
        return found


class Loader(machinery.SourceFileLoader):
    """Executes a module of the submission."""

    def __init__(self, modules, name, path):
        super().__init__(name, path)
        self.modules = modules

    def exec_module(self, module):
        global executing
        modules = self.modules
        # A module of a package finds those beside it, too, as if it were run by itself.
        if os.path.dirname(self.path) not in sys.path:
            sys.path.append(os.path.dirname(self.path))
        executing += 1
        try:
            code, statements = modules.compile(self.get_data(self.path), self.path)
            failed = functools.partial(modules.import_failed, statements)
            setattr(module, modules.HANDLER, failed)
            exec(code, vars(module))
        except (Exception, SystemExit) as error:
            if self.path == modules.layout.file or modules.is_caught(error, sys._getframe()):
                raise
            modules.complete(module, self.path, error)
        finally:
            executing -= 1


def place_of(error, folder):
    """The submission's line that raised the exception: " (adapters.py:12)", or nothing."""
    places = []
    trace = error.__traceback__
    while trace is not None:
        places.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    if isinstance(error, SyntaxError):
        places.append((str(error.filename), error.lineno))
    for file, line in reversed(places):
        if file.startswith(folder + os.sep):
            return " (%s:%s)" % (os.path.relpath(file, folder), line)
    return ""
