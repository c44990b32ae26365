#!/usr/bin/env python3
"""Mutation testing: changes one operator, constant, condition or statement of the C++ that judges, builds,
and runs the quick tests until one fails. A tool, not a test:

    tests/repository/mutate.py --seed 1 --count 200 --out build/mutants.csv
    tests/repository/mutate.py --file harness/replay/fresh.cpp --line 141 --list

A mutant is `killed`, by which test; or it `survived` all (`survived the room`: --room-only); or it is
`not compiled`, which counts for nothing. Rows that the CSV has are skipped. It works on a copy of the tree,
BUILD/source. Tests run in a box, to which the rest of the machine is read-only and which no signal leaves: a
mutated sandbox lets attacks through. For two at a time, start two, of other rooms, with a BUILD each.
"""

import argparse
import csv
import fcntl
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from mutations import sites

ROOT = Path(__file__).resolve().parents[2]
# Of a room: what its suites need to be built; its suites; the tests of programs that reach it first. Then
# all other quick tests follow. The cheapest of each come first.
ROOMS = {
    "harness/fixture": ("test_harness", "compare|draw|dtype|fixture|signature|verdict|replay|calibrate|solution",
                        "fixtures_export|fixture_commands|verify|cli|make_fixtures"),
    "harness/replay": ("test_harness test_grading", "replay|calibrate|yardsticks|explanation|laws",
                       "fixture_commands|verify|cli|mistakes_command|grade_hidden|make_fixtures|mistakes"),
    "harness/grade": ("test_grading", "accepted|adapters|grade_settings|rubric|submission|turns|gradebook|report",
                      "grade.*|budget|snippet|elf_imports|compile_errors|course_folder|kept_builds|printed"),
    "harness/explain": ("test_grading", "explanation|known_mistakes|laws|report",
                        "verify|mistakes_command|grade_mistakes|grade_report|mistake_words"),
    "harness/sandbox": ("test_harness test_grading", "sandbox|process|solution|device",
                        "sandbox_page|python_worker|forbidden_calls|grade|exploits|exploits_files"),
    "reference": ("test_reference test_fast test_combinations", "(fast_)?(activations|attention|combinations|element_types|embedding|"
                  "feed_forward|linear|modules|multihead_self_attention|rmsnorm|rope|softmax|tensors|"
                  "transformer_block|transformer_lm)", "verify|generate|mistakes|make_fixtures"),
}
HAVE_FIXTURES = ("harness/fixture", "harness/replay", "reference")  # in what tests labelled so run
LEFT_OUT = ("reference/mistakes/", "reference/examples/")  # wrong on purpose; a program of its own
# Tests of other things, of the sources' text, and attacks that would use up the machine.
NEVER = re.compile("/(repository|cuda|emulator|record)/|test_(spelling|docs|exploits_resources)")
BOX = """mount --bind "$0" "$0"; mount -t tmpfs tmpfs /tmp; mount -o remount,bind,ro /
cd "$1"; shift; export HOME=/tmp PRENORM_REQUIRE_SANDBOX=1; exec "$@" """
MUTANT = ["room", "file", "line", "column", "kind", "before", "after", "text"]
RESULT = ["result", "test", "build_seconds", "test_seconds", "processor_seconds"]


def mutants_of(room, file):
    text = (ROOT / file).read_text()
    for kind, start, end, new in sites(text):
        line = text.rfind("\n", 0, start) + 1
        yield {"room": room, "file": file, "line": text.count("\n", 0, start) + 1, "column": start - line + 1,
               "kind": kind, "before": text[start:end], "after": new, "start": start,
               "text": text[line:text.index("\n", start)].strip()}


