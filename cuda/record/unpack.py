"""record.sh --unpack ARCHIVE... [--root CHECKOUT]: makes cuda/records/<device>/ of what record.sh
brought back, in one run or in several, of which the last word counts, and writes its figures where
they are told:

- cuda/records/kernels.csv: which of the kernels that are only launched after that passed here;
- README.md, between its marks: on which devices the kernels have run;
- docs/performance.md and harness/bench/README.md, likewise: a table for each device;
- the head of each kernel file: what each step of its ladder gained.

What `prenorm verify`, `show` and the study site say of a device they read from the records
themselves. Prints what is left to do by hand.
"""

import argparse
import json
import re
import shutil
import sys
import tarfile
import tempfile
import textwrap
from pathlib import Path

BEGIN, END = "<!-- device: cuda/record/unpack.py -->\n", "<!-- end of device -->\n"
# The sentence of a kernel file without figures, and what it becomes.
UNMEASURED = "The gain of each step has not been measured on a device yet."
MEASURED = r"Measured on [^:]+: (?:[^.]|\.\d)+\)\."
# The versions of a kernel by the solutions that have them, the first one first. Where all have names
# of their own, what is launched is one of them.
LADDER = {"cuda-naive": "v1", "cuda/v2": "v2", "cuda/v3": "v3", "cuda": "what is launched",
          "cuda/v4": "v4", "cuda/v5": "v5"}
# A kernel that is launched once it has passed: by these steps, and by the cases of this solution.
GATES = {"attention_wgmma": (("test_hopper_attention", "fixtures_cuda_v4"), "cuda-v4"),
         "linear_wgmma": (("test_hopper_product", "fixtures_cuda_v5"), "cuda-v5")}


# The archive ---------------------------------------------------------------------------------------

def rounded(text):
    """Five digits of a number: more tell nobody more, and there are some ten thousand."""
    return float(f"{float(text):.5g}")


def json_lines(path):
    """The objects of a file of lines, of which the last may be cut off."""
    objects = []
    for line in path.read_text(errors="replace").splitlines():
        try:
            objects.append(json.loads(line, parse_float=rounded))
        except json.JSONDecodeError:
            print(f"{path.name}: a line was cut off", file=sys.stderr)
    return objects


def device_folder(record):
    """The folder of the one device in a record; nothing where only benchmarks ran."""
    folders = [path for path in (record / "records").glob("*") if path.is_dir()]
    if not folders:
        return None
    if len(folders) != 1:
        sys.exit(f"record.sh: the archive has records of {len(folders)} devices, not of one")
    return folders[0]


def write_lines(path, objects):
    path.write_text("".join(json.dumps(each) + "\n" for each in objects))


def recorded_case(result):
    """A result as a device record has it."""
    case = {key: result[key] for key in ("status", "dtype", "seconds")}
    if result["message"] and result["status"] != "PASSED":
        case["message"] = result["message"]
    for error in ("max_abs_error", "max_ulp_error"):
        errors = [output[error] for output in result["outputs"] if output[error] is not None]
        if errors:
            numbers = [each for each in errors if not isinstance(each, str)]  # "Infinity", "NaN"
            case[error] = max(numbers) if len(numbers) == len(errors) else None
    return case


def complete(path, results, target):
    """Writes a device record with the results that a step which was cut off had by then."""
    record = json.loads(path.read_text(), parse_float=rounded)
    for result in results:
        if result["solution"] == record["solution"]:
            record["problems"].setdefault(result["problem"], {}).setdefault(
                result["case"], recorded_case(result))
    record["problems"] = {problem: ran for problem, cases in record["problems"].items() if (ran := {
        name: case for name, case in cases.items() if case["status"] != "NOT_IMPLEMENTED"})}
    target.write_text(text_of(record))


def text_of(record):
    """A device record as JSON, a line for each case."""
    problems = ",\n".join(
        f"  {json.dumps(problem)}: {{\n" + ",\n".join(
            f"   {json.dumps(name)}: {json.dumps(case)}" for name, case in cases.items()) + "\n  }"
        for problem, cases in record["problems"].items())
    head = json.dumps({**record, "problems": {}}, indent=1)
    return head.replace('"problems": {}', '"problems": {\n' + problems + "\n }") + "\n"


