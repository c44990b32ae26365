"""Gradings that tests make by hand, as records that `render` makes reports of; checks of any page."""

import copy
import json
import math
import subprocess
from html.parser import HTMLParser

from conftest import folder

# Markup, quotes, controls, what is no UTF-8 (render.cpp), and marks that turn the writing direction.
EVIL = ("<script>alert('x')</script>\"'&<img src=http://example.org/x onerror=1>\x1b[2J\n\x01\ue0ff"
        "\u202egnp.exe\u2066 ]]> {} %s \u05e9\u05dc\u05d5\u05dd")
LONG = EVIL + "w" * 20000 + "<b>end</b>"


def render(grading, form, *words):
    """The report, by render.cpp."""
    done = subprocess.run([folder("PRENORM_TEST_RENDER"), form, *words], input=json.dumps(grading).encode(),
                          capture_output=True, check=True)
    return done.stdout.decode("utf-8", "strict")


def number(value):
    return value if math.isfinite(value) else str(value).replace("inf", "Infinity").replace(
        "nan", "NaN")


def grading(**members):
    return {"submission": "", "kind": "", "emulated": False, "rubric": "", "title": "",
            "sandbox": "", "notes": [], "forbidden_calls": [], "imports": [], "seed": 0,
            "status": "PASSED", "message": "", "items": [], "profiles": [], "seconds": 0} | members


def item(name, problems, points, earned, groups, **members):
    return {"name": name, "problems": problems, "points": points, "earned": earned,
            "groups": groups, "cases": [], "diagnoses": [], "properties": [],
            "undiagnosed": [], "clues": []} | members


def group(name, share, passed, total, hidden_passed=0, hidden_total=0, earned=False):
    return {"name": name, "hidden": hidden_total > 0, "share": share, "passed": passed,
            "total": total, "hidden_passed": hidden_passed, "hidden_total": hidden_total,
            "earned": earned}


def case(problem, name, status, message="", hidden=False, sizes="", maps=(), **result):
    repeat = f"prenorm grade alice --rubric cs336-2025 --problem {problem} --case {name}"
    return {
        "result": {"fixture": f"fixtures/{problem}.h5", "problem": problem, "case": name,
                   "solution": "alice", "status": status, "message": message, "dtype": "float32",
                   "seconds": 0.0123, "repeat": repeat, "outputs": [],
                   "batch_invariant": None} | result,
        "hidden": hidden, "groups": [], "secret": None, "errors": list(maps),
        "told": {"sizes": sizes or "x[2, 3, 64], weight[64] -> y[2, 3, 64]", "description": "",
                 "numbers": "", "hint": "", "snippet": "", "elements": 0, "refusal": False}}


def output(mismatches, elements, worst, actual, expected, name="y", atol=1.19e-6, rtol=4.77e-7):
    return {"name": name, "max_abs_error": number(abs(actual - expected)), "max_rel_error": 0.731,
            "max_ulp_error": 3.1e6, "relative_l2_error": 0.5, "mismatches": mismatches,
            "elements": elements, "worst_index": worst, "worst_actual": number(actual),
            "worst_expected": number(expected), "atol": atol, "rtol": rtol}


def map_of(shape, rows, columns, ratio, tensor="y"):
    """An error map as grading makes it, by a function that gives error over bound."""
    cells = [ratio(row, column) for row in range(rows) for column in range(columns)]
    histogram = [0] * 30
    for value in cells:
        power = 21 if value == math.inf else math.ceil(math.log2(value)) if value > 0 else -8
        histogram[min(max(power, -8), 21) + 8] += 1
    return {"tensor": tensor, "shape": shape, "rows": rows, "columns": columns,
            "cells": [number(cell) for cell in cells], "histogram": histogram, "ulps": [],
            "axes": [], "mistake": []}


