# labels: unit
"""Completion in bash, zsh and fish, and the manual page: both are of what --help prints."""

import os
import pty
import re
import select
import shutil
import subprocess

import pytest

from places import ROOT, found_some

LAUNCHER = ROOT / "prenorm"
HELP = ROOT / "harness/cli/help"
PAGES = {path.relative_to(HELP).with_suffix("").as_posix(): path.read_text()
         for path in found_some(HELP.rglob("*.txt"))}
OWN = {name for name, text in PAGES.items() if text.startswith("usage: ./prenorm")}  # the launcher's


@pytest.fixture(params=["launcher", "program"])
def command(request, program):
    return LAUNCHER if request.param == "launcher" else program


def words(command, *typed):
    """{word: what it means} for the last of the words."""
    done = subprocess.run([command, "completion", "--", *typed], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return dict(line.split("\t") if "\t" in line else (line, None) for line in done.stdout.splitlines())


def test_all_options_of_all_commands(command):
    for name, text in PAGES.items():
        if command != LAUNCHER and name in OWN:
            continue
        options = set(re.findall(r"^  (?:-\w, ?)?(--[\w-]+)", text, re.M))
        assert set(words(command, *name.split("/"), "--")) == options, name


def test_all_commands(command):
    commands = words(command, "")
    top = {name for name in PAGES if "/" not in name}
    assert set(commands) == (top | {"help", "version"} if command == LAUNCHER else top - OWN)
    assert all(commands.values())
    assert set(words(command, "fixtures", "")) == {"make", "check", "calibrate", "export"}
    assert words(command, "fixtures", "ch") == {"check": "Report defects in fixture files"}
    assert set(words(command, "gradebook", "class.sqlite", "s")) == {"set", "similar", "FILE"}
    assert words(command, "nonsense", "") == {}


def files(pattern):
    return {path.stem for path in found_some(ROOT.glob(pattern))}


@pytest.mark.parametrize("typed, found", [
    ("verify --problem ", files("fixtures/*.h5")),
    ("verify --problem=rms", {"--problem=rmsnorm"}),
    ("show ro", {"rope", "FILE"}),
    ("profile rop", {"rope"}),
    ("verify --dtype float64 --dtype bf", {"bfloat16"}),
    ("grade mine --sandbox ", {"bubblewrap", "process", "none"}),
    ("grade mine --rubric ", files("fixtures/rubrics/*.toml") | {"FILE"}),
    ("new mine --language ", {"cpp", "cuda", "python", "triton"}),
    ("verify --solution refe", {"reference", "FILE"}),
    ("fixtures make --textbook refe", {"reference"}),
    ("study --notebook rmsn", {"rmsnorm"}),
    ("verify --json ", {"FILE"}),
    ("verify --json=", {"FILE"}),
    ("grade --roster ", {"FILE"}),
    ("grade ", {"FILE"}),
    ("diff a.h5 ", {"FILE"}),
    ("emulate a.cu -- --", {"FILE"}),
    ("emulate -o ", {"FILE"}),
    ("verify --seed ", set()),
    ("verify --case ", set()),
    ("verify --verbose ", set()),
    ("completion ", {"bash", "zsh", "fish"}),
])
def test_values(command, typed, found):
    assert set(words(command, *typed.split(" "))) == found


@pytest.mark.parametrize("typed, found", [
    ("build veri", {"verify"}), ("help fixtures ma", {"make"}), ("packages ", {"study", "test", "all"}),
    ("test --pa", {"--part"}), ("clean ", set())])
def test_the_launchers_own(typed, found):
    assert set(words(LAUNCHER, *typed.split(" "))) == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_a_file(command, shell):
    done = subprocess.run([command, "completion", shell], capture_output=True, text=True)
    assert done.stdout == (ROOT / f"harness/cli/completion/prenorm.{shell}").read_text()
    assert (done.returncode, done.stderr) == (0, "")


def test_a_shell_has_to_be_named(command):
    for typed in ([], ["tcsh"]):
        done = subprocess.run([command, "completion", *typed], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "") and "bash" in done.stderr and done.stderr.count("\n") == 1


def of_bash(folder, command, *typed):
    """COMPREPLY, where bash has taken the line apart into these words."""
    script = ('eval "$("$1" completion bash)"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              '_prenorm "$1"; printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "--norc", "-c", script, "bash", command, command, *typed], capture_output=True,
                          text=True, cwd=folder, check=True)
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


