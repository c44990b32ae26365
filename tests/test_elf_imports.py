# labels: unit grading
"""What a library takes from elsewhere, by prenorm-imports: read as the loader reads it, whatever its
sections say; and an error, never a list that lacks something, where the file is damaged."""

import json
import random
import re
import struct
import subprocess

import pytest

from grading import best_sandbox, built, grade, home, rubric

FORBIDS = rubric("One of them", {"float32": 'dtypes = ["float32"]\nexcept = ["*empty*"]'},
                 {"embedding": ("embedding", 1)}, more='forbidden = ["WORD"]\n')


def listed(path):
    """The names that the program prints; nothing where it ends with an error."""
    done = subprocess.run([home() / "libexec/prenorm/prenorm-imports", path], capture_output=True,
                          timeout=20)
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    assert bool(done.stdout) == (done.returncode == 0) != bool(done.stderr)
    return set(done.stdout.decode(errors="replace").splitlines()) or None


def by_sections(path):
    """The same by nm and readelf."""
    symbols = subprocess.run(["nm", "-D", "--undefined-only", path], check=True,
                             capture_output=True, text=True).stdout
    needed = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True)
    relocations = subprocess.run(["readelf", "-rW", path], check=True, capture_output=True, text=True)
    table = subprocess.run(["readelf", "--dyn-syms", "-W", path], check=True, capture_output=True,
                           text=True)
    seen = {row.split()[7].split("@")[0] for row in table.stdout.splitlines()
            if " DEFAULT " in row and " LOCAL " not in row and len(row.split()) > 7}
    looked_up = {name.split("@")[0]
                 for name in re.findall(r"R_X86_64_\w+ +[0-9a-f]+ ([^ ]+)", relocations.stdout)}
    return ({line.split()[-1].split("@")[0] for line in symbols.splitlines()} | (looked_up & seen)
            | set(re.findall(r"\(NEEDED\).*\[(.+)\]", needed.stdout)))


def libraries():
    return [*sorted(built("honest").glob("*.so")), *sorted(built("exploit").glob("0*.so")),
            *sorted((home() / "lib/prenorm").glob("*.so"))]


def without_sections(path, to):
    content = bytearray(path.read_bytes())
    content[0x28:0x30] = bytes(8)  # e_shoff
    content[0x3c:0x40] = bytes(4)  # e_shnum, e_shstrndx
    to.write_bytes(content)
    return to


def dynamic(content):
    """Where the dynamic section's entries begin in the file, by their tags."""
    offset, count = struct.unpack_from("<Q", content, 0x20)[0], struct.unpack_from("<H", content,
                                                                                   0x38)[0]
    for i in range(count):
        kind, _, at = struct.unpack_from("<IIQ", content, offset + 56 * i)
        if kind == 2:  # PT_DYNAMIC
            break
    found = {}
    while (tag := struct.unpack_from("<q", content, at)[0]) != 0:
        found.setdefault(tag, at)
        at += 16
    return found


def test_the_list_is_that_of_other_tools():
    every = libraries()
    assert len(every) >= 20
    for path in every:
        assert listed(path) == by_sections(path), path


def test_sections_are_not_needed(tmp_path):
    for path in libraries()[:8]:
        assert listed(without_sections(path, tmp_path / "none.so")) == by_sections(path), path


@pytest.fixture
def content():
    return bytearray((built("honest") / "cpp_partial.so").read_bytes())


@pytest.mark.parametrize("tag, value, why", [
    (5, 1 << 40, "is not loaded"),       # DT_STRTAB
    (6, 1 << 40, "is not loaded"),       # DT_SYMTAB
    (10, 1 << 50, "longer than"),        # DT_STRSZ
    (8, 25, "odd relocations"),          # DT_RELASZ
    (0x6ffffef5, 1 << 60, "not loaded"),  # DT_GNU_HASH
    (30, 4, "changed while"),            # DT_FLAGS: DF_TEXTREL
])
def test_what_no_linker_writes_is_refused(tag, value, why, content, tmp_path):
    places = dynamic(content)
    if tag == 30 and tag not in places:
        struct.pack_into("<q", content, places[0x6ffffff9], tag)  # DT_RELACOUNT, which may be absent
        places[tag] = places[0x6ffffff9]
    struct.pack_into("<Q", content, places[tag] + 8, value)
    path = tmp_path / "odd.so"
    path.write_bytes(content)
    done = subprocess.run([home() / "libexec/prenorm/prenorm-imports", path], capture_output=True,
                          text=True)
    assert done.returncode == 1 and not done.stdout
    assert why in done.stderr


