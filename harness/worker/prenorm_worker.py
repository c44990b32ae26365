"""The worker for Python submissions: calls the functions of an adapters.py.

    PYTHON -I -B prenorm_worker.py ADAPTERS [HOW]

speaks protocol.md (prenorm_messages.py) over descriptor 3. ADAPTERS is JSON, or a file that
holds it: for each problem the function that solves it, and how its arguments are made of the call's.
HOW is JSON: "forbidden" has globs of torch's functions whose calls are noted (prenorm_forbidden.py);
"round_float64" lets results in float64 be rounded where float32 is wanted.

Tensors are torch tensors where the interpreter has torch, else NumPy arrays (prenorm_tensors.py).
NumPy has no bfloat16: where ml_dtypes is missing too, such tensors come as float32, with the same
values, and a float32 result is rounded once (to nearest, ties to even). They lie in the CPU's
memory. If the submission has a CUDA device, a function that fails so gets them there: "device" in
HOW is "none", "there" (does the submission ask for it? prenorm_device.py) or "given".

A function may raise NotImplementedError. An ImportError says that something it needs cannot be
imported here; prenorm_submission.py, which lies beside this file, has stand-ins for such modules.
Any other exception refuses the call.

It needs CPython 3.8 or newer and nothing else, and shares its process with the submission:
whatever it believes of itself, the program that asked judges only the bytes that it gets.
"""

import contextlib
import importlib
import importlib.util
import inspect
import json
import math
import mmap
import os
import re
import struct
import sys
import time

ABI = 1
NOT_COUNTED = -1  # launches of kernels
OK, ERROR, NOT_IMPLEMENTED = 0, 1, 2  # what a function returns
NEEDS_DEVICE = "needs a CUDA device: "
LONGEST_TEXT = 400  # characters of an exception's message that are reported

UNKNOWN_KEYWORD = re.compile(r"unexpected keyword argument '(\w+)'")

clock = time.perf_counter


def load_beside(name):
    """A module from this file's folder, which is not on sys.path."""
    if name in sys.modules:
        return sys.modules[name]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


load_beside("prenorm_source")  # each imports those before it
messages = load_beside("prenorm_messages")
layouts = load_beside("prenorm_layout")
loading = load_beside("prenorm_submission")
tensor_kinds = load_beside("prenorm_tensors")
devices = load_beside("prenorm_device")
process = load_beside("prenorm_process")
Unusable = layouts.Unusable


# The submission.

class Submission:
    """The module and its functions."""

    def __init__(self, path, adapters, tensors, forbidden, device):
        self.layout = layouts.Layout(path)
        self.path, self.device = path, device
        self.modules = loading.Modules(self.layout)
        self.watch = None
        if forbidden:
            load_beside("prenorm_operators")
            watching = load_beside("prenorm_forbidden")
            self.watch = watching.Watch(forbidden, self.layout, self.modules.note, Submission.ask.__code__)
        self.tensors = tensors
        self.adapters = adapters
        self.functions = {}
        self.places = {}  # by problem, where its function has computed

    def watched(self, problem=""):
        """What runs until its end is looked at, where the rubric asks for that."""
        return contextlib.nullcontext() if self.watch is None else self.watch.during(problem)

    def load(self):
        """Imports the module. Raises whatever that raises."""
        if self.watch is not None:
            self.watch.begin()
        with self.watched():
            module = self.import_module()
        for problem, adapter in self.adapters.items():
            function = getattr(module, adapter["function"], None)
            if callable(function):
                names = [argument["name"] for argument in adapter["arguments"]]
                by_name = isinstance(function, loading.StandIn) or takes(function, names)
                self.functions[problem] = function, by_name

    def import_module(self):
        layout = self.layout
        self.modules.install()
        sys.argv = [layout.file]
        os.chdir(layout.root)
        layout.project.offer_metadata()
        if "." in layout.module:
            module = importlib.import_module(layout.module)
        else:
            loader = loading.Loader(self.modules, layout.module, layout.file)
            spec = importlib.util.spec_from_file_location(layout.module, layout.file, loader=loader)
            module = sys.modules[layout.module] = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
        return module

    def ask(self, problem, values):
        """Calls the problem's function: by name, or by position where it turns out to know no names,
        as what wraps another function and a layer of torch.nn do."""
        function, by_name = self.functions[problem]
        if not by_name:
            return function(*values.values())
        try:
            return function(**values)
        except TypeError as error:
            unknown = UNKNOWN_KEYWORD.search(str(error))
            if unknown is None or unknown[1] not in values:
                raise
        self.functions[problem] = function, False
        return function(*values.values())

    def describe(self, error):
        """TypeName: message (adapters.py:LINE), on one line; a stand-in's message alone."""
        place = loading.place_of(error, self.layout.folder)
        try:
            parsed = isinstance(error, SyntaxError) and place  # its text names the place, too
            message = " ".join(str(error.msg if parsed else error).split())
        except BaseException:
            message = ""
        if len(message) > LONGEST_TEXT:
            message = message[:LONGEST_TEXT] + "..."
        if not isinstance(error, loading.NotImported):
            message = type(error).__name__ + (": " if message else "") + message
        return message + place


