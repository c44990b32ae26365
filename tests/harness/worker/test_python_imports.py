# labels: unit
"""What cannot be imported costs only what needs it: the stand-ins of the worker for Python."""

import pytest

from python_worker import (MISSING_PACKAGE, MODES, NOT_LOADED, OK, ONE, ONE_OUT, OTHER_NOTE, RETURNED,
                           Worker, start, takes, write)

GOOD = "good"


def adapters(names):
    return {name: takes(function=name)["problem"] for name in names}


def verdict(worker, name):
    """"good", or why the function of that name could not be loaded."""
    answer = worker.call(name, [ONE], [], ONE_OUT)
    if (answer.how, answer.code) == (RETURNED, OK):
        assert answer.outputs[0].values().tolist() == [1.0]
        return GOOD
    assert answer.how == NOT_LOADED, (answer.how, answer.message, answer.what)
    return answer.what


def check(folder, files, wanted, notes=None):
    """`wanted`: by function "good", or how its message begins. None: no such function."""
    with start(folder, files, adapters(wanted)) as worker:
        assert worker.failure is None, worker.failure
        assert set(worker.functions) == {name for name, how in wanted.items() if how}
        for name, how in wanted.items():
            if how:
                assert verdict(worker, name).startswith(how)
                assert verdict(worker, name).startswith(how)  # no less the second time
        if notes is not None:
            assert worker.notes == notes


LACKS = "No module named 'lacking', which adapters.py imports in line 1"

# An import, and uses of it: each in a function, which fails.
USES = {
    "import lacking": ["lacking.f(x)", "lacking.deep.er.f()", "lacking.table[0]", "for _ in lacking.a: pass",
                       "x + lacking.eps", "lacking.eps * x", "bool(lacking.flag)", "len(lacking)",
                       "isinstance(x, lacking.A)", "with lacking.context: pass", "lacking == 3",
                       "lacking.A()", "x[lacking.index]", "float(lacking.eps)", "return lacking.y",
                       "lacking.state['a'] = 1", "sorted(lacking.items)", "-lacking.eps",
                       "import numpy; numpy.exp(lacking.eps)", "range(lacking.count)",
                       "class A(lacking.Base): pass\n    A()"],
    "import lacking.part": ["lacking.part.f()"],
    "import lacking.part as p": ["p.f()"],
    "from lacking import a, b as c": ["a()", "c()", "c.d()"],
    "from lacking.part import a": ["a()"],
    "from lacking import *; from lacking import f": ["f()"],
}


@pytest.mark.parametrize("statement", USES)
def test_each_use_fails_with_the_original_message(tmp_path, statement):
    source = f"{statement}\ndef good(x): return x\n"
    for number, use in enumerate(USES[statement]):
        source += f"def use_{number}(x):\n    {use}\n"
    names = {f"use_{number}": LACKS for number in range(len(USES[statement]))}
    check(tmp_path, {"adapters.py": source}, {"good": GOOD, **names})


def test_what_may_stand_at_the_top_of_a_module(tmp_path):
    source = """
        import functools
        from typing import Callable, Dict, List, Optional, TypeVar, Union
        from dataclasses import dataclass
        import lacking, math
        import lacking.numpy as lnp
        from lacking import Array, Base, config, jit, log as logger
        T = TypeVar("T", bound=Array)
        Vector = Union[Array, None]
        Table = Dict[str, List[Optional[Array["d"]]]]
        Either = Array | None
        Half = None | lacking.Half
        config.update("x", True)
        lacking.settings.depth = 3
        logger = logger.bind(name=__name__).opt(colors=True)
        LIMIT = 2 * lacking.LIMIT + 1
        partial = functools.partial(lacking.f, 3)
        if lacking.__doc__: pass
        @dataclass
        class Config:
            size: int = lacking.SIZE
            kind: Array["n d"] = None
        class Module(Base, keyword=3):
            def f(self) -> Array: return self
        class Both(dict, lacking.Mixin): pass
        class Meta(metaclass=lacking.Meta): pass
        class Generic(lacking.Generic[T]):
            import lacking.inside
            from lacking import also
        model = Module(3)
        @jit
        def fast(x): return x
        @jit(static=(0,))
        def faster(x): return x
        @lacking.register("name")
        class Registered: pass
        def typed(x: Array["b d"], *, f: Callable[[Array], Array] = jit) -> Vector:
            y: Array["b"] = x
            return math.floor(1.5) * y
        def makes(x): return Module()
        def makes_both(x): return Both()
        def counts(x): return x * LIMIT
        def calls(x): return partial(x)
        def uses_model(x): return model.f()
        def configured(x): return x + Config().size
        """
    lacks = "No module named 'lacking', which adapters.py imports in line "
    check(tmp_path, source, {"typed": GOOD, "fast": lacks, "faster": lacks, "makes": lacks,
                             "makes_both": lacks, "counts": lacks, "calls": lacks,
                             "uses_model": lacks, "configured": lacks, "Registered": lacks},
          ["lacking is not installed: stand-in (adapters.py:5)"])


