"""The exercises of the notebooks: grading a function, hints, and a case that should catch a mistake."""

import dataclasses
import json
import re
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np

from .dtypes import DTYPES, require_dtype, widen
from .fixtures import fixture
from .places import h5
from .program import FIXTURES, names_of_mistakes, run, verify
from .solutions import FLOATING, load, parsed, scalar


@dataclasses.dataclass
class _Graded:
    """What the last grade() said."""
    report: str       # JSON
    hints: int = 0    # given so far


_graded = None


def grade(problem, function, dtypes=DTYPES):
    """Grades a Python function: calls it with every stored case that has an answer, passes its
    results to `prenorm grade` and prints what that says.

    The function takes the arguments of the signature by name, arrays of the case's dtype (bfloat16
    as prenorm.bfloat16); scalars that a case leaves out have the signature's default. It returns an
    array, which is rounded to the case's dtype. If it raises, the case has no answer: what it
    raised is printed, once for each place in the code, with the lines that led there.

    Returns the share of these cases that passed. After a failure, hint() gives hints.
    """
    global _graded
    _graded = None
    dtypes = [dtypes] if isinstance(dtypes, str) else dtypes
    for dtype in dtypes:
        require_dtype(dtype)
    cases = [case for dtype in dtypes for case in fixture(problem).of_dtype(dtype)]
    with tempfile.TemporaryDirectory(prefix="prenorm-") as folder:
        answered, raised = _write_answers(problem, function, cases, Path(folder) / "yours")
        for complaint in _complaints(raised):
            print(complaint)
        if not answered:
            print(f"{problem}: 0 of {len(cases)} cases answered, there is nothing to grade yet")
            return 0.0
        report = Path(folder) / "report.json"
        words = ["grade", Path(folder) / "yours", "--rubric", "all", "--problem", problem,
                 "--no-hidden", "--no-color", "--fixtures", FIXTURES, "--json", report]
        for case in cases:  # without those to be rejected: stored answers cannot reject
            words += ["--case", case.name]
        print(_for_a_notebook(run(*words)))
        _graded = _Graded(report.read_text())
    passed = {result["case"] for result in json.loads(_graded.report)["results"]
              if result["status"] == "PASSED"}
    if len(passed) < len(cases):
        print("\nprenorm.hint() gives a hint.")
    return sum(case.name in passed for case in cases) / len(cases)


def hint():
    """Prints a hint on the first failure of the last grade(), and with each further call a plainer
    one: what to look at, what is wrong with the results, the formula. Never the solution. They are
    the hints of `prenorm watch`.
    """
    if _graded is None:
        print("No results were graded: call prenorm.grade first.")
        return
    _graded.hints += 1
    with tempfile.TemporaryDirectory(prefix="prenorm-") as folder:
        report = Path(folder) / "report.json"
        report.write_text(_graded.report)
        print(run("hint", report, "--number", _graded.hints, "--fixtures", FIXTURES).rstrip())


def _write_answers(problem, function, cases, folder):
    """Writes the function's answers as a file of outputs; their number, and [(case, exception)]."""
    specs = parsed(fixture(problem).signature)
    defaults = {spec["name"]: spec.get("default") for spec in specs["scalars"]}
    defaults |= {spec["name"]: None for spec in specs["inputs"] if spec["optional"]}
    folder.mkdir()
    answered, raised = 0, []
    with h5.h5py.File(folder / f"{problem}.h5", "w") as file:
        file.attrs.update(format="prenorm-outputs", version=np.int64(1), problem=problem)
        for case in cases:
            (name,) = case.expected
            try:
                with warnings.catch_warnings():  # some cases hold NaN and infinities on purpose
                    warnings.simplefilter("ignore")
                    values = function(**{**defaults, **case.arguments})
                if values is None:
                    raise NotImplementedError("it returned None")
                values = widen(values)
            except Exception as error:  # whatever it is: the other cases go on
                raised.append((case.name, error))
                continue
            group = file.create_group(f"cases/{case.name}/outputs")
            h5.write_tensor(group, name, values, case.dtype)
            answered += 1
    return answered, raised


def _complaints(raised):
    """What a function raised: each exception from another place once, with its number of cases."""
    by_place = {}
    for case, error in raised:
        told = traceback.TracebackException.from_exception(error)
        told.stack = traceback.StackSummary.from_list(
            [frame for frame in told.stack if frame.filename != __file__])
        place = told.stack[-1] if told.stack else None
        key = type(error), (place.filename, place.lineno) if place else str(error)
        by_place.setdefault(key, []).append((case, told))
    complaints = []
    for cases in by_place.values():
        first, told = cases[0]
        told.stack = told.stack if told.exc_type is not NotImplementedError else []
        lines = "".join([*traceback.format_list(told.stack), *told.format_exception_only()]).rstrip()
        more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
        complaints.append(f"{first}{more}:\n{lines}")
    return complaints


def _for_a_notebook(text):
    """The program's output without points, which nobody gives here, and without the commands that
    repeat a case: these answers are not kept."""
    lines = [re.sub(r"^[\d.]+ of [\d.]+ points; ", "", line) for line in text.splitlines()
             if not re.match(r" *(repeat:|only some cases|outputs earn|hidden cases were|item +points|"
                             r"-+  -+|[\w ]+ [\d.]+ / [\d.]+ )", line)]
    return re.sub("\n{2,}", "\n\n", "\n".join(lines)).strip()


def catches(problem, mistake, dtype="float32", **arguments):
    """Whether a case of your own catches a known mistake: True if the mistake fails it, and the
    reference and the textbook loop pass. Prints what `prenorm verify` says of the three.

    The arguments are those of the signature, by name; arrays are rounded to `dtype` where the
    signature has T. The expected output is the reference's in float64, the tolerance that of
    `prenorm fixtures calibrate`.
    """
    require_dtype(dtype)
    signature = fixture(problem).signature
    specs = parsed(signature)
    known = [name.removeprefix("mistakes/") for name in names_of_mistakes(problem)]
    if mistake not in known:
        raise ValueError(f"{problem} has no known mistake {mistake}: {', '.join(known)}")
    reference = getattr(load("reference"), problem)
    reference.by_name((), arguments)
    arguments = {name: value for name, value in arguments.items() if value is not None}
    solutions = ["reference", "plain", f"mistakes/{mistake}"]
    scalars = {}
    for spec in specs["scalars"]:
        if spec["name"] in arguments:
            value = scalar(spec, arguments).value
            scalars[spec["name"]] = value.f if spec["kind"] == FLOATING else value.i
    with tempfile.TemporaryDirectory(prefix="prenorm-") as folder:
        path = Path(folder) / f"{problem}.h5"
        with h5.create(path, problem, signature) as file:
            case = h5.add_case(file, "yours", scalars)
            exact = {spec["name"]: h5.add_input(case, spec["name"], widen(arguments[spec["name"]]),
                                                dtype if spec["dtype"] == "T" else spec["dtype"])
                     for spec in specs["inputs"] if spec["name"] in arguments}
            expected = reference(**exact, **scalars)
            h5.add_output(case, specs["outputs"][0]["name"], widen(expected), dtype)
        run("fixtures", "calibrate", path, "--no-color")
        table = verify(problem, *solutions, fixtures=path).set_index("solution")
    for solution in solutions:
        print(f"{solution:<24} {table.status[solution]}")
        if table.message[solution]:
            print(f"    {table.message[solution]}")
    return (table.status["reference"] == table.status["plain"] == "PASSED"
            and table.status[solutions[-1]] != "PASSED")
