# labels: unit grading
# needs: grade_pages
"""Where people already look: GitHub's job summary and annotations, Gradescope's autograder.

Markdown is rendered by GitHub's own library, annotations are read by the rules of its runner,
results.json is held against Gradescope's documented fields, and the autograder is run in the
folders that it documents. test_grade_report.cpp leaves reports of hand-made gradings in
PRENORM_PAGE_DIR.
"""

import json
import os
import re
import shutil
import stat
import subprocess
import zipfile
from pathlib import Path

import jsonschema
import pytest
from lxml import html

from conftest import folder
from grading import SUBMISSIONS, built, unavailable

ROOT = Path(__file__).resolve().parent.parent
HONEST = SUBMISSIONS / "honest"
RUBRIC = """
title = "Two of them"
adapters = "names.toml"

[[groups]]
name = "float32"
share = 2
dtypes = ["float32"]
except = ["*empty*"]

[[groups]]
name = "hidden"
hidden = true
dtypes = ["float32"]
except = ["*empty*"]

[[items]]
name = "silu"
problems = ["silu"]
points = 1

[[items]]
name = "softmax"
problems = ["softmax"]
points = 2
"""


@pytest.fixture
def run(program, tmp_path):
    """run(words..., actions=False): the finished program, in a folder of its own."""

    def call(*words, actions=False):
        environment = {key: value for key, value in os.environ.items() if key != "GITHUB_ACTIONS"}
        environment |= {"GITHUB_ACTIONS": "true"} if actions else {}
        return subprocess.run([str(word) for word in (program, *words)], capture_output=True,
                              text=True, cwd=tmp_path, env=environment, timeout=300)

    return call


@pytest.fixture
def mistake(home):
    """A library of known mistakes, of which each problem has another."""
    return home / "lib/prenorm/libprenorm_mistakes.so/no_eps"


@pytest.fixture(scope="module")
def pages():
    made = folder("PRENORM_PAGE_DIR")
    assert made.is_dir(), "test_harness --run_test=grade_report makes it"
    return made


# Markdown


def rendered(text):
    """As GitHub renders it; raw HTML that it would let through stays in."""
    if not shutil.which("cmark-gfm"):
        pytest.skip("there is no cmark-gfm (Debian: cmark-gfm)")
    extensions = ["table", "autolink", "strikethrough", "tagfilter", "tasklist"]
    words = [word for extension in extensions for word in ("-e", extension)]
    page = subprocess.run(["cmark-gfm", "--unsafe", *words], input=text, capture_output=True,
                          text=True, check=True).stdout
    return html.fromstring(f"<div>{page}</div>")


def words_of(element):
    return " ".join(element.text_content().split())


def test_a_summary_in_markdown(run, mistake, tmp_path):
    summary = tmp_path / "summary.md"
    done = run("grade", mistake, "--rubric", "all", "--problem", "rmsnorm", "--problem", "silu",
               "--markdown", summary)
    assert done.returncode == 1, done.stderr
    page = rendered(summary.read_text())
    assert re.fullmatch(r"libprenorm_mistakes\.so/no_eps: [\d.]+ of 2 points",
                        words_of(page.find(".//h3")))
    table = page.find(".//table")
    assert [words_of(cell) for cell in table.iter("th")] == ["Item", "Points", "Cases passed"]
    rows = [[words_of(cell) for cell in row.iter("td")] for row in table.iter("tr")]
    assert ["rmsnorm", "silu"] == [row[0] for row in rows if row and row[0] in ("rmsnorm", "silu")]
    assert all(re.fullmatch(r"[\d.]+ / [\d.]+", row[1]) and re.fullmatch(r"\d+/\d+", row[2])
               for row in rows if row)
    heads = {words_of(head).split(":")[0]: head for head in page.iter("h4")}
    assert list(heads) == ["rmsnorm", "silu"]
    text = words_of(page)
    assert "looks like a known mistake: no eps (agrees on" in text
    assert "INCORRECT_NUMERICAL" in text and "NOT_IMPLEMENTED in all" in text
    commands = [block.text_content().strip() for block in page.iter("pre")]
    assert commands and all("grade" in c and "--case" in c for c in commands)
    # The command is one that can be given: the case fails again.
    name = re.search(r"--case (\S+)", commands[0]).group(1)
    again = run("grade", mistake, "--rubric", "all", "--problem", "rmsnorm", "--case", name,
                "--no-hidden")
    assert again.returncode == 1