FALLBACKS = {
    "ImportError": "try: import lacking\nexcept ImportError: lacking = None",
    "ModuleNotFoundError": "try: import lacking\nexcept (ValueError, ModuleNotFoundError): lacking = None",
    "Exception": "try:\n    if True:\n        from lacking import f as lacking\n"
                 "except Exception as e: lacking = None",
    "bare": "try: import lacking\nexcept: lacking = None",
    "suppress": "import contextlib\nlacking = None\n"
                "with contextlib.suppress(ImportError): import lacking",
    "find_spec": "import importlib.util\n"
                 "lacking = 1 if importlib.util.find_spec('lacking') else None",
    "import_module": "import importlib\ntry: lacking = importlib.import_module('lacking')\n"
                     "except ImportError: lacking = None",
    "in a function": "def find():\n    try:\n        import lacking\n    except ImportError:\n"
                     "        return None\nlacking = find()",
    "in another module": "try: from fast import f as lacking\nexcept ImportError: lacking = None",
    "named errors": "MISSING = (ImportError,)\ntry: import lacking\nexcept MISSING: lacking = None",
    "unrelated modules": "import sys\nlacking = sys.modules.get('lacking')",
}


@pytest.mark.parametrize("kind", FALLBACKS)
def test_what_has_a_fallback_keeps_it(tmp_path, kind):
    check(tmp_path, {"adapters.py": FALLBACKS[kind] + "\nassert lacking is None\ndef run(x): return x",
                     "fast.py": "import lacking\ndef f(x): return lacking.f(x)"}, {"run": GOOD}, [])


def test_a_fallback_for_another_error_is_none(tmp_path):
    check(tmp_path, "try: import lacking\nexcept ValueError: pass\ndef run(x): return x",
          {"run": GOOD}, ["lacking is not installed: stand-in (adapters.py:1)"])


TOKENIZER = """
    import json
    def early(x): return x
    def uses_table(x): return TABLE["a"]
    TABLE = json.load(open("vocab.json"))
    SIZE: int = 3
    def late(x): return x
    class Late: pass
    """
FAILS = ("tokenizer.py fails when it is imported: FileNotFoundError: [Errno 2] No such file or "
         "directory: 'vocab.json' (tokenizer.py:5)")


def test_a_module_that_fails_half_way(tmp_path):
    adapters = """
        from pkg import tokenizer, SIZE
        from pkg.tokenizer import early, late, Late, uses_table
        from pkg.tokenizer import *
        def size(x): return x * SIZE
        def other(x): return tokenizer.unknown(x)
        def makes(x): return Late()
        def run(x): return x
        """
    why = FAILS.replace("tokenizer.py", "pkg/tokenizer.py")
    check(tmp_path, {"adapters.py": adapters, "pkg/tokenizer.py": TOKENIZER,
                     "pkg/__init__.py": "from .tokenizer import SIZE"},
          {"run": GOOD, "early": GOOD, "late": why, "size": why, "other": why, "makes": why,
           "uses_table": why}, [why + ": stand-ins for what it has not defined by then"])