def chosen(options):
    """As many of each room, at random: a greater --count adds to a smaller."""
    rooms = []
    for room in ROOMS:
        files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / room).rglob("*.[hc]pp"))
        files = [file for file in files if not file.startswith(LEFT_OUT) and options.file in (None, file)
                 and file.startswith(tuple(options.only or [""]))]
        some = [mutant for file in files for mutant in mutants_of(room, file)
                if options.line in (None, mutant["line"])]
        random.Random(f"{options.seed} {room}").shuffle(some)
        rooms.append(some)
    turns = [some[i] for i in range(max(map(len, rooms))) for some in rooms if i < len(some)]
    return sorted(turns[:options.count], key=lambda it: (list(ROOMS).index(it["room"]), it["file"], it["start"]))


class Tree:
    """The copy, its build, and its tests."""

    def __init__(self, folder):
        self.folder, self.source, self.build = folder, folder / "source", folder / "source/build/release"
        self.build.mkdir(parents=True, exist_ok=True)
        names = subprocess.check_output(["git", "-C", ROOT, "ls-files", "-zco", "--exclude-standard"], text=True)
        wanted = {name for name in names.split("\0") if (ROOT / name).is_file()}
        for name in wanted:
            content = (ROOT / name).read_bytes()
            if not (self.source / name).is_file() or (self.source / name).read_bytes() != content:
                (self.source / name).parent.mkdir(parents=True, exist_ok=True)
                (self.source / name).write_bytes(content)
                shutil.copymode(ROOT / name, self.source / name)
        for path in [path for top in self.source.iterdir() if top.name != "build" for path in top.rglob("*")]:
            if path.is_file() and path.relative_to(self.source).as_posix() not in wanted:
                path.unlink()
        # What is changed is compiled source by source, all else as in a build that the compiler's cache has.
        libraries = " ".join(f"prenorm_{Path(room).name}" for room in ROOMS if room != "reference")
        alone = folder / "alone.cmake"
        if not (self.build / "build.ninja").exists():
            alone.write_text("cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL set_target_properties\n"
                             f"               {libraries} PROPERTIES UNITY_BUILD OFF)\n")
            subprocess.run(["cmake", "--preset", "release", f"-DCMAKE_PROJECT_prenorm_INCLUDE={alone}"],
                           cwd=self.source, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["ninja", "-C", self.build, "build.ninja"], check=True, stdout=subprocess.DEVNULL)
        (self.build / "targets.ninja").write_text("include build.ninja\n")  # a change does not configure anew
        self.times_file = folder / "times.json"  # of unchanged tests, in seconds; null: it fails
        self.times = json.loads(self.times_file.read_text()) if self.times_file.exists() else {}
        self.find_tests()

    def find_tests(self):
        shown = json.loads(subprocess.check_output(["ctest", "--show-only=json-v1"], cwd=self.build))
        self.command = {test["name"]: test.get("command", [""]) for test in shown["tests"]}  # none before it is built
        self.labels = {test["name"]: {label for item in test["properties"] if item["name"] == "LABELS"
                                      for label in item["value"]} for test in shown["tests"]}

    def make(self, targets):
        """Whether it compiles. The compiler's cache is read only: no mutant comes again."""
        done = subprocess.run(["ninja", "-C", self.build, "-f", "targets.ninja", "-j1", *targets.split()],
                              capture_output=True, text=True, env={**os.environ, "CCACHE_READONLY": "1"})
        self.log = done.stdout[-3000:]
        return done.returncode == 0

    def passes(self, test, timeout):
        def limit():
            resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))
            Path("/proc/self/oom_score_adj").write_text("1000")  # ended before all else on this machine
        own_root = [] if os.geteuid() == 0 else ["--map-root-user"]
        try:
            return subprocess.run(["unshare", *own_root, "--pid", "--fork", "--kill-child", "--mount", "--mount-proc",
                                   "sh", "-ec", BOX, self.folder, self.build,
                                   "ctest", "-Q", "-R", f"^{test}$"],
                                  timeout=timeout, preexec_fn=limit, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def stages(self, room, room_only):
        """(targets, tests) of the room's suites, of programs, of all else."""
        skip = {"slow", "cuda", "emulated", "notebooks"} | (set() if room in HAVE_FIXTURES else {"fixtures"})
        quick = [name for name in self.command if not skip & self.labels[name]
                 and not NEVER.search(self.command[name][-1])]
        targets, *patterns = ROOMS[room]
        suites = [name for name in quick if re.fullmatch(patterns[0], name)]
        programs = [name for name in quick if re.fullmatch(patterns[1], name) and name not in suites]
        rest = [name for name in quick if name not in suites + programs]
        return [(targets, suites), ("all", programs)] + ([] if room_only else [("all", rest)])

    def prepare(self, room, room_only):
        """Builds what the room needs, and takes the times of tests that have none."""
        for targets, tests in self.stages(room, room_only):
            if not self.make(targets):
                sys.exit(f"{targets} does not build:\n{self.log}")
            self.find_tests()
            for test in tests:
                if test not in self.times:
                    start = time.monotonic()
                    passed = self.passes(test, 900)
                    self.times[test] = round(time.monotonic() - start, 2) if passed else None
                    self.times_file.write_text(json.dumps(self.times, indent=1) + "\n")
                    if not passed:
                        print(f"left out, as it fails without a change: {test}", file=sys.stderr)

    def judge(self, mutant, room_only):
        """What becomes of it, as RESULT."""
        path, changed, spent = self.source / mutant["file"], time.time(), [0.0, 0.0, 0.0]

        def timed(index, call, *words):
            start, cpu = time.monotonic(), sum(os.times()[2:4])
            done = call(*words)
            spent[index] += time.monotonic() - start
            spent[2] += sum(os.times()[2:4]) - cpu
            return done

        text, start, before = path.read_text(), mutant["start"], mutant["before"]
        try:
            path.write_text(text[:start] + mutant["after"] + text[start + len(before):])
            for targets, tests in self.stages(mutant["room"], room_only):
                if not timed(0, self.make, targets):
                    return "not compiled", "", *spent
                for test in sorted(filter(self.times.get, tests), key=self.times.get):
                    program = Path(self.command[test][0])
                    if program.is_relative_to(self.build) and program.name != "test_grading" \
                            and program.stat().st_mtime < changed:  # but its laws call references
                        continue
                    if not timed(1, self.passes, test, 30 + 5 * self.times[test]):
                        return "killed", test, *spent
            return "survived the room" if room_only else "survived", "", *spent
        finally:
            path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/mutants", help="the folder of the copy")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200, help="of all rooms")
    parser.add_argument("--only", action="append", help="files that begin so: harness/grade")
    parser.add_argument("--file")
    parser.add_argument("--line", type=int)
    parser.add_argument("--list", action="store_true", help="only say what would be changed")
    parser.add_argument("--room-only", action="store_true", help="without the tests of other rooms")
    parser.add_argument("--out", type=Path, default=ROOT / "build/mutants.csv")
    options = parser.parse_args()
    words = "{file}:{line}:{column}: {kind}: {before!r} -> {after!r}"
    mutants = chosen(options)
    if options.list:
        print(*(words.format(**mutant) for mutant in mutants), sep="\n")
        return
    folder = options.build.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    with options.out.open("a+", newline="") as out, (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        out.seek(0)
        done = {tuple(row[name] for name in MUTANT) for row in csv.DictReader(out)
                if options.room_only or row["result"] != "survived the room"}
        mutants = [mutant for mutant in mutants if tuple(str(mutant[name]) for name in MUTANT) not in done]
        writer = csv.DictWriter(out, MUTANT + RESULT, extrasaction="ignore")
        if not out.tell():
            writer.writeheader()
        tree = Tree(folder)
        room = None
        for mutant in mutants:
            if room != mutant["room"]:
                room = mutant["room"]
                tree.prepare(room, options.room_only)
            result, test, *seconds = tree.judge(mutant, options.room_only)
            writer.writerow({**mutant, **dict(zip(RESULT, [result, test, *(f"{one:.1f}" for one in seconds)]))})
            out.flush()
            print(words.format(**mutant), result, test, *(f"{one:.0f} s" for one in seconds), flush=True)


if __name__ == "__main__":
    main()