def ordinary():
    """A grading as it comes: some right, some wrong, some missing."""
    right = item(
        "rmsnorm", ["rmsnorm"], 1, 1,
        [group("float32", 2, 9, 9, earned=True), group("float16", 1, 5, 5, earned=True),
         group("fresh", 1, 0, 0, 6, 6, earned=True)],
        cases=[case("rmsnorm", name, "PASSED")
               for name in "by_hand scale_1e_3 sizes_31 sizes_32 sizes_33 zero_row".split()]
        + [case("rmsnorm", "fresh", "PASSED", hidden=True)] * 6)
    wrong = ("rope", "three_batch_axes", "INCORRECT_NUMERICAL",
             "y: 160 of 192 elements wrong, the worst y[1, 2, 5] = 0.123456, wanted -0.654321 "
             "(bound 1.5e-06)")

    def long_map(row, column):
        return math.inf if row > 60 and column > 58 else 2 ** ((row - 40) / 4 - .4 * (column % 32))

    turned = item(
        "rope", ["rope"], 2, .5,
        [group("errors", 1, 2, 2, earned=True), group("float32", 2, 0, 3),
         group("fresh", 1, 0, 0, 1, 4)],
        diagnoses=[["rope", "halves", 3, 3, []]],
        cases=[
            case(*wrong, sizes="x[2, 3, 32], token_positions[3] -> y[2, 3, 32]",
                 outputs=[output(160, 192, [1, 2, 5], 0.123456, -0.654321)],
                 maps=[map_of([2, 3, 32], 6, 32, lambda row, column: 0 if row % 3 == 0 else
                              2 ** (1.4 * row + 12 - .5 * (column % 16)))]),
            case("rope", "long_sequence", *wrong[2:], repeat="prenorm grade alice --case long_sequence",
                 sizes="x[1024, 64], token_positions[1024] -> y[1024, 64]",
                 outputs=[output(31000, 65536, [700, 3], 1.0000001, 1.0000004)],
                 maps=[map_of([1024, 64], 64, 64, long_map)]),
            case("rope", "one_row", *wrong[2:], repeat="prenorm grade alice --case one_row",
                 sizes="x[1, 8], token_positions[1] -> y[1, 8]",
                 outputs=[output(1, 8, [0, 3], math.nan, .25)],
                 maps=[map_of([1, 8], 1, 8,
                              lambda row, column: math.inf if column == 3 else .01 * column)]),
            case("rope", "odd_d_k", "PASSED"),
            *(case("rope", "fresh", status, hidden=True)
              for status in ("PASSED", "INCORRECT_NUMERICAL", "INCORRECT_NUMERICAL", "TIMEOUT"))])
    two = item(
        "positionwise_feedforward", ["ffn_relu", "ffn_swiglu"], 2, 0, [group("all", 1, 1, 9)],
        diagnoses=[["ffn_swiglu", "exchanged", 2, 2, ["gate_left_out"]]], undiagnosed=["ffn_relu"],
        cases=[
            case("ffn_relu", "small_integers", "INCORRECT_NUMERICAL", "y: 2 of 12 elements wrong",
                 sizes="x[3, 4], w1[8, 4], w2[4, 8] -> y[3, 4]",
                 outputs=[output(2, 12, [2, 1], 17, 18, atol=0, rtol=0)],
                 maps=[map_of([3, 4], 3, 4, lambda row, column:
                              math.inf if row == 2 and column < 2 else 0)]),
            case("ffn_relu", "crashes", "RUNTIME_ERROR", "killed by SIGSEGV (address 0x10)"),
            *(case("ffn_swiglu", name, "INCORRECT_NUMERICAL", "y: 5 of 9 elements wrong",
                   outputs=[output(5, 9, [0, 1], 2, 1)]) for name in ("one", "two"))])
    missing = item("softmax", ["softmax"], 1, 0, [group("all", 1, 0, 5)],
                   cases=[case("softmax", name, "NOT_IMPLEMENTED", "not implemented",
                               sizes="x[4, 8] -> y[4, 8]") for name in "abcde"])
    return copy.deepcopy(grading(
        submission="alice", kind="CMake project", rubric="cs336-2025",
        title="CS336 2025, assignment 1: the parts of the Transformer block", sandbox="bubblewrap",
        notes=["2 links were left out of the copy: data, ../elsewhere"],
        imports=["expf", "memcpy", "sqrt"], seed=918273645546372819, seconds=4.31,
        items=[right, turned, two, missing]))


