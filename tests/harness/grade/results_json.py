"""Gradescope's results.json: the documented fields, as a schema; and a rubric of two problems."""

import json

import jsonschema
import pytest

from grading import rubric

SELECTED = 'dtypes = ["float32"]\nexcept = ["*empty*"]'
TWO_PROBLEMS = rubric(
    "Two of them",
    {"float32": "share = 2\n" + SELECTED, "16 bits": SELECTED.replace("float32", "bfloat16")},
    {"silu": ("silu", 1), "softmax": ("softmax", 2)}, more='adapters = "names.toml"\n')

FORMATS = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
VISIBILITY = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
NUMBER = {"type": "number", "minimum": 0}
# Gradescope's documented fields and no others, in words of our own:
# https://gradescope-autograders.readthedocs.io/en/latest/specs/
RESULTS = {
    "type": "object",
    "additionalProperties": False,
    "anyOf": [{"required": ["score"]}, {"required": ["tests"]}],
    "properties": {
        "score": NUMBER, "execution_time": NUMBER, "output": {"type": "string"},
        "output_format": FORMATS, "test_output_format": FORMATS, "test_name_format": FORMATS,
        "visibility": VISIBILITY, "stdout_visibility": VISIBILITY,
        "extra_data": {"type": "object"},
        "tests": {"type": "array", "items": {
            "type": "object",
            "additionalProperties": False,
            "dependentRequired": {"max_score": ["score"]},
            "properties": {
                "score": NUMBER, "max_score": NUMBER, "status": {"enum": ["passed", "failed"]},
                "name": {"type": "string", "minLength": 1}, "name_format": FORMATS,
                "number": {"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)*$"},
                "output": {"type": "string"}, "output_format": FORMATS,
                "tags": {"type": "array", "items": {"type": "string"}},
                "visibility": VISIBILITY, "extra_data": {"type": "object"},
            }}},
        "leaderboard": {"type": "array", "items": {
            "type": "object", "required": ["name", "value"], "additionalProperties": False,
            "properties": {"name": {"type": "string"}, "value": {"type": ["number", "string"]},
                           "order": {"enum": ["asc", "desc"]}}}},
    },
}


def check_results(text):
    """The object, which has the documented fields, and sums that are right."""
    results = json.loads(text)
    jsonschema.Draft202012Validator(RESULTS).validate(results)
    assert "\x1b" not in text and "\u202e" not in text
    assert results["stdout_visibility"] == "hidden" and results["output_format"] == "text"
    if results["tests"]:
        assert results["test_output_format"] == results["test_name_format"] == "text"
    assert results["score"] == pytest.approx(sum(t["score"] for t in results["tests"]), abs=1e-9)
    for test in results["tests"]:
        assert test["score"] == (test["max_score"] if test["status"] == "passed" else 0)
    return results
