"""The worker for Python submissions: calls the functions of an adapters.py.

    PYTHON -I -B prenorm_worker.py ADAPTERS [HOW]

speaks worker_protocol.md, version 4, over descriptor 3. ADAPTERS is JSON, or a file that holds it:
for each problem the function that solves it, and how its arguments are made of the call's.
HOW is JSON: "forbidden" has globs of torch's functions whose calls are noted (prenorm_forbidden.py);
"round_float64" lets results in float64 be rounded where float32 is wanted.

Tensors are torch tensors where the interpreter has torch, else NumPy arrays, and share the call's
memory: nothing is copied until a function has returned. NumPy has no bfloat16: where ml_dtypes is
missing too, such tensors come as float32, with the same values, and a float32 result is rounded
once (to nearest, ties to even).

A function may raise NotImplementedError. An ImportError says that something it needs cannot be
imported here; prenorm_submission.py, which lies beside this file, has stand-ins for such modules.
Any other exception refuses the call.

It needs CPython 3.8 or newer and nothing else, and shares its process with the submission:
whatever it believes of itself, the program that asked judges only the bytes that it gets.
"""

import array
import contextlib
import gc
import importlib
import importlib.util
import inspect
import json
import mmap
import os
import resource
import signal
import socket
import struct
import sys
import time

VERSION = 5
ABI = 1
CPU = 1  # DLPack's name of the device
LARGEST_MESSAGE = 1 << 20
LOAD, CALL, MEASURE_COPY = 1, 2, 3
LOADED, LOAD_FAILED, RETURNED, BANDWIDTH = 101, 102, 103, 105
# How a call went.
BACK, OUT_OF_MEMORY, ABSENT, OTHER_SHAPE, OTHER_DTYPE, NOT_LOADED = 0, 2, 3, 5, 6, 7
NOT_COUNTED = -1  # launches of kernels
OK, ERROR, NOT_IMPLEMENTED = 0, 1, 2  # what a function returns
LONGEST_TEXT = 400  # characters of an exception's message that are told
DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "bool")
BFLOAT16 = DTYPES.index("bfloat16")

clock = time.perf_counter


def load_beside(name):
    """A module from this file's folder, which is not on sys.path."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


load_beside("prenorm_source")  # each imports those before it
layouts = load_beside("prenorm_layout")
loading = load_beside("prenorm_submission")
Unusable = layouts.Unusable


# Messages.


class Reader:
    """Reads numbers and texts from a payload."""

    def __init__(self, payload):
        self.payload, self.at = payload, 0

    def numbers(self, kinds):
        values = struct.unpack_from("<" + kinds, self.payload, self.at)
        self.at += struct.calcsize("<" + kinds)
        return values

    def number(self, kind):
        return self.numbers(kind)[0]

    def text(self):
        count = self.number("I")
        self.at += count
        return self.payload[self.at - count : self.at].decode("utf-8", "surrogateescape")

    def list(self, item):
        return [item() for _ in range(self.number("I"))]


class Region:
    """The location of a tensor's data, or of the error message, in the call's file."""

    def __init__(self, reader):
        file_offset, _, _, data_offset, self.bytes = reader.numbers("5Q")
        self.offset = file_offset + data_offset


class Tensor:
    """An argument or a result: type, shape and location."""

    def __init__(self, reader):
        self.dtype = reader.number("B")
        self.shape = reader.list(lambda: reader.number("q"))
        self.region = Region(reader)


class Call:
    def __init__(self, payload):
        reader = Reader(payload)
        self.number = reader.number("Q")
        self.problem = reader.text()
        reader.number("Q")  # the stretch of addresses: mmap of Python maps the file as it is
        self.inputs = reader.list(lambda: Tensor(reader) if reader.number("B") else None)
        self.scalars = reader.list(lambda: self.scalar(reader))
        self.outputs = reader.list(lambda: Tensor(reader))
        self.error = Region(reader)
        self.timed = reader.number("B") != 0

    @staticmethod
    def scalar(reader):
        kind = reader.number("B")
        value = reader.number("d" if kind == 1 else "q")
        return bool(value) if kind == 2 else value


def text(value):
    data = value.encode("utf-8", "replace")
    return struct.pack("<I", len(data)) + data


def cut(value, most):
    """The text as UTF-8, truncated to `most` bytes at a character."""
    return value.encode("utf-8", "replace")[:most].decode("utf-8", "ignore").encode()


class Connection:
    """The socket to the program. When it is closed, the process exits at once."""

    def __init__(self):
        self.socket = socket.socket(fileno=3)
        self.socket.set_inheritable(False)
        self.pid = os.getpid()

    def receive(self):
        """The next message: its kind, its payload, and the descriptor that came with it or -1."""
        descriptors = []
        kind, count = struct.unpack("<II", self._exactly(8, descriptors))
        if count > LARGEST_MESSAGE:
            raise ValueError("too long a message")
        payload = self._exactly(count, descriptors)
        return kind, payload, descriptors[0] if descriptors else -1

    def _exactly(self, count, descriptors):
        data = bytearray()
        while len(data) < count:
            part, beside, _, _ = self.socket.recvmsg(
                count - len(data), socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC
            )
            if not part:
                os._exit(0)
            for level, kind, content in beside:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    descriptors.extend(array.array("i", content[:4]))
            data += part
        return bytes(data)

    def send(self, kind, payload):
        if os.getpid() != self.pid:
            os._exit(1)  # a function forked and returned twice: the child must not answer
        self.socket.sendall(struct.pack("<II", kind, len(payload)) + payload)


# Tensors, as torch and as NumPy have them.


class Unfit(Exception):
    """A result that does not fit the output: the kind of difference, and a message."""

    def __init__(self, how, what):
        super().__init__(what)
        self.how, self.what = how, what


class CannotAsk(Exception):
    """The adapter's function has no argument for something in this call."""