ATTACKS = ["37_messages", "37_hostile", "37_names"]


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_words_stay_words(run, attack, tmp_path):
    path = built("exploit") / f"{attack}.so"
    if attack == "37_hostile":
        path = SUBMISSIONS / "exploits" / f"{attack}.py"
    if not path.exists():
        pytest.skip(f"{path.name} is not built")
    done = run("grade", path, "--problem", "softmax", "--markdown", "a.md", "--gradescope",
               "r.json", "--annotations")
    assert done.returncode == 1, done.stderr
    check_markdown((tmp_path / "a.md").read_text())
    check_results((tmp_path / "r.json").read_text())
    commands = actions_commands(done.stdout)
    assert commands and all(command == "error" for command, _, _ in commands)


def check_markdown(text):
    assert not re.search(r"[\0-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", text)
    page = rendered(text)
    allowed = {"div", "h3", "h4", "p", "ul", "li", "strong", "code", "pre", "table", "thead",
               "tbody", "tr", "th", "td"}
    assert {element.tag for element in page.iter()} <= allowed
    for row in page.iter("tr"):
        assert len(row) == 3
    assert all(not set(element.attrib) - {"align"} for element in page.iter())


@pytest.mark.parametrize("page", ["ordinary", "hostile", "secrets", "compile_error"])
def test_summaries_of_gradings_made_by_hand(pages, page):
    check_markdown((pages / f"{page}.md").read_text())


def test_a_link_would_be_seen():
    """The check above: what is not escaped becomes an element."""
    for bad in ("www.example.org", "<b>x</b>", "![x](y)", "http://example.org", "| a\n|--\n| b"):
        with pytest.raises(AssertionError):
            check_markdown(bad)


# Annotations


def actions_commands(text):
    """The commands that GitHub's runner finds in a log, as its ActionCommand.cs reads it: blanks
    before a command do not matter, and nothing counts between stop-commands and its word."""
    known = {"error", "warning", "notice", "debug", "group", "endgroup", "add-mask", "add-matcher",
             "remove-matcher", "save-state", "set-output", "set-env", "add-path", "echo",
             "stop-commands"}
    unescape = lambda value, pairs: [value := value.replace(a, b) for a, b in pairs][-1]
    data = [("%0D", "\r"), ("%0A", "\n"), ("%25", "%")]
    found, stopped = [], None
    for line in text.split("\n"):
        line = line.lstrip()
        match = re.match(r"::(\S*?)(?: (.*?))?::(.*)", line)
        if stopped is not None:
            stopped = None if match and match.group(1) == stopped else stopped
            continue
        old = re.search(r"##\[(\S+?)[ \]]", line)
        if not match and old and old.group(1) in known:
            found.append((old.group(1), {}, line))
        if not match or match.group(1) not in known:
            continue
        command, properties, message = match.groups()
        if command == "stop-commands":
            stopped = message
            continue
        pairs = dict(pair.split("=", 1) for pair in (properties or "").split(",") if pair)
        found.append((command, {key: unescape(value, [("%3A", ":"), ("%2C", ","), *data])
                                for key, value in pairs.items()}, unescape(message, data)))
    assert stopped is None
    return found


