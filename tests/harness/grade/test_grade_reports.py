# labels: unit grading
# slow labels: unit grading
"""Reports for other programs: GitHub's job summary and annotations, Gradescope's results.json.

Markdown is rendered by GitHub's own library, and annotations are read by the rules of its runner.
Gradings made by hand are in gradings.py.
"""

import json
import re
import shutil
import subprocess

import jsonschema
import pytest
from lxml import html

from attacks import hand_in
from conftest import slow_but
from gradings import BY_HAND, render
from places import SUBMISSIONS
from results_json import TWO_PROBLEMS, check_results

HONEST = SUBMISSIONS / "honest"


@pytest.fixture
def run(run):
    """run(words..., actions=False): whether GitHub's runner reads it."""
    return lambda *words, actions=False: run(*words, GITHUB_ACTIONS="true" if actions else None)


@pytest.fixture
def mistake(home):
    """A library of known mistakes, of which each problem has another."""
    return home / "lib/prenorm/libprenorm_mistakes.so/no_eps"


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
    assert all(re.fullmatch(r"[\d.]+ / [\d.]+", row[1])
               and re.fullmatch(r"\d+/\d+(, hidden \d+/\d+)?", row[2]) for row in rows if row)
    heads = {words_of(head).split(":")[0]: head for head in page.iter("h4")}
    assert list(heads) == ["rmsnorm", "silu"]
    text = words_of(page)
    assert "looks like no eps (all " in text and "hint: " in text
    assert "wrong: x / sqrt(mean(x^2)) * weight" in text
    assert "INCORRECT_NUMERICAL" in text and "NOT_IMPLEMENTED in all" in text
    commands = [block.text_content().strip() for block in page.iter("pre")]
    assert any("grade" in c and "--case" in c for c in commands)
    assert any("expected" in c and "got" in c for c in commands)
    # The command is one that can be given: the case fails again.
    name = next(re.search(r"--case (\S+)", c).group(1) for c in commands if "--case" in c)
    again = run("grade", mistake, "--rubric", "all", "--problem", "rmsnorm", "--case", name,
                "--no-hidden")
    assert again.returncode == 1


@pytest.mark.parametrize("attack", slow_but({"37_messages"}, ["37_messages", "37_hostile.py", "37_names"]))
def test_hostile_words_stay_words(run, attack, tmp_path):
    path = hand_in(attack, {}, tmp_path / "submission")
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


@pytest.mark.parametrize("made", BY_HAND)
def test_summaries_of_gradings_made_by_hand(made):
    check_markdown(render(BY_HAND[made](), "markdown"))


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


@pytest.mark.slow
def test_annotations_of_failing_problems(run, mistake):
    words = ("grade", mistake, "--rubric", "all", "--problem", "rmsnorm", "--problem", "silu")
    done = run(*words, actions=True)
    assert done.returncode == 1, done.stderr
    (first, second) = actions_commands(done.stdout)
    command, properties, message = first
    assert command == "error" and list(properties) == ["title"]
    assert re.fullmatch(r"rmsnorm: \d+ of \d+ cases failed, \d+ of \d+ hidden", properties["title"])
    lines = message.split("\n")
    assert lines[0].startswith("looks like no eps (all ")
    assert lines[2:4] == ["  right: x / sqrt(mean(x^2) + eps) * weight",
                          "  wrong: x / sqrt(mean(x^2)) * weight"]
    assert lines[4].startswith("  hint: ")
    assert lines[5].startswith("INCORRECT_NUMERICAL  ") and "--case" in lines[-1]
    assert "NOT_IMPLEMENTED  in all" in second[2]
    # The table is there too, where its words are no commands.
    assert "INCORRECT_NUMERICAL" in done.stdout.split("::error")[0]
    token = re.match(r"::stop-commands::(\w{32})\n", done.stdout).group(1)
    again = run(*words, actions=True)
    assert token not in again.stdout, "a word that was used is known"
    assert "::" not in run(*words).stdout
    assert len(actions_commands(run(*words, "--annotations").stdout)) == 2


def test_a_report_on_standard_output_is_alone_there(run, mistake):
    words = ("grade", mistake, "--problem", "rmsnorm", "--json", "-")
    done = run(*words, actions=True)
    assert json.loads(done.stdout)["submission"]
    assert done.stderr == "prenorm: no annotations, as standard output holds a report\n"
    done = run(*words, "--annotations")
    assert done.returncode == 2 and not done.stdout
    assert "(-) holds one report only, and --annotations go there too" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--markdown", "--junit"])
def test_a_report_of_lines_is_not_printed_where_the_runner_reads(run, mistake, option):
    """Its lines may begin with a submission's words, which the runner would obey."""
    words = ("grade", mistake, "--problem", "rmsnorm", option, "-")
    done = run(*words, actions=True)
    assert done.returncode == 2 and not done.stdout
    assert f"{option} -: " in done.stderr and "name a file" in done.stderr
    assert run(*words).stdout