class TorchTensors:
    round_float64 = False

    def __init__(self, torch):
        self.torch = torch
        self.dtypes = [getattr(torch, name) for name in DTYPES]
        self.plain = (torch.Tensor, torch.nn.Parameter)
        torch.set_num_threads(1)

    def view(self, memory, tensor):
        """The tensor in the call's memory."""
        dtype = self.dtypes[tensor.dtype]
        if tensor.region.bytes == 0:
            return self.torch.empty(tensor.shape, dtype=dtype, device="cpu")
        count = product(tensor.shape)
        flat = self.torch.frombuffer(memory, dtype=dtype, count=count, offset=tensor.region.offset)
        return flat.reshape(tensor.shape)

    def materialize(self, value):
        """The values of a tensor that may compute them on access."""
        if type(value) in self.plain or not isinstance(value, self.torch.Tensor):
            return value
        plain = self.torch.empty(tuple(value.shape), dtype=value.dtype, device="cpu")
        return plain.copy_(value.detach())

    def store(self, value, memory, tensor):
        """Copies what a function returned into an output."""
        if not isinstance(value, self.torch.Tensor):
            return store_array(value, memory, tensor, DTYPES[tensor.dtype], self)
        dtype = str(value.dtype).replace("torch.", "")
        wanted = DTYPES[tensor.dtype]
        if self.round_float64 and (dtype, wanted) == ("float64", "float32"):
            dtype = wanted  # copy_() rounds
        compare(value.shape, dtype, tensor.shape, wanted)
        self.view(memory, tensor).copy_(value.detach())

    def store_number(self, value, memory, tensor):
        self.view(memory, tensor).fill_(value)


class NumPyTensors:
    round_float64 = False

    def __init__(self, numpy):
        self.numpy = numpy
        self.dtypes = [numpy.dtype(name) for name in DTYPES if name != "bfloat16"]
        try:
            bfloat16 = numpy.dtype(importlib.import_module("ml_dtypes").bfloat16)
        except ImportError:
            bfloat16 = None
        self.dtypes.insert(BFLOAT16, bfloat16)

    def view(self, memory, tensor):
        """The tensor in the call's memory; a widened copy for bfloat16."""
        dtype = self.dtypes[tensor.dtype] or self.numpy.uint16
        if tensor.region.bytes == 0:
            stored = self.numpy.empty(tensor.shape, dtype)
        else:
            stored = self.numpy.ndarray(tensor.shape, dtype, memory, tensor.region.offset)
        if self.dtypes[tensor.dtype] is None:
            bits = stored.astype(self.numpy.uint32)
            bits <<= self.numpy.uint32(16)
            return bits.view(self.numpy.float32)
        return stored

    def materialize(self, value):
        """The values of an array that may compute them on access."""
        if type(value) is self.numpy.ndarray or not isinstance(value, self.numpy.ndarray):
            return value
        return self.numpy.array(value, subok=False)

    def store(self, value, memory, tensor):
        """Copies what a function returned into an output."""
        dtype = self.dtypes[tensor.dtype]
        name = "float32" if dtype is None else dtype.name
        store_array(value, memory, tensor, name, self)

    def store_number(self, value, memory, tensor):
        dtype = self.dtypes[tensor.dtype] or self.numpy.float32
        self.store(self.numpy.asarray(value, dtype), memory, tensor)