def keep(runs, records):
    """Fills records/<device> from the unpacked archives; returns that folder."""
    sources = [device_folder(run) for run in runs]
    names = {source.name for source in sources if source}
    if len(names) != 1:
        sys.exit("record.sh: the archives are of different devices, or of none")
    target = records / names.pop()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    by_step, rows = {}, {}
    for run, source in zip(runs, sources):
        own = {path.stem: json_lines(path) for path in sorted((run / "verify").glob("*.jsonl"))}
        stored = [each for step, results in own.items() if step.startswith("fixtures_")
                  for each in results]
        by_step |= own
        for path in source.glob("*.json") if source else ():
            complete(path, stored, target / path.name)
        if (run / "counters.csv").exists():
            shutil.copy(run / "counters.csv", target)
        with (target / "summary.txt").open("a") as summary:
            summary.write((run / "summary.txt").read_text() + "\n" * (run != runs[-1]))
        for path in sorted((run / "bench").glob("*.jsonl")):
            for row in json_lines(path):
                key = tuple(row.get(name) for name in ("shape", "dtype", "contestant"))
                if "contestant" in row and (row["seconds"] or key not in rows):
                    rows[key] = row
    write_lines(target / "bench.jsonl", rows.values())
    write_lines(target / "failures.jsonl",
                [each for results in by_step.values() for each in results
                 if each["status"] not in ("PASSED", "SKIPPED", "NOT_IMPLEMENTED")])
    return target


# Kernels that are launched once they have passed ---------------------------------------------------

def outcome(summary, folder, kernel):
    """"passed" or "failed"; nothing where the kernel did not run, or not to the end."""
    steps, solution = GATES[kernel]
    path = folder / f"{solution}.json"
    if not path.exists():
        return ""
    problems = json.loads(path.read_text())["problems"].values()
    statuses = {case["status"] for cases in problems for case in cases.values()}
    ran = statuses - {"SKIPPED", "NOT_IMPLEMENTED"}
    verdicts = dict(re.findall(r"^(\S+) +(passed|FAILED|cut off)", summary, re.M))
    if ran and (ran != {"PASSED"} or "FAILED" in [verdicts.get(step) for step in steps]):
        return "failed"
    return "passed" if ran and all(verdicts.get(step) == "passed" for step in steps) else ""


def write_kernels(record, target, device):
    """A line of records/kernels.csv for each kernel that ran; of an earlier record that this one
    replaces none is left."""
    digests = record / "kernels.csv"  # of the sources that ran
    summary = (target / "summary.txt").read_text()  # of all runs
    path = target.parent / "kernels.csv"
    lines = [line for line in path.read_text().splitlines() if not line.endswith(f",{target.name}")]
    for line in digests.read_text().splitlines() if digests.exists() else []:
        kernel, digest = line.split(",")
        if result := outcome(summary, target, kernel):
            lines.append(",".join([kernel, digest, result, device.architecture, device.date,
                                   target.name]))
    path.write_text("\n".join(lines) + "\n")


class Device:
    """A device's records."""

    def __init__(self, folder):
        of_solution = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
        self.name = of_solution[0]["device"]["name"]
        self.architecture = of_solution[0]["device"]["compute_capability"]
        self.date = max(each["date"] for each in of_solution)
        self.solutions = {each["solution"]: each["problems"] for each in of_solution}
        bench = folder / "bench.jsonl"
        self.rows = json_lines(bench) if bench.exists() else []

    def passed(self, solution):
        """(how many cases of the solution passed, of how many that ran)"""
        statuses = [case["status"] for cases in self.solutions.get(solution, {}).values()
                    for case in cases.values()]
        ran = [status for status in statuses if status not in ("SKIPPED", "NOT_IMPLEMENTED")]
        return ran.count("PASSED"), len(ran)

    def times(self, place="device"):
        return [row for row in self.rows if row["seconds"] and row["place"] == place]


# Tables --------------------------------------------------------------------------------------------

def milliseconds(row):
    return f"{row['seconds']['median'] * 1e3:.3g}"


def rate(row):
    by_product = row["ceiling"] == "product"
    value = row["flops_per_second" if by_product else "bytes_per_second"]
    return f"{value / 1e12:.3g} T{'FLOP' if by_product else 'B'}/s"


def ratio(row, rival):
    """This row's time over that of PyTorch's: of eager, or the fastest."""
    found = {name: value for name, value in row["ratios"].items() if name.startswith("pytorch")}
    if rival != "fastest":
        found = {name: value for name, value in found.items() if name.endswith(rival)}
    return f"{max(found.values()):.2f}" if found else "–"


def table(device):
    """Our rows at the shapes for a device."""
    lines = [f"{device.name}, {device.date}; medians; a share is of the machine's own copy or product, a "
             "ratio is our time over PyTorch's, below 1 is faster:", "",
             "| `bench --shape` | dtype | solution | ms | rate | share | / eager | / fastest |",
             "|---|---|---|---|---|---|---|---|"]
    seen = set()
    for row in device.times():
        key = row["shape"], row["dtype"], row["contestant"]
        if row["peer"] or row["shape"].startswith("cpu_") or key in seen:
            continue
        seen.add(key)
        share = f"{row['share']:.0%}" if row.get("share") else "–"
        lines.append("| " + " | ".join([*key, milliseconds(row), rate(row), share,
                                         ratio(row, "eager"), ratio(row, "fastest")]) + " |")
    return lines


def tables(devices):
    blocks = ["\n".join(table(device)) for device in devices if device.times()]
    return "\n\n".join(blocks) if blocks else "Nothing has been measured on a device yet."


