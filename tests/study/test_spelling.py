# labels: unit
"""Words: no misspelling that codespell knows, and none of the phrases that a reader stumbles over."""

import re
import shutil
import subprocess

import pytest

from places import ROOT, found_some

# Of what has text for readers. Tests are left out: some misspell on purpose.
FOLDERS = ("cuda", "docs", "fixtures", "harness", "notebooks", "reference")
ENDINGS = {".md", ".ipynb", ".py", ".hpp", ".cpp", ".h", ".cu", ".cuh", ".toml", ".in", ".j2", ".mustache"}
FILES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff", "prenorm")),
         *found_some((ROOT / ".github").rglob("*.[my]*")),
         *(path for folder in FOLDERS for path in found_some((ROOT / folder).rglob("*"))
           if path.suffix in ENDINGS and path.is_file())]
KNOWN = ROOT / "tests/study/spelling.txt"  # words that are right here: one per line

# Phrases, in comments, messages and templates as on pages, and what to write.
PHRASES = {
    r"\bheld against\b": "compared with",
    r"\bkept apart (by|from the machine)\b": "sandboxed",
    r"\bthe type that computes\b": "the compute type",
    r"\bone row a \w+|\ba (file|line|row|test) an? \w+": "one ... per ...",
    r"\bwhat came of\b": "the result of",
    r"\bno whole number from 0 on\b": "must be a non-negative integer",
    r"\bmust have one shape\b": "must have the same shape",
    r"\bits elder\b": "its predecessor",
    r"\bwithout a brake\b": "without a norm",
    r"\bknows it no more\b": "no longer known",
    r"(?<!are )\ball the same\b(?! )": "nevertheless, or leave it out",
}


def test_no_word_is_misspelt():
    if not shutil.which("codespell"):
        pytest.skip("there is no codespell (Debian: codespell)")
    done = subprocess.run(["codespell", "--ignore-words", KNOWN, *FILES], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_misspelt_word_would_be_seen(tmp_path):
    if not shutil.which("codespell"):
        pytest.skip("there is no codespell (Debian: codespell)")
    page = tmp_path / "a.md"
    page.write_text("This is refered to.\n")
    done = subprocess.run(["codespell", "--ignore-words", KNOWN, page], capture_output=True, text=True)
    assert done.returncode != 0 and "refered" in done.stdout


def phrases_in(text):
    """Also where a line ends within a phrase, in a comment too."""
    text = re.sub(r"\s*\n\s*(///?|#+|\*)?\s*", " ", text)
    return [f"{found[0]!r}: write {better!r}" for pattern, better in PHRASES.items()
            for found in re.finditer(pattern, text, re.I)]


def test_texts_are_plain():
    assert {path.relative_to(ROOT).as_posix(): found
            for path in FILES if (found := phrases_in(path.read_text()))} == {}


def test_a_phrase_would_be_seen():
    assert phrases_in("LayerNorm,\nits elder, is held\n  /// against it.") == [
        "'held against': write 'compared with'", "'its elder': write 'its predecessor'"]