def test_annotations_of_failing_problems(run, mistake):
    words = ("grade", mistake, "--rubric", "all", "--problem", "rmsnorm", "--problem", "silu")
    done = run(*words, actions=True)
    assert done.returncode == 1, done.stderr
    (first, second) = actions_commands(done.stdout)
    command, properties, message = first
    assert command == "error" and list(properties) == ["title"]
    assert re.fullmatch(r"rmsnorm: \d+ of \d+ cases failed, \d+ of \d+ hidden", properties["title"])
    lines = message.split("\n")
    assert lines[0].startswith("looks like a known mistake: no eps (agrees on")
    assert lines[1].startswith("INCORRECT_NUMERICAL  ") and "--case" in lines[-1]
    assert "NOT_IMPLEMENTED  in all" in second[2]
    # The table is there too, where its words are no commands.
    assert "INCORRECT_NUMERICAL" in done.stdout.split("::error")[0]
    token = re.match(r"::stop-commands::(\w{32})\n", done.stdout).group(1)
    again = run(*words, actions=True)
    assert token not in again.stdout, "a word that was used is known"
    assert "::" not in run(*words).stdout
    assert len(actions_commands(run(*words, "--annotations").stdout)) == 2


def test_at_most_ten_annotations(run, mistake, tmp_path):
    done = run("grade", mistake, "--rubric", "all", "--no-hidden", "--dtype", "float32",
               "--annotations", "--json", "report.json")
    commands = actions_commands(done.stdout)
    assert len(commands) == 10
    more = int(re.fullmatch(r"(\d+) more problems failed", commands[-1][1]["title"]).group(1))
    report = json.loads((tmp_path / "report.json").read_text())
    failed = {r["problem"] for r in report["results"] if r["status"] not in ("PASSED", "SKIPPED")}
    assert 9 + more == len(failed)


def test_a_report_on_standard_output_is_alone_there(run, mistake):
    words = ("grade", mistake, "--problem", "rmsnorm", "--json", "-")
    done = run(*words, actions=True)
    assert json.loads(done.stdout)["submission"]
    assert done.stderr == "prenorm: no annotations, as standard output holds a report\n"
    done = run(*words, "--annotations")
    assert done.returncode == 2 and not done.stdout
    assert "(-) holds one report only, and --annotations go there too" in done.stderr


@pytest.mark.parametrize("option", ["--markdown", "--junit"])
def test_a_report_of_lines_is_not_printed_where_the_runner_reads(run, mistake, option):
    """Its lines may begin with a submission's words, which the runner would obey."""
    words = ("grade", mistake, "--problem", "rmsnorm", option, "-")
    done = run(*words, actions=True)
    assert done.returncode == 2 and not done.stdout
    assert f"{option} -: " in done.stderr and "name a file" in done.stderr
    assert run(*words).stdout


def test_words_of_a_submission_are_no_commands(run, tmp_path):
    """What a submission says comes to the log; the runner would obey it."""
    (tmp_path / "adapters.py").write_text(
        "import itertools\n"
        "turn = itertools.count()\n"
        "def run_embedding(vocab_size, d_model, weights, token_ids):\n"
        "    raise ValueError(f'::add-mask::{next(turn)}')\n"
        "def run_softmax(in_features, dim):\n"
        "    raise ValueError(f'##[add-mask]{next(turn)}')\n")
    done = run("grade", "adapters.py", "--no-hidden", "--problem", "embedding", "--problem",
               "softmax", actions=True)
    assert [command for command, _, _ in actions_commands(done.stdout)] == ["error"] * 2
    # Without the word that stops commands there would be more.
    bare = done.stdout.split("\n", 1)[1]
    found = {command for command, _, _ in actions_commands(bare)}
    assert found == {"add-mask", "error"}, done.stdout


# results.json

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


