# slow labels: unit
"""The class of made-up students is the same every time, has everything in it, and is what it says:
what grades a class is tested with it."""

import json
import os
import subprocess
from collections import Counter

import pytest

import synthetic_class
from attacks import ATTACKS
from conftest import slow_but
from elf import exports, with_names
from synthetic_class import all_kinds, content, make_class, mistakes, quotas, shipped


def tree(folder):
    """{path: what is there}, links and pipes as such."""
    found = {}
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        whole = path.is_file() and not path.is_symlink() and info.st_size < 1 << 30
        data = path.read_bytes() if whole else os.readlink(path) if path.is_symlink() else None
        found[str(path.relative_to(folder))] = (info.st_mode, data)
    return found


@pytest.mark.slow
def test_the_seed_alone_decides(tmp_path):
    for name, seed in (("one", 5), ("again", 5), ("other", 6)):
        make_class(tmp_path / name, 60, seed, fast=True)
    assert tree(tmp_path / "one") == tree(tmp_path / "again")
    assert tree(tmp_path / "one").keys() != tree(tmp_path / "other").keys()


@pytest.mark.slow
def test_a_class_of_960_has_everything(tmp_path):
    expected = make_class(tmp_path / "class", 960)
    assert json.loads((tmp_path / "class/expected.json").read_text()) == expected
    folders = {path.name for path in (tmp_path / "class").iterdir()} - {"expected.json"}
    assert folders == set(expected) and len(folders) == 960
    kinds = {(facts["sort"], facts["kind"]) for facts in expected.values()}
    assert kinds == {(kind.sort, kind.name) for kind in all_kinds(False)}
    assert {facts["kind"] for facts in expected.values()} >= set(ATTACKS)
    wrong = {(f["problem"], f["mistake"]) for f in expected.values() if f["sort"] == "mistake"}
    assert wrong == set(mistakes()) and len(wrong) >= 421
    assert set(synthetic_class.HOSTILE_NAMES) < folders


@pytest.mark.parametrize("count", slow_but({"1", "7"}, [1, 7, 40, 199]))
def test_any_size(count, tmp_path):
    expected = make_class(tmp_path / "class", count, fast=True)
    assert len(expected) == count
    assert not any(facts.get("slow") for facts in expected.values())
    if count >= 7:
        assert Counter(facts["sort"] for facts in expected.values()) == quotas(count)


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("")
    with pytest.raises(FileExistsError, match="is not empty"):
        make_class(tmp_path, 7)


def test_functions_under_other_names(tmp_path):
    library = shipped("plain")
    path = tmp_path / "renamed.so"
    path.write_bytes(with_names(content(library), {"prenorm_softmax": "prenorm_relu2"}))
    names = set(exports(library)) - {"prenorm_softmax"} | {"prenorm_relu2"}
    assert set(exports(path)) == names
    # The loader finds every one of them, by their hashes, and no other.
    code = ("import ctypes, sys\nlibrary = ctypes.CDLL(sys.argv[1])\n"
            "print(*(hasattr(library, name) for name in sys.argv[2:]))")
    done = subprocess.run(["/usr/bin/python3", "-c", code, path, "prenorm_softmax", *sorted(names)],
                          capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"] + ["True"] * len(names)
    with pytest.raises(ValueError, match="is longer than"):
        with_names(content(library), {"prenorm_relu": "prenorm_softmax"})