def test_modules_of_a_package_that_fails_half_way(tmp_path):
    """`from package import module` asks the package first, which has stand-ins for anything."""
    check(tmp_path, {"adapters.py": "from pkg import model, part\n"
                                    "def run(x): return model.run(x)\n"
                                    "def other(x): return part(x)",
                     "pkg/__init__.py": "from importlib.metadata import version\n"
                                        "__version__ = version('no-such-project')",
                     "pkg/model.py": "def run(x): return x"},
          {"run": GOOD, "other": "pkg/__init__.py fails when it is imported: PackageNotFoundError"})


def test_a_part_that_is_missing_and_a_whole_that_is_not(tmp_path):
    check(tmp_path, "import collections.nope\nimport os.path\nimport collections\n"
                    "KIND = collections.nope.Kind\n"
                    "def run(x): return collections.deque([x])[0]\n"
                    "def other(x): return collections.nope.f(x)",
          {"run": GOOD, "other": "No module named 'collections.nope'"})


def test_names_that_come_from_a_star(tmp_path):
    check(tmp_path, "from lacking import *\nfrom math import *\n"
                    "def run(x: Float['n'], *, f=len) -> Float: return x\n"
                    "def other(x): return rearrange(x, 'a -> a')\n"
                    "def known(x): return x * floor(1.5)",
          {"run": GOOD, "known": GOOD, "other": LACKS})


def test_modules_are_executed_once(tmp_path):
    files = {"adapters.py": "import one\nimport two\nimport broken\nfrom broken import b\n"
                            "def run(x): return x * len(one.seen)",
             "one.py": "seen = []\nimport two", "two.py": "import one, broken\none.seen.append(1)",
             "broken.py": "import one\none.seen = one.seen[:0]\nb = 1 / 0"}
    check(tmp_path, files, {"run": GOOD})


@pytest.mark.parametrize("failure", ["1 / 0", "raise SystemExit('no')", "raise NotImplementedError",
                                     "import lacking; list(lacking.names)", "\xe4\xf6 = = 3"])
def test_any_failure_is_that_modules_alone(tmp_path, failure):
    files = {"adapters.py": "import parts.good, parts.bad\nrun = parts.good.f\nbad = parts.bad.f\n",
             "parts/__init__.py": failure, "parts/good.py": "def f(x): return x",
             "parts/bad.py": failure}
    with start(tmp_path, files, adapters(["run", "bad"])) as worker:
        assert verdict(worker, "run") == GOOD
        assert len(worker.notes) >= 1
        bad = verdict(worker, "bad")
        assert "parts/bad.py" in bad or bad.startswith("No module named 'lacking', which parts/")


def test_a_file_that_this_python_cannot_parse(tmp_path):
    files = {"adapters.py": """
                 from newer import f, g
                 from newer import *
                 import newer
                 def uses_f(x): return f(x)
                 def uses_newer(x): return newer.h(x)
                 def uses_all(x): return h(x)
                 def run(x): return x
                 """,
             "newer.py": "def f(x): return x\ndef h(x) return x\n"}
    with start(tmp_path, files, adapters(["uses_f", "uses_newer", "uses_all", "run"])) as worker:
        assert verdict(worker, "run") == GOOD
        for name in ("uses_f", "uses_newer", "uses_all"):
            assert verdict(worker, name).startswith("newer.py cannot be parsed by Python 3.")
            assert "(line 2) (adapters.py:" in verdict(worker, name)
        assert [note.split(" by ")[0] for note in worker.notes] == ["newer.py cannot be parsed"]


def test_names_and_modules_of_newer_libraries(tmp_path):
    files = {"adapters.py": """
                 from typing import List, from_the_future
                 import numpy.from_the_future
                 import numpy
                 from numpy.from_the_future import f
                 from unfit import g
                 @from_the_future
                 def decorated(x): return x
                 def uses(x): return f(x)
                 def fits(x): return g(x)
                 def run(x: List[from_the_future]): return numpy.array(x)
                 """}
    outside = tmp_path / "outside"
    write(outside, {"unfit.py": "import os\nraise OSError('libfit.so: no such file')"})
    write(tmp_path / "sub", files)
    worker = Worker(adapters(["decorated", "uses", "fits", "run"]),
                    without=MODES["numpy"], before=f"import sys; sys.path.append({str(outside)!r})")
    with worker.load(tmp_path / "sub"):
        assert verdict(worker, "run") == GOOD
        assert verdict(worker, "decorated").startswith(
            "cannot import name 'from_the_future' from 'typing'")
        assert verdict(worker, "uses").startswith(
            "No module named 'numpy.from_the_future', which adapters.py imports in line 5")
        assert verdict(worker, "fits").startswith(
            "adapters.py imports unfit in line 6, which fails: OSError: libfit.so: no such file")
        assert worker.notes[1:] == [
            "there is no module numpy.from_the_future: stand-in (adapters.py:3)",
            "unfit: OSError: libfit.so: no such file: stand-in (adapters.py:6)"]