def hostile():
    """Everything that can come from outside is hostile, and very long."""
    one = case(LONG, LONG, "INCORRECT_NUMERICAL", LONG, sizes=LONG, solution=LONG, dtype=LONG,
               repeat=LONG, outputs=[output(1, 4, [9, -1], math.nan, math.inf, name=LONG)],
               maps=[map_of([2, 2], 2, 2, lambda row, column: math.inf, tensor=LONG)])
    one["groups"] = [LONG]
    return grading(
        submission=LONG, kind=LONG, rubric=LONG, title=LONG, sandbox=LONG, notes=[LONG, EVIL],
        imports=[LONG, EVIL], status="COMPILE_ERROR", message=LONG + "\n" + EVIL,
        items=[item(LONG, [LONG, "other"], 1, 0, [group(LONG, 1, 0, 0, 0, 1)],
                    diagnoses=[[LONG, LONG, 1, 1, [EVIL]]], undiagnosed=["other"],
                    cases=[one, case("other", EVIL, "RUNTIME_ERROR", EVIL)])])


SECRETS = ["SECRET", "31337", "31338", "98765", "55555", "66666", "44444", "77.1", "424242"]


def secrets(hidden=True):
    """Hidden cases that hold much, each of it easy to find."""
    cases = []
    for status in ("PASSED", "INCORRECT_NUMERICAL", "TIMEOUT"):
        cases.append(case(
            "problem", "SECRETname", status, "SECRETmessage 31337.25", hidden=hidden,
            sizes="SECRETshapes[98765]", fixture="SECRETfixture", repeat="SECRETrepeat",
            dtype="SECRETdtype", seconds=77.125,
            outputs=[output(55555, 66666, [44444], 31337.25, -31338.5, name="SECREToutput")],
            maps=[map_of([98765], 1, 4, lambda row, column: 8.0, tensor="SECRETtensor")]))
        cases[-1]["groups"] = ["fresh"]
    return grading(submission="bob", seed=424242424242, items=[
        item("item", ["problem"], 1, 0, [group("fresh", 1, 0, 0, 1, 3) | {"hidden": hidden}],
             cases=cases)])


def compile_error():
    return grading(submission="carol", status="COMPILE_ERROR",
                   message="solution.cpp:3:1: error: expected ';'\n    3 | }\n      | ^")


BY_HAND = {"ordinary": ordinary, "hostile": hostile, "secrets": secrets,
           "compile_error": compile_error}


def check_needs_nothing(page, scripts=0):
    """It loads nothing, and runs nothing but its own scripts."""
    assert page.count("<script") == scripts
    for part in ("<script ", "<img", "<iframe", "stylesheet", "@import", "url(h", 'src="', 'href="h',
                 'href="/'):
        assert part not in page, part


class Elements(HTMLParser):
    """Each element ends, and before the one around it."""
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "link", "wbr"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag


def check_elements(page):
    elements = Elements()
    elements.feed(page)
    assert not elements.open


def is_plain(text):
    return all(c == "\n" or ord(c) >= 0x20 for c in text)


def check_is_escaped(page, scripts=0):
    """What EVIL tries does not stand in the page, but its letters do."""
    assert page.count("<script") == scripts
    for part in ("<img", "<b>end", "\u202e", "\u2066"):
        assert part not in page
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&#39;&amp;" in page
    assert is_plain(page)