def test_results_json(run, mistake, tmp_path):
    for report in ("results.json", "report.json"):
        assert not (tmp_path / report).exists()
    done = run("grade", mistake, "--rubric", "cs336-2025", "--problem", "rmsnorm", "--problem",
               "softmax", "--gradescope", "results.json", "--json", "report.json", "--instructor",
               "secret.json", "--hidden-visibility", "after_due_date")
    assert done.returncode == 1, done.stderr
    text = (tmp_path / "results.json").read_text()
    results = check_results(text)
    report = json.loads((tmp_path / "report.json").read_text())
    assert results["score"] == pytest.approx(report["earned"], abs=1e-3)
    most = sum(test["max_score"] for test in results["tests"])
    assert most == pytest.approx(report["points"], abs=1e-9)
    groups = [(item, group) for item in report["items"] for group in item["groups"]]
    assert [test["name"] for test in results["tests"]] == [
        *(f"{item['name']}: {group['name']}" for item, group in groups), "the whole submission"]
    for test, (item, group) in zip(results["tests"], groups):
        assert (test["status"] == "passed") == group["earned"]
        assert test["visibility"] == ("after_due_date" if group["hidden"] else "visible")
        assert f"{group['passed']} of {group['total']} " in test["output"]
        assert test["tags"] == [item["name"]] + ["hidden"] * group["hidden"]
        if group["hidden"]:
            assert "--case" not in test["output"] and "elements" not in test["output"]
        else:
            assert "agrees on" not in test["output"] and "hidden" not in test["output"]
    wrong = next(t for t in results["tests"] if "known mistake" in t["output"])
    assert "looks like a known mistake: no eps\n" in wrong["output"]
    # What tells of hidden cases is said when those are shown.
    [score] = re.findall(r"[\d.]+ of [\d.]+ points; \d+ passed", results["tests"][-1]["output"])
    assert results["tests"][-1]["visibility"] == "after_due_date"
    assert results["tests"][-1]["max_score"] == 0
    assert "points" not in results["output"] and "passed" not in results["output"]
    assert results["output"].count("\n") == 1 and score not in results["output"]
    assert "elements wrong" in wrong["output"] and "repeat: prenorm grade" in wrong["output"]
    missing = next(t for t in results["tests"] if t["name"].startswith("softmax"))
    assert "softmax: NOT_IMPLEMENTED in all" in missing["output"]
    secret = json.loads((tmp_path / "secret.json").read_text())
    assert str(secret["seed"]) not in text
    assert (tmp_path / "secret.json").stat().st_mode & 0o777 == 0o600


def test_points_that_are_no_round_numbers_have_their_sum(run, home, tmp_path):
    third = '[[groups]]\nname = "float64"\ndtypes = ["float64"]\n\n[[items]]'
    (tmp_path / "odd.toml").write_text(
        RUBRIC.replace('adapters = "names.toml"\n', "").replace("points = 2", "points = 0.7")
        .replace("share = 2", "share = 1").replace("[[items]]", third, 1))
    for library, score in (("plain", 1.7), ("mistakes", 0)):
        run("grade", home / f"lib/prenorm/libprenorm_{library}.so", "--rubric", "odd.toml",
            "--gradescope", f"{library}.json")
        results = check_results((tmp_path / f"{library}.json").read_text())
        assert results["score"] == score
        assert sum(test["max_score"] for test in results["tests"]) == pytest.approx(1.7, abs=1e-9)


def test_what_cannot_be_built_says_so(run, tmp_path):
    shutil.copytree(HONEST / "cpp_partial", tmp_path / "work")
    source = next((tmp_path / "work").glob("*.cpp"))
    source.write_text("#error \"<b>not</b> `yet`\"\n")
    done = run("grade", "work", "--gradescope", "r.json", "--markdown", "a.md", "--annotations")
    assert done.returncode == 1
    results = check_results((tmp_path / "r.json").read_text())
    assert results["score"] == 0 and "COMPILE_ERROR" in results["output"]
    assert '"<b>not</b> `yet`"' in results["output"]
    check_markdown((tmp_path / "a.md").read_text())
    assert '"<b>not</b> `yet`"' in words_of(rendered((tmp_path / "a.md").read_text()))
    ((_, properties, message),) = actions_commands(done.stdout)
    assert properties["title"] == "work: COMPILE_ERROR" and "<b>not</b>" in message


@pytest.mark.parametrize("page", ["ordinary", "hostile", "secrets", "compile_error"])
def test_results_of_gradings_made_by_hand(pages, page):
    check_results((pages / f"{page}.json").read_text())