def store_array(value, memory, tensor, dtype, tensors):
    """Copies a NumPy array, or a number where the output has no axes, into an output."""
    if type(value) in (bool, int, float) and not tensor.shape:
        return tensors.store_number(value, memory, tensor)
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, (numpy.ndarray, numpy.generic)):
        what = "None" if value is None else "an object of type " + type(value).__name__
        raise Unfit(OTHER_SHAPE, "returned %s, wanted a tensor %s" % (what, tensor.shape))
    value = numpy.asarray(value)
    if tensors.round_float64 and value.dtype.name == "float64" and DTYPES[tensor.dtype] == "float32":
        value = value.astype(dtype)
    compare(value.shape, value.dtype.name, tensor.shape, dtype)
    value = value.astype(value.dtype.newbyteorder("="), order="C", copy=False)
    if tensor.dtype == BFLOAT16 and dtype == "float32":
        value = to_bfloat16(numpy, value)
    data = value.tobytes()
    memory[tensor.region.offset : tensor.region.offset + len(data)] = data


def to_bfloat16(numpy, value):
    """The bits of float32 numbers, rounded to the nearest bfloat16, ties to even; NaN stays NaN."""
    value = value.reshape(-1)
    bits = value.view(numpy.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return numpy.where(numpy.isnan(value), bits >> 16 | 0x40, rounded).astype(numpy.uint16)


def compare(shape, dtype, wanted_shape, wanted_dtype):
    if list(shape) != wanted_shape:
        raise Unfit(OTHER_SHAPE, "returned %s, wanted %s" % (list(shape), wanted_shape))
    if dtype != wanted_dtype:
        raise Unfit(OTHER_DTYPE, "returned %s, wanted %s" % (dtype, wanted_dtype))


def product(numbers):
    result = 1
    for number in numbers:
        result *= number
    return result


def import_tensors():
    """torch or NumPy, from the interpreter only: the submission is not on the path yet."""
    gc.disable()  # imported modules stay: collecting garbage there only costs time
    for name, kind in (("torch", TorchTensors), ("numpy", NumPyTensors)):
        try:
            tensors = kind(importlib.import_module(name))
            gc.freeze()
            gc.enable()
            return tensors
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
    raise Unusable(
        "this Python has neither torch nor NumPy: %s (Debian: python3-torch; --python names another)"
        % sys.executable
    )


# The submission.

class Submission:
    """The module and its functions."""

    def __init__(self, path, adapters, tensors, forbidden):
        self.layout = layouts.Layout(path)
        self.modules = loading.Modules(self.layout)
        self.watch = None
        if forbidden:
            load_beside("prenorm_operators")
            watching = load_beside("prenorm_forbidden")
            self.watch = watching.Watch(forbidden, self.layout, self.modules.note)
        self.tensors = tensors
        self.adapters = adapters
        self.functions = {}

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

    def describe(self, error):
        """TypeName: message (adapters.py:LINE), on one line; a stand-in's message alone."""
        try:
            message = " ".join(str(error).split())
        except BaseException:
            message = ""
        if len(message) > LONGEST_TEXT:
            message = message[:LONGEST_TEXT] + "..."
        if not isinstance(error, loading.NotImported):
            message = type(error).__name__ + (": " if message else "") + message
        return message + loading.place_of(error, self.layout.folder)


def takes(function, names):
    """Whether a function accepts arguments of those names."""
    try:
        inspect.signature(function).bind(**dict.fromkeys(names))
    except (TypeError, ValueError):
        return False
    return True


# Calls.


class Arguments:
    """A function's arguments, made from a call's inputs and scalars by the adapter's rules."""

    def __init__(self, adapter, call, tensors, memory):
        self.call, self.tensors = call, tensors
        for rule in adapter.get("only", ()):
            given = call.scalars[rule["scalar"]]
            if given != rule["value"]:
                raise CannotAsk(
                    "%s has no argument for %s, which is %s here and not %s"
                    % (adapter["function"], rule["name"], given, rule["value"])
                )
        self.views = [tensors.view(memory, x) if x is not None else None for x in call.inputs]
        self.fold = adapter.get("fold")
        if self.fold is not None:
            self.batch = call.inputs[self.fold["input"]].shape[: -self.fold["dims"] or None]
            view = self.views[self.fold["input"]]
            self.views[self.fold["input"]] = view.reshape(self.folded(list(view.shape)))
        self.values = {x["name"]: self.value(x["value"]) for x in adapter["arguments"]}

    def folded(self, shape):
        """The shape with all batch axes folded into one."""
        return [product(self.batch)] + shape[len(self.batch) :] if self.fold else shape

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
        if count <= 0 or view.shape[0] % count != 0:
            raise CannotAsk("%d rows do not split into %d blocks" % (view.shape[0], count))
        rows = view.shape[0] // count
        return [view[n * rows : (n + 1) * rows] for n in range(count)]


class Answer:
    def __init__(self):
        self.how, self.code, self.seconds, self.what, self.message = BACK, OK, 0.0, "", ""

    def refuse(self, code, message):
        self.code, self.message = code, message


def answer_call(submission, call, memory, settings):
    answer = Answer()
    if call.problem not in submission.functions:
        answer.how = ABSENT
        return answer
    tensors = submission.tensors
    function, by_name = submission.functions[call.problem]
    wanted = len(call.outputs)
    try:
        arguments = Arguments(submission.adapters[call.problem], call, tensors, memory)
        values = arguments.values
        with submission.watched(call.problem):
            begin = clock()
            try:
                value = function(**values) if by_name else function(*values.values())
                loading.require_real(value)
                several = wanted != 1 and isinstance(value, (tuple, list))
                results = list(map(tensors.materialize, value if several else [value]))
            finally:
                answer.seconds = clock() - begin
                settings.restore()
        if len(results) != wanted:
            raise Unfit(OTHER_SHAPE, "returned %d results, wanted %d" % (len(results), wanted))
        for output, result in zip(call.outputs, results):
            output.shape = arguments.folded(output.shape)
            tensors.store(result, memory, output)
    except Unfit as unfit:
        answer.how, answer.what = unfit.how, unfit.what
    except CannotAsk as why:
        answer.refuse(ERROR, str(why))
    except NotImplementedError as error:
        answer.refuse(NOT_IMPLEMENTED, submission.describe(error))
    except MemoryError as error:
        answer.how, answer.what = OUT_OF_MEMORY, submission.describe(error)
    except ImportError as error:
        answer.how, answer.what = NOT_LOADED, submission.describe(error)
    except BaseException as error:
        answer.refuse(ERROR, submission.describe(error))
        if isinstance(error, RuntimeError) and "can't allocate memory" in answer.message:
            answer.how, answer.what = OUT_OF_MEMORY, answer.message  # torch's own MemoryError
    return answer


class Settings:
    """State of the interpreter that a submission may change and the worker needs unchanged."""

    def __init__(self, least_depth=0):
        self.depth = max(sys.getrecursionlimit(), least_depth)
        numbers = (signal.SIGINT, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF)
        self.handlers = {number: signal.getsignal(number) for number in numbers}

    def restore(self):
        sys.setrecursionlimit(self.depth)
        stop_tracing_and_timers()
        for number, handler in self.handlers.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)


