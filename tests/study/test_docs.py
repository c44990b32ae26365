# labels: unit notebooks
# slow labels: unit notebooks
"""The documentation: every link leads somewhere, every command runs and prints what is shown.

docs/teaching.md has a test of its own, test_teaching.py.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import guide
from guide import plain
from places import ROOT, found_some, program

README = ROOT / "README.md"
DOCS = found_some((ROOT / "docs").glob("*.md"))
PAGES = sorted({README, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *DOCS,
                *(path for folder in ("cuda", "fixtures", "harness", "notebooks", "reference")
                  for path in found_some((ROOT / folder).rglob("*.md")))})
TESTED_ELSEWHERE = {"docs/teaching.md": "test_teaching.py"}
QUICK = {"README.md", "docs/emulate.md", "docs/verdicts.md", "docs/study.md", "fixtures/README.md"}
# What a reader's folder has: the checkout, without what was built.
LINKED = ("cuda", "docs", "fixtures", "harness", "notebooks", "reference", "tests")
SAVED = ("cpp", "cuda", "python")  # blocks that are saved under the name that stands before them

# Commands that are not run here, and why.
NOT_RUN = [
    (r"\./prenorm (verify|test)( --\w+)? *(#.*)?$", "all of it: this test is a part, and others are the rest"),
    (r"\./prenorm study", "some minutes: test_study.py"),
    (r"cuda/record\.sh|mkdir kit", "a device, or half an hour: test_record.py"),
    (r"\./prenorm verify --solution cuda-emulated", "every case in the emulator, minutes: test_emulated.py"),
    (r"\./prenorm profile", "a build of its own, and minutes: test_profile.py"),
    (r"ncu ", "a device, and its profiler: test_profile_counters.py"),
    (r"\./prenorm verify --solution rmsnorm\.cu", "files of a notebook: test_cuda_notebook.py"),
    (r"\./prenorm emulate (?!reverse)|sed ", "programs that the page does not have: test_emulate.py"),
    (r"\./prenorm watch", "goes on until q is pressed: test_watch.py"),
    (r"cmake |ctest ", "builds the project: test_package.py"),
    (r"apt-get |docker |git clone ", "installs packages, makes an image or a checkout"),
    (r"tar |prenorm-0", "an archive that takes minutes to make: test_archive.py"),
    (r"\./prenorm bench", "minutes, and other versions of PyTorch: test_bench_program.py"),
    (r"yield Case", "a part of fixtures/cases: test_make_fixtures.py"),
]
# Blocks without a language, by how they begin: what is not run, and why.
NOT_CONSOLES = {
    "            fixtures/*.h5 ": "a picture of the parts",
    "/                    format": "a fixture file's layout",
    "u64   number ": "a message's layout",
    "$ ./prenorm verify\n": "without the columns that do not fit: test_the_table_of_all_solutions()",
    "kernel normalize, ": "a step of a notebook: test_cuda_notebook.py",
    "rmsnorm, case batch_of_4": "a step of a notebook: test_cuda_notebook.py",
}
if not shutil.which("nvcc"):
    NOT_RUN.append((r"nvcc |.*librelu_cuda", "there is no nvcc"))
# Commands that report a failure, or that nothing is written yet; all others succeed.
FAILING = (r"\./prenorm (grade|emulate|mistakes) |.*--solution mistakes/|.*fixtures check|.*librelu|"
           r".*mine/solution\.cu")


def name(path):
    return (path.relative_to(ROOT) if path.is_relative_to(ROOT) else path).as_posix()


def pages(found, slow):
    return [pytest.param(path, id=name(path), marks=[pytest.mark.slow] * slow(name(path)))
            for path in found]


# ---- links

def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))


def links(path):
    return re.findall(r"\]\(([^)\s]+)\)", without_code(path.read_text()))


def anchors(path):
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S)
    found = {}
    for heading in re.findall(r"^#+ +(.*?) *$", text, re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
    return {anchor if not i else f"{anchor}-{i}" for anchor, n in found.items() for i in range(n + 1)}


def broken(path):
    """The links of a page that lead nowhere. Of addresses on the web, only the form is checked."""
    found = []
    for target in links(path):
        if re.match(r"\w+:", target):
            if not re.fullmatch(r"https://[\w.-]+(/\S*)?", target):
                found.append(target)
            continue
        file, _, anchor = target.partition("#")
        linked = (path.parent / file).resolve() if file else path
        if not linked.exists() or (anchor and anchor not in anchors(linked)):
            found.append(target)
    return found


@pytest.mark.parametrize("path", [*PAGES, ROOT / "SECURITY.md"], ids=name)
def test_every_link_leads_somewhere(path):
    assert broken(path) == []


def test_a_broken_link_would_be_seen(tmp_path):
    page = tmp_path / "a.md"
    page.write_text("# One `two`, three\n[x](#one-two-three) [x](#one) [x](a.md#one-two-three) "
                    "[x](b.md) [x](http://x.org) [x](https://x.org/a) `[x](c.md)`\n"
                    "```\n[x](d.md)\n```\n")
    assert broken(page) == ["#one", "b.md", "http://x.org"]


def test_every_page_is_two_clicks_from_the_readme():
    def linked(path):
        return {(path.parent / target.partition("#")[0]).resolve() for target in links(path)}

    one = linked(README)
    two = one.union(*(linked(path) for path in one if path.suffix == ".md"))
    assert [name(path) for path in PAGES if path not in two | {README}] == []
    assert [name(path) for path in DOCS if path not in one] == []


def test_the_readme_is_short():
    assert len(README.read_text().splitlines()) <= 160


# ---- commands

def why_not(command):
    return next((why for pattern, why in NOT_RUN if re.match(pattern, command)), None)


def unstable(text):
    """Without times, which differ from run to run, and without what last bits decide, which differ
    from processor to processor: digits from the fifth decimal on, and some cases of a mistake."""
    text = re.sub(r"(\d\.\d{4})\d+", r"\1", plain(text))
    text = re.sub(r"\(\d+ of (\d+) failing cases\)", r"(SOME of \1 failing cases)", text)
    return re.sub(r"\d+(\.\d+)? (s|ms)\b", "TIME", text)


def shows(lines, said):
    """Whether a console has these lines: all that was said, in its order; ... stands for any lines."""
    pattern = "".join("(?:.*\n)*" if line == "..." else f"{re.escape(unstable(line))}\n" for line in lines)
    return re.fullmatch(pattern, "".join(f"{unstable(line)}\n" for line in said.splitlines()))


def follow(path, shell):
    """Runs the commands of a page in their order; of a console, compares what they print."""
    ran = 0
    for block in guide.blocks(path):
        where = f"{name(path)}:{block.line}"
        if block.language in SAVED and block.file_name:
            (Path(shell.folder) / block.file_name).write_text(block.text)
        elif block.language == "python" and not why_not(block.text):
            (Path(shell.folder) / "example.py").write_text(block.text)
            code, said = shell.run(f"{sys.executable} -B example.py")
            assert code == 0, f"{where}:\n{said}"
            ran += 1
        elif block.language in ("sh", "console"):
            said, ran_before = "", ran
            for line, command in block.commands:
                if why_not(command):
                    continue
                code, told = shell.run(command)
                said += told
                codes = (0, 1, 3) if re.match(FAILING, command) else (0,)
                assert code in codes, f"{name(path)}:{line}: {command}: {code}\n{told}"
                ran += 1
            if block.language == "console" and ran > ran_before:
                shown = "\n".join(block.output)
                assert shows(block.output, said), f"{where}: the page shows\n{shown}\nwhat came is\n{said}"
    return ran


@pytest.mark.parametrize("path", pages(
    [path for path in PAGES if name(path) not in TESTED_ELSEWHERE], lambda page: page not in QUICK))
def test_every_command_runs_and_prints_what_is_shown(path, tmp_path):
    folder = tmp_path / "prenorm"
    folder.mkdir()
    shell = guide.terminal(folder, folder, LINKED)
    has_commands = any(not why_not(command) for block in guide.blocks(path)
                       if block.language in ("sh", "console") for _, command in block.commands)
    assert (follow(path, shell) > 0) == has_commands


def test_other_output_would_be_seen(tmp_path):
    page = tmp_path / "a.md"
    page.write_text("```console\n$ echo one\none\n...\n```\n")
    shell = guide.Shell(tmp_path, tmp_path, {"PATH": "/usr/bin:/bin", "PYTHONPATH": ""})
    assert follow(page, shell) == 1
    shown = r"the page shows\s+(one\s+)?two\s+what came is"
    for text, told in [("```console\n$ echo one\ntwo\n```\n", shown),
                       ("```console\n$ true\ntwo\n```\n", shown),
                       ("```console\n$ printf 'one\\n1\\ntwo\\n'\none\ntwo\n```\n", shown),
                       ("```sh\nfalse\n```\n", "false: 1")]:
        page.write_text(text)
        with pytest.raises(AssertionError, match=told):
            follow(page, shell)


def test_blocks_are_of_the_known_kinds():
    known = {"sh", "console", "python", "cpp", "cuda", "cmake", "toml", "json", "csv", "yaml", "text", ""}
    begun = set()
    for path in PAGES:
        for block in guide.blocks(path):
            assert block.language in known, f"{name(path)}:{block.line}: {block.language}"
            if not block.language:
                begins = [each for each in NOT_CONSOLES if block.text.startswith(each)]
                assert begins, f"{name(path)}:{block.line}: what shows a program's words is a console"
                begun.update(begins)
    assert begun == set(NOT_CONSOLES)


@pytest.mark.slow
def test_the_table_of_all_solutions(monkeypatch):
    """docs/verdicts.md, as its maker would write it now; why a device does not run differs by machine."""
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(ROOT / "notebooks/readme")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    import make

    def anywhere(text):
        return [re.sub("SKIPPED: [^;]*;", "SKIPPED: WHY;", unstable(line)) for line in text.splitlines()]

    [table] = [block.text for block in guide.blocks(ROOT / "docs/verdicts.md") if not block.language]
    assert anywhere(table) == anywhere(make.table())


def test_commands_in_sentences_and_tables_have_the_options_that_they_name():
    """What stands in code within the text: `./prenorm verify --json FILE`."""
    helps = {}

    def help_of(words):
        if words not in helps:
            done = subprocess.run([program(), *words, "--help"], capture_output=True, text=True)
            helps[words] = done.stdout if done.returncode == 0 else ""
        return helps[words]

    seen = 0
    for path in PAGES:
        text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S)
        for code in re.findall(r"`((?:\./)?prenorm [a-z][^`]*)`", text):
            words = code.split()[1:]
            if words[0] in ("build", "clean", "help", "packages", "test", "version"):  # the launcher's own
                continue
            two = tuple(words[:2]) if len(words) > 1 and re.fullmatch("[a-z]+", words[1]) else None
            told = (two and help_of(two)) or help_of((words[0],))
            assert told, f"{name(path)}: `{code}`: no such command"
            for option in re.findall(r"(?<!\S)--([a-z][a-z-]*)", code):
                assert f"--{option}" in told, f"{name(path)}: `{code}`: no option --{option}"
            seen += 1
    assert seen > 40


# ---- the site

def test_the_workflow_builds_and_publishes_the_site():
    yaml = pytest.importorskip("yaml")
    text = (ROOT / ".github/workflows/site.yml").read_text()
    build, publish = yaml.safe_load(text)["jobs"].values()
    assert (build["container"], publish["needs"]) == ("debian:12", "build")
    [command] = [step["run"] for step in build["steps"] if "run" in step]
    launcher, *words = command.split()
    assert (ROOT / launcher).resolve() == ROOT / "prenorm"
    told = subprocess.run([program(), *words, "--jobs", "0"], capture_output=True, text=True).stderr
    assert "error: --jobs is 0" in told  # all else is understood
    assert build["steps"][-1]["with"]["path"] == "build/study"
    actions = re.findall(r"uses: (\S+) *(.*)", text)
    assert len(actions) == 3
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action) and re.match("# v", version) for action, version in actions)


def test_the_site_has_every_page_and_its_links_hold(tmp_path):
    pytest.importorskip("nbconvert")
    import documents

    found = documents.find(ROOT)
    notebooks = ("cuda_without_a_gpu", "puzzles")
    documents.render(ROOT, found, tmp_path,
                     {Path(f"notebooks/{each}.ipynb"): f"{each}.html" for each in notebooks})
    assert {name(ROOT / each.path) for each in found} >= {name(path) for path in DOCS}
    assert {ROOT / each.path for each in found} == set(PAGES) - {README}
    places = {each.file: set(re.findall(r' id="([^"]+)"', each.body)) for each in found}
    to_notebooks = set()
    for document in found:
        assert document.title and "<h1" not in document.body, document.path
        for target in re.findall(r'(?:href|src)="([^"]+)"', document.body):
            if re.match(r"\w+:", target):
                continue
            file, _, anchor = target.partition("#")
            file = file or document.file
            if file.removesuffix(".html") in notebooks:
                to_notebooks.add(file)
                continue
            assert file == "index.html" or file in places or (tmp_path / file).is_file(), (
                document.path, target)
            assert not anchor or anchor in places[file], (document.path, target)
    assert len(to_notebooks) == len(notebooks)


def test_an_anchor_is_made_as_github_makes_it():
    pytest.importorskip("nbconvert")
    import documents

    assert documents.anchor("10. What <code>verdicts</code> &amp; flags mean, here") == (
        "10-what-verdicts--flags-mean-here")
    for path in PAGES:
        for heading in re.findall(r"^#+ +(.*?) *$", without_code(path.read_text()), re.M):
            assert documents.anchor(heading) == documents.anchor(heading.replace("`", ""))
