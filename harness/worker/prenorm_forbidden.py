"""Reports calls of torch's functions that a rubric forbids: what is called, and from which line.

prenorm_worker.py loads this file where a rubric asks for it. Two look at once. torch's function mode
(torch 1.13 or newer) sees what Python calls, by its name, and where; layers of torch.nn are known by
the frames of their calls. torch's profiler sees the operators that run, whoever has asked for them.
An operator is forbidden where one of its names is, unless its documented name is allowed: as
torch.sigmoid is, where only torch.nn.functional is forbidden.

It shares the submission's process: a report is a reason to look, and none proves nothing.
"""

import _posixsubprocess
import _thread
import fnmatch
import functools
import os
import re
import signal
import subprocess
import sys
import threading
import time

import prenorm_operators as operators

# Python's own code of torch that spells operators out.
SPELLED_OUT = ("torch._refs", "torch._decomp", "torch._prims")
# Audit events of programs that are started. Nobody can look into them.
PROGRAMS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system")
# Functions of C that ctypes can call: they start what nobody sees, or are torch's own.
UNSEEN = re.compile("(v?fork|system|popen|posix_spawnp?|exec[lv]p?e?|clone|pthread_create)$|_Z.*(2at|3c10)")
GRADIENTS = ("backward", "grad")  # run what the submission wrote for them
FORBIDDEN_CALL = 2  # a kind of note
PAUSE = 0.01  # seconds between two looks at a record, which would grow