def test_bash(command, tmp_path):
    (tmp_path / "out here.json").touch()
    for typed, found in ((["ver"], ["verify"]), (["verify", "--json-"], ["--json-lines"]),
                         (["verify", "--json", "out"], ["out here.json"]),
                         (["verify", "--json", "=", "out"], ["out here.json"]),
                         (["list", "--rubric", "=", "str"], ["strict"]),
                         (["grade", "x", "--executor", "="], ["local", "slurm"]), (["list", "--seed", ""], [""])):
        got = of_bash(tmp_path, command, *typed)
        assert [each for each in got if each != "version"] == found, typed


def test_fish(command, tmp_path):
    if not shutil.which("fish"):
        pytest.skip("there is no fish (Debian: fish)")
    (tmp_path / "out.json").touch()
    for typed, found in (("fixtures ch", "check\tReport defects in fixture files"),
                         ("verify --json-", "--json-lines\tWrite each result as a line of JSON as soon as its file is done"),
                         ("verify --json o", "out.json"), ("verify --json=o", "--json=out.json"),
                         ("list --rubric=str", "--rubric=strict"), ("list --seed ", "")):
        done = subprocess.run(["fish", "--no-config", "-c", '"$argv[1]" completion fish | source; complete -C "$argv"',
                               command, typed], capture_output=True, text=True, cwd=tmp_path, check=True,
                              env={**os.environ, "HOME": str(tmp_path)})
        assert (done.stdout.strip(), done.stderr) == (found, ""), typed


START = {"bash": ("bash --norc -i", "PS1='go> ' PATH=$PWD/bin:$PATH; eval \"$(prenorm completion bash)\""),
         "zsh": ("zsh -f -i", "PROMPT='go> ' PATH=$PWD/bin:$PATH; autoload -U compinit; compinit -u -D; "
                              "eval \"$(prenorm completion zsh)\""),
         "fish": ("fish --no-config -i", "function fish_prompt; echo -n 'go> '; end; set PATH $PWD/bin $PATH; "
                                         "prenorm completion fish | source")}


def typed_in_a_terminal(shell, folder, line, wanted):
    """What a terminal shows after the line was typed, up to the text that is wanted."""
    argv, setup = START[shell][0].split(), START[shell][1]
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execvpe(argv[0], argv, {**os.environ, "TERM": "xterm", "HOME": str(folder)})
    try:
        shown = b""

        def wait(text):
            nonlocal shown
            while text.encode() not in shown and select.select([terminal], [], [], 60)[0]:
                try:
                    shown += os.read(terminal, 65536)
                except OSError:
                    return
        os.write(terminal, f"{setup}; echo rea''dy\n".encode())
        wait("ready\r")
        shown = shown.partition(b"ready\r")[2]
        wait("go> ")
        os.write(terminal, f"{line}\r".encode())
        wait(wanted)
        return shown.decode(errors="replace")
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_tab_in_a_terminal(shell, tmp_path):
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell} (Debian: {shell})")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/prenorm").write_text(
        f'#!/bin/sh\ncase $1 in completion) exec {LAUNCHER} "$@" ;; *) echo "ran $*." ;; esac\n')
    (tmp_path / "bin/prenorm").chmod(0o755)
    (tmp_path / "some where.so").touch()
    for line, ran in (("prenorm show rmsn\t", "show rmsnorm"), ("bin/prenorm fixtures expo\t", "fixtures export"),
                      ("~/bin/prenorm verify --probl\tx", "verify --problem x"),
                      ("./bin/prenorm grade some\t", "grade some where.so")):
        assert f"ran {ran}." in typed_in_a_terminal(shell, tmp_path, line, f"ran {ran}.")


def test_the_manual_page(home):
    page = (home / "share/man/man1/prenorm.1").read_text()
    assert re.match(r'\.TH PRENORM 1 "" "prenorm [\d.]+"\n\.SH NAME\nprenorm \\- ', page)
    plain = page.replace("\\fB", "").replace("\\fR", "").replace("\n\\&.", "\n.").replace("\\-", "-").replace(
        "\\(aq", "'").replace("\\e", "\\")
    assert sorted(re.findall(r"^\.SS (.*)$", page, re.M)) == sorted(
        name.replace("/", " ") for name in set(PAGES) - OWN)
    for name in set(PAGES) - OWN:
        assert f".SS {name.replace('/', ' ')}\n.nf\n{PAGES[name]}.fi\n" in plain
    # What troff takes for a command is one of these.
    assert set(re.findall(r"^[.'](\w*)", page, re.M)) == {"TH", "SH", "SS", "B", "I", "nf", "fi"}