def test_a_wrong_result_would_be_seen():
    good = {"score": 1, "output_format": "text", "stdout_visibility": "hidden", "tests": []}
    for bad in ({"scores": 1}, {"visibility": "later"}, {"score": "1"},
                {"tests": [{"name": "a", "max_score": 1}]}):
        with pytest.raises(jsonschema.ValidationError):
            check_results(json.dumps(good | bad))
    with pytest.raises(AssertionError):
        check_results(json.dumps(good))  # the tests have no points


def test_options_that_say_nothing_here_are_refused(run, mistake, tmp_path):
    for words in (["--regrade"], ["--roster", "r.csv"], ["--work", "w"], ["--batch", "2"],
                  ["--retries", "1"]):
        done = run("grade", mistake, *words)
        assert done.returncode == 2 and f"{words[0]} is for a class: --gradebook" in done.stderr
    for words in (["--hidden-visibility", "visible"], ["--annotations"]):
        done = run("grade", mistake, *words, "--gradebook", "g.sqlite")
        assert done.returncode == 2 and f"{words[0]} is for one submission" in done.stderr
    assert run("grade", mistake, "--hidden-visibility", "hidden").returncode == 2
    assert not list(tmp_path.iterdir())


# The autograder


@pytest.fixture
def autograder(run, tmp_path):
    """autograder(words...): the folder that `prenorm gradescope` writes."""
    made = []

    def make(*words):
        target = tmp_path / f"autograder{len(made)}"
        made.append(target)
        done = run("gradescope", target, *words)
        assert done.returncode == 0, done.stderr
        assert str(target / "autograder.zip") in done.stdout
        return target

    return make


@pytest.fixture
def rubric(tmp_path):
    """A rubric of somebody's own, with adapters beside it."""
    shelf = tmp_path / "rubrics"
    shelf.mkdir()
    (shelf / "mine.toml").write_text(RUBRIC)
    (shelf / "secrets.json").write_text("{}")
    shutil.copy(ROOT / "fixtures/rubrics/adapters-2025.toml", shelf / "names.toml")
    return shelf / "mine.toml"


def test_the_archive_has_what_builds_and_nothing_else(autograder, rubric):
    target = autograder("--rubric", rubric)
    archive = zipfile.ZipFile(target / "autograder.zip")
    assert archive.testzip() is None
    names = archive.namelist()
    assert names == sorted(set(names))
    # At the root: what Gradescope looks for, and the launcher, executable.
    for name in ("setup.sh", "run_autograder", "prenorm"):
        assert (archive.getinfo(name).external_attr >> 16) & 0o777 == 0o755
    assert (archive.getinfo("CMakeLists.txt").external_attr >> 16) & 0o777 == 0o644
    assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    # The same files lie beside it.
    beside = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert beside == {*names, "autograder.zip"}
    for name in names:
        assert (target / name).read_bytes() == archive.read(name)
        assert os.access(target / name, os.X_OK) == bool(archive.getinfo(name).external_attr >> 16
                                                         & stat.S_IXUSR)
    # All sources, and of the fixtures those that are graded by.
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "harness", "reference"],
                            capture_output=True, text=True)
    if listed.returncode == 0:
        assert set(listed.stdout.split()) <= set(names)
    assert {f"fixtures/{path.name}" for path in (ROOT / "fixtures").glob("*.h5")} <= set(names)
    tops = {name.split("/")[0] for name in names}
    assert tops == {"harness", "reference", "fixtures", "prenorm", "CMakeLists.txt",
                    "CMakePresets.json", "LICENSE", "setup.sh", "run_autograder", "settings.sh"}
    assert [name for name in names if name.startswith("fixtures/rubrics")] == [
        "fixtures/rubrics/mine.toml", "fixtures/rubrics/names.toml"]
    for name in names:
        assert not re.search(r"secret|instructor|oracle|make_fixtures|\.pyc$|/\.", name), name


