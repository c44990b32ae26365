"""What is handed in to attack the grading: the files of tests/submissions/exploits, made ready, and
files of outputs."""

import os
import tomllib
import zlib
from functools import cache

import h5py
import numpy as np

from places import ROOT, SUBMISSIONS, built

EXPLOITS = SUBMISSIONS / "exploits"
FEW = ["one_axis_*", "many_terms_float32"]


def read_manifest():
    """{name: what its line says, the usual put in}; and the names of those that launch kernels."""
    sources = tomllib.loads((EXPLOITS / "manifest.toml").read_text())
    found = {}
    for source, attacks in sources.items():
        for name, facts in attacks.items():
            file = {"alone": f"{name}.cpp", "builds": f"builds/{name}.cmake"}.get(source, source)
            found[name] = {"source": file, "rows": [int(name[:2])], "fakes": "softmax",
                           "statuses": ["INCORRECT_NUMERICAL", *facts.get("also", [])], "honest": True,
                           "cases": FEW if facts.get("few") else [], **facts}
    return found, list(sources["kernels.cu"])


EVERY, KERNELS = read_manifest()
ATTACKS = {name: attack for name, attack in EVERY.items() if name not in KERNELS}
CRAFTED = sorted((ROOT / "tests/fixtures/corpus/hdf5").glob("*.h5"))


def write_over(data, known):
    """Puts what an attack knows in the place of the words: in a library, where there is room for
    255 bytes, or in text."""
    for name, value in known.items():
        word, new = f"@{name}@".encode(), value.encode()
        room = word + bytes(256 - len(word))
        data = data.replace(room, new + bytes(256 - len(new)))
        data = data.replace(word, new)
    return data


@cache
def widths():
    """Of the axes that softmax's visible cases go along."""
    with h5py.File(ROOT / "fixtures/softmax.h5") as file:
        cases = [case for case in file["cases"].values() if "error" not in case.attrs]
        return sorted({case["inputs/x"].shape[case.attrs["dim"]] for case in cases if case["inputs/x"].ndim})


def hand_in(name, known, folder):
    """The submission, in a folder of its own, with all that its attack needs to know."""
    known = {"ATTACK": name, "WIDTHS": " ".join(map(str, widths())), **known}
    source = EXPLOITS / EVERY[name]["source"]
    parts = {name: source}
    if source.suffix in (".cpp", ".cu"):
        parts = {f"{name}.so": built("exploit") / source.with_suffix(".so").name}
    elif source.suffix == ".cmake":
        parts = {f"{name}/CMakeLists.txt": source, f"{name}/found.cpp": source.parent / "found.cpp",
                 f"{name}/attack.hpp": EXPLOITS / "attack.hpp"}
    for to, part in parts.items():
        (folder / to).parent.mkdir(parents=True, exist_ok=True)
        (folder / to).write_bytes(write_over(part.read_bytes(), known))
    if name == "38_links":
        make_links(folder / name)
    [made] = folder.iterdir()
    return made


def make_links(folder):
    for name, target in {"answers": ROOT / "fixtures", "up": "../" * 12 + str(ROOT), "root": "/",
                         "shadow": "/etc/shadow", "loop": ".", "broken": "nowhere/at/all",
                         "endless": "/dev/zero", "itself": "itself"}.items():
        (folder / name).symlink_to(target)
    os.mkfifo(folder / "pipe")
    with open(folder / "sparse", "wb") as file:
        file.truncate(1 << 40)
    (folder / "a name\nwith \x1b[2J lines and <b>markup").write_text("")


def honest_outputs(path, problem):
    """A file with the stored answers: of the honest problem."""
    types = {"float64": "f8", "float32": "f4", "float16": "f2"}
    with h5py.File(ROOT / "fixtures" / f"{problem}.h5") as fixture, h5py.File(path, "w") as file:
        file.attrs["problem"] = problem
        for name, case in fixture["cases"].items():
            if "outputs" not in case:
                continue
            y = case["outputs/y"]
            if y.attrs["dtype"] in types:
                file[f"cases/{name}/outputs/y"] = y[()].astype(types[y.attrs["dtype"]])