def takes(function, names):
    """Whether a function accepts arguments of those names."""
    try:
        inspect.signature(function).bind(**dict.fromkeys(names))
    except (TypeError, ValueError):
        return False
    return True


# Calls.


class Arguments:
    """A function's arguments, made from a call's inputs and scalars by the adapter's rules. What they
    cannot express ("only", rows that do not split into blocks) never comes here."""

    def __init__(self, adapter, call, tensors, memory, place):
        self.call = call
        self.copied = []
        self.views = [self.input(memory, x, tensors, place) for x in call.inputs]
        self.fold = adapter.get("fold")
        if self.fold is not None:
            self.batch = call.inputs[self.fold["input"]].shape[: -self.fold["dims"] or None]
            view = self.views[self.fold["input"]]
            self.views[self.fold["input"]] = view.reshape(self.folded(list(view.shape)))
        self.values = {x["name"]: self.value(x["value"]) for x in adapter["arguments"]}

    def input(self, memory, tensor, tensors, place):
        if tensor is None:
            return None
        view = tensors.view(memory, tensor)
        given = tensors.give(view, place)
        if given is not view:
            # A function may give its tensor another shape in place, but not this one.
            self.copied.append((view, given.view_as(given)))
        return given

    def take_back(self):
        """What a function has done to copies of its inputs."""
        for view, copy in self.copied:
            view.copy_(copy)

    def folded(self, shape):
        """The shape with all batch axes folded into one."""
        return [math.prod(self.batch)] + shape[len(self.batch) :] if self.fold else shape

    def value(self, rule):
        if "constant" in rule:
            return rule["constant"]
        if "scalar" in rule:
            return self.call.scalars[rule["scalar"]]
        if "dimension" in rule:
            place, axis = rule["dimension"]
            return self.call.inputs[place].shape[axis]
        if "dict" in rule:
            return dict(pair for entry in rule["dict"] for pair in self.entries(entry))
        view = self.views[rule["input"]]
        return ~view if rule.get("not") and view is not None else view

    def entries(self, entry):
        name, rule = entry["name"], entry["value"]
        if rule.get("slices"):
            view = self.views[rule["input"]]
            parts = [view[n] for n in range(view.shape[0])]
        elif "blocks" in rule:
            parts = self.blocks(self.views[rule["input"]], self.value(rule["blocks"]))
        else:
            return [(name, self.value(rule))]
        return [(name.replace("{N}", str(n)), part) for n, part in enumerate(parts)]

    @staticmethod
    def blocks(view, count):
        rows = view.shape[0] // count
        return [view[n * rows : (n + 1) * rows] for n in range(count)]


class Answer:
    def __init__(self):
        self.how, self.code, self.seconds, self.what, self.message = messages.BACK, OK, 0.0, "", ""

    def refuse(self, code, message):
        self.code, self.message = code, message


def answer_call(submission, call, memory, settings):
    answer = Answer()
    if call.problem not in submission.functions:
        answer.how = messages.ABSENT
        return answer
    wanted = len(call.outputs)
    try:
        arguments, results = compute(submission, call, memory, settings, answer)
        if len(results) != wanted:
            raise tensor_kinds.Unfit(
                messages.OTHER_SHAPE, "returned %d results, wanted %d" % (len(results), wanted)
            )
        arguments.take_back()
        for output, result in zip(call.outputs, results):
            output.shape = arguments.folded(output.shape)
            submission.tensors.store(result, memory, output)
    except tensor_kinds.Unfit as unfit:
        answer.how, answer.what = unfit.how, unfit.what
    except BaseException as error:
        what = submission.describe(error)
        if submission.device != "given" and devices.is_missing(what, error):
            answer.how, answer.what = messages.NO_DEVICE, NEEDS_DEVICE + what
        elif isinstance(error, NotImplementedError):
            answer.refuse(NOT_IMPLEMENTED, what)
        else:
            answer.how, answer.what = kind_of(error, what), what
            answer.refuse(ERROR, what)
            if submission.modules.is_unreadable(error):
                submission.modules.note("", loading.UNREADABLE_CODE)
    return answer


