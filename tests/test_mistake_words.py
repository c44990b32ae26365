# labels: unit
"""Every known mistake has words: a name, a sentence, a hint (reference/mistakes/README.md)."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "reference/mistakes"
COMPONENTS = {path.stem: tomllib.loads(path.read_text()) for path in sorted(FOLDER.glob("*.toml"))}
WORDS = [(component, mistake) for component, table in COMPONENTS.items()
         for mistake, words in table.items() if isinstance(words, dict)]
# What a name may have capitals for.
TERMS = {"RoPE", "NaN", "GELU", "ReLU", "SiLU", "Phi"}
HONEST = {"empty_rows_nan", "rounded_before_gain"}


@pytest.fixture(scope="module")
def mistakes(home):
    """{(problem, mistake)} of the library."""
    symbols = subprocess.run(["nm", "-D", "--defined-only", home / "lib/prenorm/libprenorm_mistakes.so"],
                             capture_output=True, text=True, check=True).stdout
    found = set(re.findall(r" T prenorm_(\w+?)__(\w+)", symbols))
    assert len(found) >= 217
    return found


def component_of(problem):
    own = [name for name, table in COMPONENTS.items()
           if any(Path(problem).match(pattern) for pattern in table["problems"])]
    assert len(own) == 1, f"{problem} is a problem of {own}"
    return own[0]


def with_parts(component):
    """The component and all that it is made of, in the order of a search."""
    order = []

    def visit(name):
        if name not in order:
            order.append(name)
            for part in COMPONENTS[name].get("parts", []):
                visit(part)

    visit(component)
    return order


def test_every_mistake_has_words(mistakes):
    for problem, mistake in sorted(mistakes):
        keys = {mistake, f"{problem}__{mistake}"}
        assert any(keys & set(COMPONENTS[name]) for name in with_parts(component_of(problem))), \
            f"{problem}: {mistake} has no words in its component or in a part of it"


def test_every_word_has_its_mistake(mistakes):
    """The component of the words, or a larger one that it is a part of, has the mistake."""
    unused = []
    for component, key in WORDS:
        problem, mistake = key.split("__") if "__" in key else (None, key)
        users = {p for p, m in mistakes if m == mistake and problem in (None, p)
                 and component in with_parts(component_of(p))}
        if not users:
            unused.append(f"{component}: {key}")
    assert not unused


def test_parts_are_components():
    for name in COMPONENTS:
        assert set(COMPONENTS[name].get("parts", [])) <= set(COMPONENTS)


@pytest.mark.parametrize("component, mistake", WORDS)
def test_words(component, mistake):
    words = COMPONENTS[component][mistake]
    assert {"name", "sentence", "hint"} <= set(words) <= {"name", "sentence", "hint", "form_of", "honest"}
    name, sentence, hint = words["name"], words["sentence"], words["hint"]
    for text in (name, sentence, hint):
        assert text == " ".join(text.split()) and text.isprintable()
    assert len(name) <= 60 and len(sentence) <= 240 and len(hint) <= 160
    assert not re.search(r"[.,?!]", name), "it stands in the middle of a sentence"
    for word in re.findall(r"[A-Z][A-Za-z]*|[a-z]+[A-Z][A-Za-z]*", name):
        assert word in TERMS, f"{word} has a capital"
    assert sentence.endswith(".") and hint.endswith(("?", "."))
    assert words.get("honest", False) == (mistake.startswith("float32_angles") or mistake in HONEST)
    form_of = words.get("form_of")
    if mistake.startswith("float32_angles_"):
        assert form_of == "float32_angles"
    if form_of:
        assert form_of != mistake and "form_of" not in COMPONENTS[component][form_of]


def test_names_tell_mistakes_apart():
    """In one component, only forms of the same mistake share a name."""
    for component, table in COMPONENTS.items():
        by_name = {}
        for mistake, words in table.items():
            if not isinstance(words, dict):
                continue
            problem = mistake.partition("__")[0] if "__" in mistake else ""
            same = by_name.setdefault((words["name"], problem), words.get("form_of", mistake))
            assert same == words.get("form_of", mistake), f"{component}: {words['name']}"


def test_the_build_tree_has_the_words(home):
    for path in FOLDER.glob("*.toml"):
        assert (home / "share/prenorm/mistakes" / path.name).read_text() == path.read_text()