def every_case(file):
    """The fixture's cases of softmax, each with the group that its output belongs into."""
    with h5py.File(ROOT / "fixtures/softmax.h5") as fixture:
        for name, case in fixture["cases"].items():
            if "outputs" in case:
                yield (f"{ROOT}/fixtures/softmax.h5", f"/cases/{name}/outputs/y",
                       case["outputs/y"].shape, file.require_group(f"cases/{name}/outputs"))


def external_links(file):
    for path, inside, _, group in every_case(file):
        group["y"] = h5py.ExternalLink(path, inside)


def external_group(file):
    file["cases"] = h5py.ExternalLink(f"{ROOT}/fixtures/softmax.h5", "/cases")


def soft_links(file):
    file["answers"] = h5py.ExternalLink(f"{ROOT}/fixtures/softmax.h5", "/cases")
    for _, inside, _, group in every_case(file):
        group["y"] = h5py.SoftLink(inside.replace("/cases", "/answers"))


def virtual_datasets(file):
    for path, inside, shape, group in every_case(file):
        layout = h5py.VirtualLayout(shape, "f8")
        if 0 not in shape:
            layout[...] = h5py.VirtualSource(path, inside, shape, "f8")
        if hasattr(layout, "dcpl"):  # no date in it, so that the same file is written every time
            layout.dcpl.set_obj_track_times(False)
        group.create_virtual_dataset("y", layout)


def external_storage(file):
    for path, _, shape, group in every_case(file):
        if 0 not in shape:
            group.create_dataset("y", shape, "f8", external=[(path, 2048, h5py.h5f.UNLIMITED)])


def promised_petabyte(file):
    group = file.create_group("cases/by_hand_float32/outputs")
    group.create_dataset("y", (1 << 40, 1 << 10), "f4", chunks=(1 << 10, 1 << 10))


def hostile_names(file):
    for name in ("<script>document.title='HACKED'</script>", "\x1b[2J\x1b[32mPASSED", "..", "%s%n",
                 "n" * 60_000):
        file[f"cases/{name}/outputs/y"] = np.zeros(3)


def loops(file):
    file["cases/one/outputs/y"] = np.zeros(3)
    file["cases/one/outputs/again"] = file["cases"]


def zeros(group, name, shape, chunks, times=1, written=1):
    """A dataset of float32 zeros in chunks that are deflated `times` times; `written` of them are
    there, one behind the other along the first axis."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk(chunks)
    plist.set_obj_track_times(False)  # so that the same file is written every time
    data = bytes(4 * int(np.prod(chunks)))
    for _ in range(times):
        plist.set_deflate(9)
        data = zlib.compress(data, 9)
    space = h5py.h5s.create_simple(shape, (h5py.h5s.UNLIMITED,) * len(shape))
    dataset = h5py.h5d.create(group.id, name.encode(), h5py.h5t.IEEE_F32LE, space, plist)
    for i in range(written):
        dataset.write_direct_chunk((i * chunks[0],) + (0,) * (len(chunks) - 1), data)


def chunks_beyond_their_dataset(file):
    for _, _, shape, group in every_case(file):
        if 0 not in (*shape, len(shape)):  # an empty dataset has no chunk
            zeros(group, "y", shape, (1 << 20,) + (1,) * (len(shape) - 1))


def deflated_twice(file):
    for _, _, shape, group in every_case(file):
        if 0 not in (*shape, len(shape)):  # an empty dataset has no chunk
            zeros(group, "y", shape, shape, times=2)


def unasked(file):
    """Gigabytes in a few kilobytes, in a case that there is not."""
    chunk = 64 << 18
    zeros(file.require_group("cases/nobody/outputs"), "y", (40 * chunk,), (chunk,), written=40)


OUTPUTS = [chunks_beyond_their_dataset, deflated_twice, external_links, external_group, soft_links,
           virtual_datasets, external_storage, promised_petabyte, hostile_names, loops]