def compute(submission, call, memory, settings, answer):
    """The function's arguments and results: on the CPU, or if it fails there on the device."""
    places = submission.places.get(call.problem, submission.tensors.places)
    for place in places:
        try:
            found = compute_at(place, submission, call, memory, settings, answer)
            submission.places[call.problem] = (place,)
            return found
        except Exception:
            if place == places[-1]:
                raise


def compute_at(place, submission, call, memory, settings, answer):
    tensors = submission.tensors
    arguments = Arguments(submission.adapters[call.problem], call, tensors, memory, place)
    values = arguments.values
    with submission.watched(call.problem):
        begin = clock()
        try:
            value = submission.ask(call.problem, values)
            loading.require_real(value)
            several = len(call.outputs) != 1 and isinstance(value, (tuple, list))
            results = list(map(tensors.materialize, value if several else [value]))
            tensors.finish()
        finally:
            answer.seconds = clock() - begin
            settings.restore()
    return arguments, results


def kind_of(error, what):
    """How a call went that raised this."""
    if isinstance(error, MemoryError):
        return messages.OUT_OF_MEMORY
    if isinstance(error, ImportError):
        return messages.NOT_LOADED
    if isinstance(error, RuntimeError):  # torch has none of its own for these
        if "can't allocate memory" in what or type(error).__name__ == "OutOfMemoryError":
            return messages.OUT_OF_MEMORY
        if "CUDA error: " in what or "Error [CUDA]" in what:
            return messages.DEVICE_FAILED
    return messages.BACK