def stop_tracing_and_timers():
    sys.settrace(None)
    sys.setprofile(None)
    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        signal.setitimer(timer, 0)


def empty_caches():
    """Overwrites four times the last level cache."""
    try:
        with open("/sys/devices/system/cpu/cpu0/cache/index3/size") as file:
            size = int(file.read().strip().rstrip("K")) << 10
    except (OSError, ValueError):
        size = 32 << 20
    bytearray(b"\1") * (4 * size)


class Worker:
    def __init__(self, adapters, how):
        self.connection = Connection()
        self.settings = Settings()
        self.adapters, self.forbidden = adapters, how.get("forbidden", [])
        self.submission, self.tensors, self.failure = None, None, None
        # Before the submission's folder is on the module path.
        try:
            self.tensors = import_tensors()
            self.tensors.round_float64 = how.get("round_float64", False)
        except Unusable as error:
            self.failure = str(error)
        except BaseException as error:
            self.failure = "%s: %s (of %s)" % (type(error).__name__, error, sys.executable)

    def serve(self):
        while True:
            kind, payload, descriptor = self.connection.receive()
            if kind == LOAD and self.submission is None:
                self.load(Reader(payload))
            elif kind == CALL and self.submission is not None and descriptor >= 0:
                self.call(Call(payload), descriptor)
            elif kind == MEASURE_COPY and self.submission is not None:
                self.connection.send(BANDWIDTH, struct.pack("<d", 0))
            else:
                raise ValueError("a message out of turn")

    def load(self, reader):
        version, memory = reader.numbers("IQ")
        if version != VERSION:
            raise ValueError("protocol version %d, wanted %d" % (version, VERSION))
        submission, why = None, self.failure
        if why is None:
            limit_addresses(memory)
            try:
                submission = Submission(
                    reader.text(), self.adapters, self.tensors, self.forbidden
                )
                submission.load()
            except Unusable as error:
                why = str(error)
            except BaseException as error:
                words = type(error).__name__ + ": " + str(error)
                why = words if submission is None else submission.describe(error)
            finally:
                stop_tracing_and_timers()
        if why is not None:
            return self.connection.send(LOAD_FAILED, text(why))
        self.submission = submission
        # What a module sets when it is imported holds for its functions.
        self.settings = Settings(least_depth=self.settings.depth)
        if "triton" in sys.modules:
            submission.modules.note("Triton: kernels are interpreted, on the CPU")
        names = sorted(submission.functions)
        self.connection.send(
            LOADED,
            struct.pack("<Iii", VERSION, ABI, CPU)
            + text("") * 2
            + struct.pack("<I", len(names))
            + b"".join(map(text, names))
            + text("")
            + b"\0"
            + self.notes(),
        )

    def notes(self):
        """On what the submission has imported and called since the last answer."""
        notes = self.submission.modules.take_notes()
        return struct.pack("<I", len(notes)) + b"".join(map(text, notes))

    def call(self, call, descriptor):
        try:
            # Unmapped when nothing refers to it: a submission may have kept its tensors.
            memory = mmap.mmap(descriptor, 0)
        except OSError:
            answer = Answer()
            answer.how, answer.what = OUT_OF_MEMORY, "no memory for the tensors of the call"
            return self.reply(call, answer)
        finally:
            os.close(descriptor)
        if call.timed:
            empty_caches()
        answer = answer_call(self.submission, call, memory, self.settings)
        flush_prints()
        message = cut(answer.message, call.error.bytes - 1)
        memory[call.error.offset : call.error.offset + len(message) + 1] = message + b"\0"
        self.reply(call, answer)

    def reply(self, call, answer):
        self.connection.send(
            RETURNED,
            struct.pack("<QBid", call.number, answer.how, answer.code, answer.seconds)
            + text(answer.what)
            + self.notes()
            + struct.pack("<q", NOT_COUNTED),
        )


def keep_prints():
    """A crash loses no whole line, and no character ends a call."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")


def flush_prints():
    """What a call printed belongs to it. The streams may be the submission's own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass


def limit_addresses(more):
    """Limits the address space for good, to its current size plus some bytes; 0: no limit."""
    if more == 0:
        return
    try:
        with open("/proc/self/statm") as file:
            limit = int(file.read().split()[0]) * mmap.PAGESIZE + more
    except OSError:  # not permitted: then the sandbox limits the memory
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def volunteer_for_the_oom_killer():
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass


def read_adapters(argument):
    if argument.lstrip().startswith("{"):
        return json.loads(argument)
    with open(argument, encoding="utf-8") as file:
        return json.load(file)


def main():
    try:
        volunteer_for_the_oom_killer()
        keep_prints()
        # Tensors lie in the CPU's memory, where Triton's own interpreter runs its kernels. It reads
        # this when it is imported.
        os.environ.setdefault("TRITON_INTERPRET", "1")
        how = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
        Worker(read_adapters(sys.argv[1]), how).serve()
    except BaseException as error:
        os.write(2, ("prenorm_worker.py: %s: %s\n" % (type(error).__name__, error)).encode())
    os._exit(70)


if __name__ == "__main__":
    main()