def test_tables_may_be_writable_and_not_be_written(content, tmp_path):
    """patchelf puts tables where the loader may write; a relocation could put others in their place."""
    whole = listed(built("honest") / "cpp_partial.so")
    offset, count = struct.unpack_from("<Q", content, 0x20)[0], struct.unpack_from("<H", content,
                                                                                   0x38)[0]
    for i in range(count):
        kind, flags = struct.unpack_from("<II", content, offset + 56 * i)
        if kind == 1:
            struct.pack_into("<I", content, offset + 56 * i + 4, flags | 2)
    path = tmp_path / "writable.so"
    path.write_bytes(content)
    assert listed(path) == whole
    places = dynamic(content)
    names, relocations = (struct.unpack_from("<Q", content, places[tag] + 8)[0] for tag in (5, 7))
    struct.pack_into("<Q", content, relocations, names)  # which lie in the file as in memory
    path.write_bytes(content)
    assert listed(path) is None


def test_a_hidden_table_of_symbols_hides_nothing(content, tmp_path):
    """Relocations name what the loader looks up, whatever the hash table says."""
    whole = by_sections(built("honest") / "cpp_partial.so")
    start, count = struct.unpack_from("<Q", content, 0x20)[0], struct.unpack_from("<H", content,
                                                                                  0x38)[0]
    address = struct.unpack_from("<Q", content, dynamic(content)[0x6ffffef5] + 8)[0]
    for i in range(count):
        kind, _, offset, at, _, size = struct.unpack_from("<IIQQQQ", content, start + 56 * i)
        if kind == 1 and at <= address < at + size:
            place = address - at + offset
    struct.pack_into("<IIII", content, place, 1, 1, 0, 0)  # one bucket, the first symbol, no filter
    struct.pack_into("<I", content, place + 16, 0)
    path = tmp_path / "hidden.so"
    path.write_bytes(content)
    assert listed(path) == whole


def test_a_symbol_that_the_loader_finds_elsewhere_first_is_listed(tmp_path):
    """A library that has a function of the C library's too calls the C library's."""
    source = tmp_path / "own.c"
    source.write_text("float lgammaf(float x) { return x; }\n"
                      "__attribute__((visibility(\"hidden\"))) float own(float x) { return x; }\n"
                      "float use(float x) { return lgammaf(own(x)); }\n")
    path = tmp_path / "own.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-fno-builtin", "-o", path, source], check=True)
    assert "lgammaf" in listed(path) and "own" not in listed(path)


def test_damaged_files_are_no_empty_lists(content, tmp_path):
    """The program ends by itself each time, and what it lists has names in it."""
    path = tmp_path / "damaged.so"
    chance = random.Random(20)
    tables = sorted(dynamic(content).values())
    for turn in range(400):
        damaged = bytearray(content)
        for _ in range(chance.choice([1, 1, 2, 8])):
            place = chance.choice([chance.randrange(64), chance.randrange(64, 1024),
                                   chance.choice(tables) + chance.randrange(16),
                                   chance.randrange(len(damaged))])
            damaged[place] = chance.choice([0, 1, 0x7f, 0xff, chance.randrange(256)])
        if turn % 4 == 0:
            damaged = damaged[:chance.randrange(len(damaged))]
        path.write_bytes(damaged)
        listed(path)  # fails for a crash, and for success without a name


@pytest.mark.parametrize("word", ["exp*", "memcpy", "libstdc++*"])
def test_a_forbidden_name_is_found_without_sections(word, tmp_path):
    library = built("honest") / "cpp_complete.so"
    assert any(re.fullmatch(re.escape(word).replace(r"\*", ".*"), name) for name in listed(library))
    (tmp_path / "rubric.toml").write_text(FORBIDS.replace("WORD", word))
    for handed_in in (library, without_sections(library, tmp_path / "mine.so")):
        _, report, printed = grade(handed_in, "--rubric", tmp_path / "rubric.toml", "--sandbox",
                                   best_sandbox(), tmp=tmp_path)
        assert report["status"] == "SANDBOX_VIOLATION" and report["earned"] == 0, printed
        assert report["imports"], json.dumps(report["notes"])
    (tmp_path / "rubric.toml").write_text(FORBIDS.replace("WORD", "no_such_*"))
    _, report, printed = grade(tmp_path / "mine.so", "--rubric", tmp_path / "rubric.toml",
                               "--sandbox", best_sandbox(), tmp=tmp_path)
    assert report["earned"] == 1, printed