class Watch:
    """Notes calls from files of a submission, from begin() until the process ends."""

    def __init__(self, patterns, layout, note, caller):
        """`caller` is the code that calls the submission's functions: what comes to it without a line of
        the submission's is the submission's."""
        self.layout, self.note = layout, note
        self.callers = {caller}
        self.forbidden = functools.lru_cache(maxsize=None)(
            functools.partial(forbidden_name, tuple(patterns))
        )
        self.problem = ""  # that is being asked; empty while the submission is imported
        self.seen = set()
        self.recorder, self.recording = None, threading.local()
        self.pid = os.getpid()

    def begin(self):
        try:
            from torch.overrides import TorchFunctionMode
        except ImportError:
            self.note("cannot look for forbidden calls: there is no torch 1.13 or newer")
            return
        try:
            self.recorder = operators.Recorder()
        except (AttributeError, ImportError, TypeError):
            self.note("forbidden calls are found by their names only: this torch tells no operators")
        self.layers = operators.code_of_layers()
        watch = self

        class Mode(TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                return watch.called(function, types, args, kwargs or {}, sys._getframe(1))

        self.mode = Mode
        Mode().__enter__()
        self.watch_disguises()
        self.watch_threads()
        self.watch_forks()
        self.watch_programs()

    # Where it looks.

    def watch_disguises(self):
        """What gives an operator of torch's another meaning hides what runs: that is told."""
        import torch
        from torch.utils import _python_dispatch
        from torch.utils._python_dispatch import TorchDispatchMode

        def told(function, name, counts=lambda *_: True):
            @functools.wraps(function)
            def tells(*args, **kwargs):
                frame = sys._getframe(1)
                while frame.f_code.co_filename == torch.library.__file__:
                    frame = frame.f_back
                if counts(*args) and not operators.is_torchs(frame.f_code.co_filename):
                    self.tell(name, self.place(frame)[0] or "hides what runs")
                return function(*args, **kwargs)

            del tells.__wrapped__
            return tells

        torch._C._dispatch_library = told(
            torch._C._dispatch_library,
            "torch.library.Library",
            lambda kind, namespace, *_: operators.is_namespace(namespace),
        )
        mode = "torch.utils._python_dispatch.TorchDispatchMode"
        TorchDispatchMode.__enter__ = told(TorchDispatchMode.__enter__, mode)
        if hasattr(_python_dispatch, "_push_mode"):
            _python_dispatch._push_mode = told(_python_dispatch._push_mode, mode)

    def watch_threads(self):
        """Each thread has a function mode and a record of its own."""

        def watched(run):
            @functools.wraps(run)
            def run_watched(*args, **kwargs):
                if getattr(self.recording, "is_on", False):  # by whoever started it
                    return run(*args, **kwargs)
                with self.mode(), Stretch(self):
                    return run(*args, **kwargs)

            self.callers.add(run_watched.__code__)
            return run_watched

        threading.Thread._bootstrap_inner = watched(threading.Thread._bootstrap_inner)
        start = _thread.start_new_thread

        def start_watched(function, *arguments):
            return start(watched(function), *arguments)

        _thread.start_new_thread = _thread.start_new = start_watched
        threading._start_new_thread = start_watched

    def hear_forks(self):
        """This process hears what those tell that are forked from it."""
        self.pid = os.getpid()
        self.reading, self.writing = os.pipe()
        os.set_blocking(self.reading, False)
        os.set_blocking(self.writing, False)

    def watch_forks(self):
        """What a forked process calls comes back through a pipe."""
        self.hear_forks()
        leave = os._exit

        def leave_watched(status):
            # A pool ends who is about to end: nothing is lost of what is told meanwhile.
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            self.look_at_record()
            leave(status)

        def ended(number, _):
            self.look_at_record()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        def in_child():
            os._exit = leave_watched
            if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:  # a pool ends so
                signal.signal(signal.SIGTERM, ended)

        os.register_at_fork(after_in_child=in_child)

    def watch_programs(self):
        from multiprocessing import resource_tracker

        # Of Python's own, for shared memory.
        exempt = resource_tracker.ResourceTracker.ensure_running.__code__

        def starts(name, frame):
            place, code = self.place(frame)
            if place is not None and exempt not in code:
                self.tell(name, place)

        def heard(event, arguments):
            if event in PROGRAMS:
                starts(event, sys._getframe(1))
            elif event == "ctypes.dlsym" and UNSEEN.match(str(arguments[1])):
                starts("ctypes: " + str(arguments[1]), sys._getframe(1))

        start = _posixsubprocess.fork_exec  # as multiprocessing has it: no event

        by_event = subprocess.Popen._execute_child.__code__  # which is told as an event

        def start_watched(*arguments):
            if sys._getframe(1).f_code is not by_event:
                starts("multiprocessing.spawn", sys._getframe(1))
            return start(*arguments)

        sys.addaudithook(heard)
        _posixsubprocess.fork_exec = start_watched
        if hasattr(subprocess, "_fork_exec"):
            subprocess._fork_exec = start_watched

    def during(self, problem):
        """What runs in this thread until its end is the submission's, asked for that problem."""
        self.problem = problem
        return Stretch(self)

    # What it sees.

    def called(self, function, kinds, args, kwargs, frame):
        """Looks at a call, and makes it."""
        name = operators.name_of(function)
        own_line = self.look(name, frame, function)
        if any(operators.is_dispatched(type(each)) for each in parts((*args, *kwargs.values()))):
            self.tell("torch.Tensor.__torch_dispatch__", "hides what runs")
        if self.recorder is None:
            return function(*args, **kwargs)
        if time.monotonic() > getattr(self.recording, "looks_again", 0):
            self.look_at_record()
        # What torch's own Python code runs is torch's doing: the submission has called that. But
        # what that calls of the submission's is not.
        calls_back = (
            getattr(function, "__name__", "") in GRADIENTS
            or operators.is_foreign(name)
            or not is_torchs_own(function)
            or not all(map(operators.is_of_torch, kinds))
            or not is_plain((*args, *kwargs.values()))
        )
        if own_line or calls_back:
            return function(*args, **kwargs)
        ends = self.recorder.leave_out()
        try:
            return function(*args, **kwargs)
        finally:
            ends()

    def look(self, name, frame, function):
        """Whether the submission calls it, and no Python code of torch's."""
        names, own_line = {name}, True
        while frame is not None:
            file = frame.f_code.co_filename
            if self.layout.contains(file):
                self.report(names, "%s:%d" % (self.layout.name(file), frame.f_lineno))
                return own_line
            if frame.f_code in self.callers:
                self.report(names, "by code that has no line here")
                return own_line
            own_line = own_line and not operators.is_torchs(file)
            # What a layer calls inside is torch's own doing: the submission calls the layer.
            if frame.f_code in self.layers:
                layers = operators.layers_of(frame.f_locals.get("self"), frame.f_code, function)
                names = layers or names
            elif str(frame.f_globals.get("__name__")).startswith(SPELLED_OUT):
                names = names | {"torch.ops.aten." + frame.f_code.co_name}
            frame = frame.f_back
        return False

    def place(self, frame):
        """The submission's line, or None, and what it runs there."""
        code = []
        while frame is not None:
            file = frame.f_code.co_filename
            if self.layout.contains(file):
                return "%s:%d" % (self.layout.name(file), frame.f_lineno), code
            if frame.f_code in self.callers:
                return "by code that has no line here", code
            code.append(frame.f_code)
            frame = frame.f_back
        return None, code

    def look_at_record(self):
        """At what this thread has run, where that is recorded; recording goes on."""
        if getattr(self.recording, "is_on", False):
            self.end_record()
            self.begin_record()

    def begin_record(self):
        if self.recorder is None:
            return
        try:
            self.recorder.begin()
            self.recording.is_on = True
            self.recording.looks_again = time.monotonic() + PAUSE
        except RuntimeError:
            self.tell("torch.profiler", "hides what runs")

    def end_record(self):
        if not getattr(self.recording, "is_on", False):
            return
        self.recording.is_on = False
        try:
            found, is_whole = self.recorder.take()
            for operator in sorted(found):
                name = "torch.ops." + operator.replace("::", ".")
                self.report({name}, "as operator " + operator)
            if not is_whole:
                self.tell("torch._C._autograd._disable_profiler_legacy", "hides what runs")
        except (RecursionError, RuntimeError):
            self.tell("torch._C._autograd._disable_profiler_legacy", "hides what runs")

    # What it tells.

    def report(self, names, place):
        for name in sorted(names):
            forbidden = self.forbidden(name)
            if forbidden is not None:
                self.tell(forbidden, place)

    def tell(self, name, place):
        if os.getpid() != self.pid:
            line = "%s\t%s\n" % (name, place)
            try:
                os.write(self.writing, line.encode("utf-8", "replace"))
            except BlockingIOError:
                pass  # there are enough
            return
        # By any of its names it is one call.
        known = self.problem, operators.plain(name.rsplit(".", 1)[-1])
        if known not in self.seen:
            self.seen.add(known)
            where = "in " + self.problem if self.problem else "while it is imported"
            words = "forbidden call %s: %s (%s)" % (where, name, place)
            self.note(words, FORBIDDEN_CALL, self.problem or "")

    def hear(self):
        """What forked processes have told."""
        if os.getpid() != self.pid:
            return
        try:
            lines = os.read(self.reading, 1 << 16).decode("utf-8", "replace").split("\n")
        except OSError:
            return
        for line in lines:
            name, tab, place = line.partition("\t")
            if tab:
                self.tell(name, place)


def forbidden_name(patterns, name):
    """The name, or another of the same operator, that a pattern forbids; or None."""

    def matches(each):
        return any(fnmatch.fnmatchcase(each, pattern) for pattern in patterns)

    if matches(name):
        return name
    names, documented = operators.public_names(operators.plain(name.rsplit(".", 1)[-1]))
    if documented and not matches(names[0]):
        return None
    return next(filter(matches, names), None)


class Stretch:
    """A stretch of what a thread does."""

    def __init__(self, watch):
        self.watch = watch

    def __enter__(self):
        self.watch.begin_record()

    def __exit__(self, *_):
        self.watch.end_record()
        self.watch.hear()


PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), slice, range)


def parts(value):
    """The values in lists, tuples and dictionaries."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        yield value
        return
    for each in value:
        yield from parts(each)


def is_plain(value):
    """A value of torch's or Python's own, which calls nobody back."""
    return all(type(each) in PLAIN
               or (operators.is_of_torch(type(each)) and not callable(each)) for each in parts(value))


def is_torchs_own(function):
    """No function of Python's that somebody else wrote."""
    code = getattr(function, "__code__", None)
    return code is None or operators.is_torchs(code.co_filename)