def told_at_first(devices):
    """Of the README: which devices, and how many cases of what is launched passed there."""
    said = ["The kernels have run on devices:", ""]
    for device in devices:
        passed, ran = device.passed("cuda")
        times = ", [times](docs/performance.md)" if device.times() else ""
        said.append(f"- {device.name}, {device.date}: {passed} of {ran} cases of `cuda` passed{times}")
    return "\n".join(said)


def write_block(path, text):
    """Between the marks of a page."""
    page = path.read_text()
    before, rest = page.split(BEGIN)
    after = rest.split(END, 1)[1]
    path.write_text(before + BEGIN + text + "\n" + END + after)


# Ladders -------------------------------------------------------------------------------------------

def problems_of(source):
    return re.findall(r"^PRENORM_CUDA_EXPORT\((\w+),", source, re.M)


def gains(device, problems):
    """"v2 3.1 times as fast as v1, what is launched 1.4 times as fast as v2 (cpu_rmsnorm, float32)",
    of the measurement with the most versions, the first of them."""
    by_shape = {}
    for row in device.times():
        if row["problem"] in problems and row["contestant"] in LADDER:
            key = problems.index(row["problem"]), row["shape"], row["dtype"]
            by_shape.setdefault(key, {})[row["contestant"]] = row
    best, told = [], ""
    for (_, shape, dtype), rows in sorted(by_shape.items(), key=lambda item: item[0][0]):
        if "cuda/v4" in rows:  # then "cuda" is that, or v3
            rows.pop("cuda", None)
        steps = [(LADDER[name], rows[name]) for name in LADDER if name in rows]
        if "cuda-naive" not in rows or len(steps) <= max(len(best), 1):
            continue
        best = steps
        told = ", ".join(f"{name} {before['seconds']['median'] / now['seconds']['median']:.3g} times as "
                         f"fast as {earlier}" for (earlier, before), (name, now) in zip(steps, steps[1:]))
        told += f" ({shape}, {dtype})"
    return told


def write_ladder(path, devices):
    """Puts the gains in the place of the sentence that there are none yet, or of earlier ones."""
    text = path.read_text()
    head, mark, rest = text.partition("\n#include")
    told = [(device, gains(device, problems_of(text))) for device in devices]
    told = [f"Measured on {device.name}: {gain}." for device, gain in told if gain]
    if not told:
        return False
    paragraphs = head.split("\n//\n")
    for i, paragraph in enumerate(paragraphs):
        words = " ".join(paragraph.replace("\n// ", " ").removeprefix("// ").split())
        if re.search(rf"{re.escape(UNMEASURED)}|{MEASURED}", words) and "   v1" not in paragraph:
            words = re.sub(rf"(?:{re.escape(UNMEASURED)}|{MEASURED})(?: {MEASURED})*",
                           lambda _: " ".join(told), words, count=1)
            paragraphs[i] = "\n".join("// " + line for line in textwrap.wrap(
                words, 97, break_on_hyphens=False, break_long_words=False))
            path.write_text("\n//\n".join(paragraphs) + mark + rest)
            return True
    return False


# -----------------------------------------------------------------------------------------------------

def unpack(archives, root):
    records = root / "cuda/records"
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for number, archive in enumerate(archives):
            with tarfile.open(archive) as tar:
                tar.extractall(Path(folder) / str(number), [
                    member for member in tar if member.isfile() and
                    member.name.startswith("record/") and ".." not in member.name])
            runs.append(Path(folder) / str(number) / "record")
        target = keep(runs, records)
        write_kernels(runs[-1], target, Device(target))
    devices = [Device(path) for path in sorted(records.iterdir()) if path.is_dir()]
    write_block(root / "README.md", told_at_first(devices))
    for page in ("docs/performance.md", "harness/bench/README.md"):
        write_block(root / page, tables(devices))
    ladders = [path.name for path in sorted((root / "cuda").glob("*.cu"))
               if write_ladder(path, devices)]
    rows = json_lines(target / "bench.jsonl")
    failures = json_lines(target / "failures.jsonl")
    print(f"{target}: {len(rows)} rows of bench, {len(failures)} cases failed"
          + (", see failures.jsonl" if failures else ""))
    print(f"ladders: {', '.join(ladders) or 'none'}")
    print("left: notebooks/readme/make.py (the table of docs/verdicts.md), ./prenorm study, and these "
          "sentences:")
    for path in [records / "README.md", *sorted((root / "cuda").glob("*.cu")),
                 *sorted((root / "docs").glob("*.md"))]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(r"on a device yet|[Nn]ot run on a device|nothing here has run", line):
                print(f"  {path.relative_to(root)}:{number}: {line.strip()}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="record.sh --unpack", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archives", metavar="ARCHIVE", nargs="+", type=Path)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent.parent)
    arguments = parser.parse_args()
    unpack(arguments.archives, arguments.root)