@pytest.mark.slow
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
    bare = re.sub(r"^::stop-commands::.*\n", "", done.stdout, count=1, flags=re.M)
    found = {command for command, _, _ in actions_commands(bare)}
    assert found == {"add-mask", "error"}, done.stdout


# results.json


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
    names = [f"{item['name']}: {group['name']}" for item, group in groups]
    assert [test["name"] for test in results["tests"]] == [
        *(name + end for name in names for end in ("", ", with hidden cases")),
        "the whole submission"]
    for (item, group), seen, whole in zip(groups, results["tests"][::2], results["tests"][1::2]):
        assert seen["tags"] == whole["tags"] == [item["name"]]
        assert seen["visibility"] == "visible" and whole["visibility"] == "after_due_date"
        # Points tell of hidden cases.
        assert seen["max_score"] == 0 and (whole["score"] > 0) == group["earned"]
        assert (seen["status"] == "passed") == (group["passed"] == group["total"])
        assert (whole["status"] == "passed") == group["earned"]
        assert f"{group['passed']} of {group['total']} " in seen["output"]
        assert f"{group['hidden_passed']} of {group['hidden_total']} hidden " in whole["output"]
        assert "failing case" not in seen["output"]
        assert "--case" not in whole["output"] and "elements" not in whole["output"]
    wrong = next(t for t in results["tests"] if "looks like" in t["output"])
    assert "looks like no eps\n" in wrong["output"] and "hint: " in wrong["output"]
    assert "  wrong: x / sqrt(mean(x^2)) * weight\n" in wrong["output"]
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


@pytest.mark.slow
def test_points_that_are_no_round_numbers_have_their_sum(run, home, tmp_path):
    third = '[[groups]]\nname = "float64"\ndtypes = ["float64"]\n\n[[items]]'
    (tmp_path / "odd.toml").write_text(
        TWO_PROBLEMS.replace('adapters = "names.toml"\n', "").replace("points = 2", "points = 0.7")
        .replace("share = 2", "share = 1").replace("[[items]]", third, 1))
    for library, score in (("plain", 1.7), ("mistakes", 0)):
        run("grade", home / f"lib/prenorm/libprenorm_{library}.so", "--rubric", "odd.toml",
            "--gradescope", f"{library}.json")
        results = check_results((tmp_path / f"{library}.json").read_text())
        assert results["score"] == score
        assert sum(test["max_score"] for test in results["tests"]) == pytest.approx(1.7, abs=1e-9)


@pytest.mark.slow
def test_what_cannot_be_built_says_so(run, tmp_path):
    shutil.copytree(HONEST / "c_plain", tmp_path / "work")
    (tmp_path / "work/solution.c").write_text("#error \"<b>not</b> `yet`\"\n")
    done = run("grade", "work", "--gradescope", "r.json", "--markdown", "a.md", "--annotations")
    assert done.returncode == 1
    results = check_results((tmp_path / "r.json").read_text())
    assert results["score"] == 0 and "COMPILE_ERROR" in results["output"]
    assert '"<b>not</b> `yet`"' in results["output"]
    check_markdown((tmp_path / "a.md").read_text())
    assert '"<b>not</b> `yet`"' in words_of(rendered((tmp_path / "a.md").read_text()))
    ((_, properties, message),) = actions_commands(done.stdout)
    assert properties["title"] == "work: COMPILE_ERROR" and "<b>not</b>" in message


@pytest.mark.slow
def test_what_python_cannot_read_is_the_students(run, tmp_path):
    write = (tmp_path / "adapters.py").write_text

    def output():
        run("grade", ".", "--problem", "softmax", "--gradescope", "r.json")
        return check_results((tmp_path / "r.json").read_text())["output"]

    def is_told_the_student(why):
        said = output()
        return "Fix it and hand in again." in said and why in said and "staff" not in said

    write("def run_softmax(x, dim)\n    return x\n")
    assert is_told_the_student("SyntaxError: expected ':' (adapters.py:1)")
    (tmp_path / "model.py").write_text("def softmax(x, dim)\n    return x\n")
    write("from model import softmax as run_softmax\n")
    assert is_told_the_student("model.py cannot be parsed by Python 3.")
    # What only reads like it.
    (tmp_path / "model.py").write_text("raise OSError('model.py cannot be parsed by Python 3.')\n")
    assert "tell the staff" in output()
    write("from lacking_package import run_softmax\n")
    assert "tell the staff" in output()


@pytest.mark.slow
def test_only_the_terminal_speaks_of_the_machines_sandbox(run, mistake, tmp_path):
    forms = ["html", "markdown", "junit", "gradescope"]
    files = [word for form in forms for word in (f"--{form}", f"r.{form}")]
    out = run("grade", mistake, "--problem", "rmsnorm", "--sandbox", "none", *files).stdout
    assert out.startswith("note: no sandbox: ") and out.count("no sandbox") == 1
    for form in forms:
        text = (tmp_path / f"r.{form}").read_text()
        assert "no sandbox" not in text and "Sandbox:" not in text, form


@pytest.mark.parametrize("made", BY_HAND)
def test_results_of_gradings_made_by_hand(made):
    check_results(render(BY_HAND[made](), "gradescope"))


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
