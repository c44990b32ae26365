"""Reports calls of torch's functions that a rubric forbids: what is called, and from which line.

prenorm_worker.py loads this file where a rubric asks for it. It sees what goes through torch's own
function mode (torch 1.13 or newer), and layers of torch.nn by the frames of their calls. It shares
the submission's process: a report is a reason to look, and none proves nothing.
"""

import fnmatch
import sys
import threading

# Of torch.nn: what holds a model together, and computes nothing.
CONTAINERS = ("Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential")


def layers_of(instance):
    """The layers of torch.nn that it is, by name: Linear, also of a class that inherits from it."""
    return {
        "torch.nn." + kind.__name__
        for kind in type(instance).__mro__
        if kind.__module__.startswith("torch.nn.modules.") and kind.__name__ not in CONTAINERS
    }


class Watch:
    """Notes calls from files of a submission, from begin() until the process ends."""

    def __init__(self, patterns, layout, note):
        self.patterns, self.layout, self.note = patterns, layout, note
        self.problem = ""  # that is being asked; empty while the submission is imported
        self.seen = set()

    def begin(self):
        try:
            from torch.overrides import TorchFunctionMode, resolve_name
        except ImportError:
            self.note("cannot look for forbidden calls: there is no torch 1.13 or newer")
            return
        watch = self

        class Mode(TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                watch.look(resolve_name(function), sys._getframe(1))
                return function(*args, **(kwargs or {}))

        Mode().__enter__()
        run = threading.Thread.run

        def run_watched(thread):
            with Mode():  # each thread has its own
                run(thread)

        threading.Thread.run = run_watched

    def look(self, name, frame):
        names = {name, name.replace("torch.functional.", "torch.")} if name else set()
        while frame is not None:
            file = frame.f_code.co_filename
            if self.layout.contains(file):
                return self.report(names, "%s:%d" % (self.layout.name(file), frame.f_lineno))
            # What a layer calls inside is torch's own doing: the submission calls the layer.
            names = layers_of(frame.f_locals.get("self")) or names
            frame = frame.f_back

    def report(self, names, place):
        for name in sorted(names):
            forbidden = any(fnmatch.fnmatchcase(name, pattern) for pattern in self.patterns)
            if forbidden and (self.problem, name) not in self.seen:
                self.seen.add((self.problem, name))
                where = "in " + self.problem if self.problem else "while it is imported"
                self.note("forbidden call %s: %s (%s)" % (where, name, place))