def test_nothing_that_is_hidden_lies_in_it(autograder):
    plain, same, seeded = autograder(), autograder(), autograder("--seed", "987654321")
    archives = [(each / "autograder.zip").read_bytes() for each in (plain, same)]
    assert archives[0] == archives[1], "the same files make the same archive"
    assert "--seed" not in (plain / "settings.sh").read_text()
    assert "--seed 987654321" in (seeded / "settings.sh").read_text()
    for path in plain.rglob("*"):
        assert path.is_dir() or path.suffix == ".zip" or b"987654321" not in path.read_bytes()
    archive = zipfile.ZipFile(seeded / "autograder.zip")
    assert [name for name in archive.namelist() if b"987654321" in archive.read(name)] == [
        "settings.sh"]
    for name in ("settings.sh", "autograder.zip"):
        assert (seeded / name).stat().st_mode & 0o777 == 0o600, name
    # Hidden cases are none of the stored ones: those of the fixtures are the checkout's own.
    for path in (plain / "fixtures").glob("*.h5"):
        assert path.read_bytes() == (ROOT / "fixtures" / path.name).read_bytes()


def test_the_scripts_are_clean(autograder):
    if not shutil.which("shellcheck"):
        pytest.skip("there is no shellcheck")
    target = autograder()
    for name in ("setup.sh", "run_autograder", "settings.sh"):
        done = subprocess.run(["shellcheck", target / name], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_words_that_cannot_be_used(run, program, tmp_path, rubric):
    assert run("gradescope", "x", "--rubric", "cs336-2052").returncode == 2
    assert "did you mean" in run("gradescope", "x", "--rubric", "cs336-2052").stderr
    rubric.write_text(RUBRIC.replace('["silu"]', '["silly"]'))
    done = run("gradescope", "x", "--rubric", rubric)
    assert done.returncode == 2 and "silly" in done.stderr
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("")
    done = run("gradescope", "full")
    assert done.returncode == 2 and "not empty" in done.stderr
    # An installation has no sources.
    done = subprocess.run([program, "gradescope", "x"], cwd=tmp_path, capture_output=True,
                          text=True, env=os.environ | {"PRENORM_LAUNCHER": "/nowhere/prenorm"})
    assert done.returncode == 2
    assert "/nowhere: no CMakeLists.txt there; an autograder is built of the sources" in done.stderr
    assert not (tmp_path / "x").exists()
    help_text = run("gradescope", "--help").stdout
    assert "Examples:" in help_text
    assert all(len(line) <= 110 for line in help_text.splitlines())
    assert all(len(line) <= 110 for line in run("grade", "--help").stdout.splitlines())


@pytest.fixture
def gradescope(autograder, home, program, tmp_path):
    """gradescope(submission, words..., without=()): results.json and what was printed, in
    Gradescope's folders, with the program of this build in place of one that setup.sh builds."""
    if unavailable("bubblewrap"):
        pytest.skip(unavailable("bubblewrap"))

    def call(submission, *words, change=None):
        target = tmp_path / "container"
        source = target / "source"
        source.mkdir(parents=True)
        zipfile.ZipFile(autograder(*words) / "autograder.zip").extractall(source)
        shutil.copy(source / "run_autograder", target)
        (target / "run_autograder").chmod(0o755)
        (target / "results").mkdir()
        if submission.is_dir():
            shutil.copytree(submission, target / "submission")
        else:
            (target / "submission").mkdir()
            shutil.copy(submission, target / "submission")
        release = source / "build/release"
        (release / "share/prenorm").mkdir(parents=True)
        (release / "share/prenorm/fixtures").symlink_to("../../../../fixtures")
        binds = {home / part: Path("/autograder/source/build/release") / part
                 for part in ("lib", "libexec", "include", "share/cmake")}
        binds[program.resolve()] = "/autograder/source/build/release/bin/prenorm"
        worker = (home / "libexec/prenorm/prenorm_worker.py").resolve().parent
        binds[worker] = worker
        if change:
            change(target, binds)
        command = ["bwrap", "--tmpfs", "/", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc",
                   "/etc", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", target,
                   "/autograder"]
        for link in ("bin", "sbin", "lib", "lib64"):
            command += ["--symlink", f"usr/{link}", f"/{link}"]
        for what, where in binds.items():
            command += ["--ro-bind", what.resolve(), where]
        command += ["--chdir", "/autograder", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin",
                    "/autograder/run_autograder"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        assert [path.name for path in (target / "results").iterdir()] == ["results.json"]
        text = (target / "results/results.json").read_text()
        return check_results(text), done.stdout

    return call


def test_a_submission_in_gradescope_s_folders(gradescope, rubric):
    results, printed = gradescope(HONEST / "python_partial", "--rubric", rubric,
                                  "--hidden-visibility", "after_due_date")
    assert [test["name"] for test in results["tests"]] == [
        "silu: float32", "silu: hidden", "softmax: float32", "softmax: hidden",
        "the whole submission"]
    assert [test["visibility"] for test in results["tests"]] == [
        *["visible", "after_due_date"] * 2, "after_due_date"]
    assert "points" not in results["output"]
    assert 0 < results["score"] <= 3 and sum(t["max_score"] for t in results["tests"]) == 3
    assert results["extra_data"]["rubric"] == "mine"
    assert "of 3 points" in printed


def test_a_submission_is_not_graded_by_its_own_fixtures(gradescope, rubric, tmp_path):
    def bring_fixtures(target, binds):
        shutil.copytree(ROOT / "fixtures", target / "submission/fixtures",
                        ignore=lambda folder, names: [name for name in names
                                                      if name not in ("silu.h5", "softmax.h5")])
        for path in (target / "submission/fixtures").glob("*.h5"):
            path.write_bytes(b"no fixture")

    (tmp_path / "adapters.py").write_text(
        "def run_silu(in_features):\n    return in_features / 2\n")
    results, _ = gradescope(tmp_path / "adapters.py", "--rubric", rubric, change=bring_fixtures)
    wrong = results["tests"][0]
    assert wrong["name"] == "silu: float32" and "elements wrong" in wrong["output"]
    repeats = re.findall("repeat: (.*)", wrong["output"])
    start = "./prenorm grade submission --rubric mine --problem silu --case "
    assert len(repeats) == 3 and all(line.startswith(start) for line in repeats)


def test_a_project_in_gradescope_s_folders(gradescope, rubric):
    rubric.write_text(RUBRIC.replace('adapters = "names.toml"\n', ""))
    results, _ = gradescope(HONEST / "cpp_orders", "--rubric", rubric)
    assert results["score"] == 3, results["output"]


def no_program(target, binds):
    binds.popitem()
    for what in [what for what, where in binds.items() if str(where).endswith("bin/prenorm")]:
        del binds[what]


def broken_settings(target, binds):
    (target / "source/settings.sh").write_text("set -- --rubric 'no\"such\\'\n")


def unreadable_settings(target, binds):
    (target / "source/settings.sh").write_text("set -- 'no end\n")


def no_submission(target, binds):
    shutil.rmtree(target / "submission")


@pytest.mark.parametrize("change, says", [
    (no_program, "not found"),
    (broken_settings, "no rubric 'no\"such\\'"),
    (unreadable_settings, "run_autograder could not read settings.sh"),
    (no_submission, "there is no /autograder/submission"),
])
def test_a_results_json_there_is_always(gradescope, change, says):
    results, _ = gradescope(HONEST / "python_partial", change=change)
    assert results["score"] == 0 and results["tests"] == []
    assert results["output"].startswith("This submission was not graded.")
    assert says in results["output"]


def test_nothing_to_grade_says_so(gradescope, tmp_path):
    (tmp_path / "essay.txt").write_text("")
    results, _ = gradescope(tmp_path / "essay.txt")
    assert "nothing in it that can be graded: no CMakeLists.txt" in results["output"]