class Worker:
    def __init__(self, adapters, how):
        self.connection = messages.Connection()
        self.settings = process.Settings()
        self.adapters, self.forbidden = adapters, how.get("forbidden", [])
        self.device = how.get("device", "none")
        self.submission, self.tensors, self.failure = None, None, None
        self.has_been_called = False
        # Before the submission's folder is on the module path.
        try:
            self.tensors = tensor_kinds.import_tensors()
            self.tensors.round_float64 = how.get("round_float64", False)
        except Unusable as error:
            self.failure = str(error)
        except BaseException as error:
            self.failure = "%s: %s (of %s)" % (type(error).__name__, error, sys.executable)

    def serve(self):
        while True:
            kind, payload, descriptor = self.connection.receive()
            if kind == messages.LOAD and self.submission is None:
                self.load(messages.Reader(payload))
            elif kind == messages.CALL and self.submission is not None and descriptor >= 0:
                self.call(messages.Call(payload), descriptor)
            elif kind == messages.BEGIN_ANEW and self.submission is not None:
                self.begin_anew()
            elif kind == messages.MEASURE_COPY and self.submission is not None:
                self.connection.send(messages.BANDWIDTH, struct.pack("<d", 0))
            else:
                raise ValueError("a message out of turn")

    def load(self, reader):
        version, memory = reader.numbers("IQ")
        if version != messages.VERSION:
            raise ValueError("protocol version %d, wanted %d" % (version, messages.VERSION))
        submission, why, lacks_device, notes = None, self.failure, False, []
        if why is None:
            if self.device != "given":  # a driver reserves hundreds of gigabytes of addresses
                process.limit_addresses(memory)
            process.seed_chance()
            try:
                submission = Submission(
                    reader.text(), self.adapters, self.tensors, self.forbidden, self.device
                )
                submission.load()
            except Unusable as error:
                why = str(error)
            except BaseException as error:
                why = type(error).__name__ + ": " + str(error)
                if submission is not None:
                    why = submission.describe(error)
                    lacks_device = self.device != "given" and devices.is_missing(why, error)
                    if submission.modules.is_unreadable(error):
                        notes.append((loading.UNREADABLE_CODE, "", ""))
            finally:
                process.stop_tracing_and_timers()
        if why is not None and not lacks_device:
            failed = messages.text(why) + messages.notes(notes)
            return self.connection.send(messages.LOAD_FAILED, failed)
        self.submission = submission
        # What a module sets when it is imported holds for its functions.
        self.settings = process.Settings(least_depth=self.settings.depth)
        if lacks_device:
            device, unavailable = messages.CUDA, NEEDS_DEVICE + why
        else:
            device, unavailable = self.choose_device()
        names = sorted(submission.functions)
        self.connection.send(
            messages.LOADED,
            struct.pack("<Iii", messages.VERSION, ABI, device)
            + messages.text(unavailable)
            + messages.text("numpy" if isinstance(self.tensors, tensor_kinds.NumPyTensors) else "")
            + struct.pack("<I", len(names))
            + b"".join(map(messages.text, names))
            + messages.text("")
            + b"\0"
            + self.notes(),
        )

    def begin_anew(self):
        """Calls to come are answered by a process in which there has been none: a copy of this one,
        where that can be. What uses a device goes on."""
        if self.device != "given":
            if self.has_been_called:
                process.end_for_another()
            if process.copy():
                self.connection.pid = os.getpid()
                if self.submission.watch is not None:
                    self.submission.watch.hear_forks()
        self.connection.send(messages.BEGUN, b"")

    def choose_device(self):
        """Where the functions compute, and why they cannot."""
        note = self.submission.modules.note
        if self.device == "given":
            if not self.tensors.use_device():
                return messages.CUDA, "torch cannot use the CUDA device"
            note("may compute on the CUDA device")
            return messages.CUDA, ""
        if self.device == "there" and self.tensors.knows_devices and self.asks_for_device():
            return messages.CUDA, "computes on a CUDA device, which it has not been given"
        if "triton" in sys.modules and self.any_file(devices.imports_triton):
            note("Triton: kernels are interpreted, on the CPU")
        if "torch._dynamo" in sys.modules and self.any_file(devices.compiles):
            note("torch.compile: nothing is compiled, the functions run as they are written")
        return messages.CPU, ""

    def asks_for_device(self):
        return self.any_file(devices.is_asked_for)

    def any_file(self, holds):
        """Whether holds(its syntax tree, the submission's own modules) of a file that is imported."""
        found = []

        def look(tree):
            found.append(holds(tree, walk.own))

        try:
            walk = load_beside("prenorm_missing").ImportWalk(self.submission.path, look)
            walk.run()
        except Exception:
            pass  # what has been read by then is all that is known
        return any(found)

    def notes(self):
        """On what the submission has imported and called since the last answer."""
        return messages.notes(self.submission.modules.take_notes())

    def call(self, call, descriptor):
        self.has_been_called = True
        try:
            # Unmapped when nothing refers to it: a submission may have kept its tensors.
            memory = mmap.mmap(descriptor, 0)
        except OSError:
            answer = Answer()
            answer.how = messages.OUT_OF_MEMORY
            answer.what = "no memory for the tensors of the call"
            return self.reply(call, answer)
        finally:
            os.close(descriptor)
        if call.timed:
            process.empty_caches()
        answer = answer_call(self.submission, call, memory, self.settings)
        process.flush_prints()
        message = messages.cut(answer.message, call.error.bytes - 1)
        memory[call.error.offset : call.error.offset + len(message) + 1] = message + b"\0"
        self.reply(call, answer)

    def reply(self, call, answer):
        self.connection.send(
            messages.RETURNED,
            struct.pack("<QBid", call.number, answer.how, answer.code, answer.seconds)
            + messages.text(answer.what)
            + self.notes()
            + struct.pack("<q", NOT_COUNTED),
        )


def read_adapters(argument):
    if argument.lstrip().startswith("{"):
        return json.loads(argument)
    with open(argument, encoding="utf-8") as file:
        return json.load(file)


def main():
    try:
        process.volunteer_for_the_oom_killer()
        process.keep_prints()
        how = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
        if how.get("device") != "given":  # Triton reads this when it is imported
            os.environ.setdefault("TRITON_INTERPRET", "1")
            # A compiler, which takes longer than a call may, needs headers that are not here.
            os.environ.setdefault("TORCH_COMPILE_DISABLE", "1")
        Worker(read_adapters(sys.argv[1]), how).serve()
    except BaseException as error:
        os.write(2, ("prenorm_worker.py: %s: %s\n" % (type(error).__name__, error)).encode())
    os._exit(70)


if __name__ == "__main__":
    main()