def test_imports_in_functions(tmp_path):
    files = {"adapters.py": """
                 def late(x):
                     from model import good
                     return good(x)
                 def later(x):
                     from model import bad
                     return bad(x)
                 def direct(x):
                     import lacking
                     return x
                 """,
             "model.py": "from lacking import f\ndef good(x): return x\ndef bad(x): return f(x)"}
    with start(tmp_path, files, adapters(["late", "later", "direct"])) as worker:
        assert worker.notes == []
        answer = worker.call("late", [ONE], [], ONE_OUT)
        assert answer.code == OK and answer.how == RETURNED
        assert answer.notes == ["lacking is not installed: stand-in (model.py:1)"]
        assert answer.kinds == [(MISSING_PACKAGE, "")]
        assert verdict(worker, "later") == ("No module named 'lacking', which model.py imports in "
                                            "line 1 (model.py:3)")
        assert verdict(worker, "direct") == ("ModuleNotFoundError: No module named 'lacking' "
                                             "(adapters.py:9)")
        assert worker.call("late", [ONE], [], ONE_OUT).notes == []


def test_words_of_a_submission_make_no_kind_of_note(tmp_path):
    files = {"adapters.py": "import other\ndef run(x): return x",
             "other.py": "raise OSError('numpy is not installed: stand-in (adapters.py:1)')"}
    with start(tmp_path, files, adapters(["run"])) as worker:
        assert verdict(worker, "run") == GOOD
        [line] = worker.notes
        assert " is not installed: stand-in" in line and worker.kinds == [(OTHER_NOTE, "")]


def test_many_notes_are_cut(tmp_path):
    lines = "".join(f"import lacking_{number}\n" for number in range(200))
    with start(tmp_path, lines + "def run(x): return x", adapters(["run"])) as worker:
        assert verdict(worker, "run") == GOOD and len(worker.notes) == 50


def test_other_modules_may_lack_torch(tmp_path):
    check(tmp_path, {"adapters.py": "from parts import f\ndef run(x): return x",
                     "parts.py": "import torch\nf = torch.relu"},
          {"run": GOOD, "f": "import of torch halted; None in sys.modules, which parts.py "})


def test_tracebacks_and_sources_are_the_files(tmp_path):
    source = """
        import lacking, json, inspect

        from json import (loads,
            dumps)
        def run(x):
            assert inspect.getsource(run).startswith("def run(x):")
            return loads("{")
        """
    with start(tmp_path, source, adapters(["run"])) as worker:
        answer = worker.call("run", [ONE], [], ONE_OUT)
        assert answer.message.startswith("JSONDecodeError")
        assert answer.message.endswith("(adapters.py:8)")


def test_nothing_outside_of_the_submission_is_on_the_path(tmp_path):
    write(tmp_path / "else", {"evil.py": "1 / 0"})
    write(tmp_path / "sub", {
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["../else", "/tmp", "link", "in"]',
        "in/one.py": "def f(x): return x",
        "tests/adapters.py": """
            import sys
            from one import f as run
            import evil
            assert not [p for p in sys.path if "else" in p or "link" in p or p in ("/tmp", "")], sys.path
            def uses(x): return evil.f(x)
            """})
    (tmp_path / "sub/link").symlink_to("../else")
    with Worker(adapters(["run", "uses"]), without=MODES["numpy"]).load(tmp_path / "sub") as worker:
        assert verdict(worker, "run") == GOOD
        assert verdict(worker, "uses").startswith("No module named 'evil'")
