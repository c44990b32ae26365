# labels: unit grading
# slow labels: unit grading
"""What a library takes from elsewhere, by prenorm-imports: read as the loader reads it, whatever its
sections say; and an error, never a list that lacks something, where the file is damaged."""

import math
import random
import re
import struct
import subprocess

import pytest

import elf
from grading import best_sandbox, grade, in_sandboxes, need, rubric
from places import ROOT, built, found_some, home
from submissions import PROJECT


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
    # 37_names has names with blanks, where nm's lines cannot be read.
    return [*found_some(built("honest").glob("*.so")), *found_some(built("exploit").glob("[!3]*.so")),
            *found_some((home() / "lib/prenorm").glob("*.so"))]


def without_sections(path, to):
    to.write_bytes(elf.without_sections(path.read_bytes()))
    return to


VIOLATION = ("SANDBOX_VIOLATION", 0)


@pytest.fixture
def forbidding(tmp_path):
    """forbidding(word, library): the status by a rubric that forbids that, and the points of 1."""
    def call(word, library):
        (tmp_path / "rubric.toml").write_text(
            rubric("One of them", {"float32": 'dtypes = ["float32"]'}, {"relu": ("relu", 1)},
                   more=f'forbidden = ["{word}"]\n'))
        _, report, printed = grade(library, "--rubric", tmp_path / "rubric.toml", "--sandbox",
                                   best_sandbox(), tmp=tmp_path)
        assert report["imports"], printed
        return report["status"], report["earned"]
    return call


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
    places = elf.Dynamic(content).entries
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
    tables = elf.Dynamic(content)
    for i, (kind, flags, *_) in enumerate(tables.segments):
        if kind == elf.LOAD:
            struct.pack_into("<I", content, tables.headers + 56 * i + 4, flags | 2)
    path = tmp_path / "writable.so"
    path.write_bytes(content)
    assert listed(path) == whole
    # They lie in the file as in memory.
    struct.pack_into("<Q", content, tables.values[elf.RELOCATIONS], tables.values[elf.STRINGS])
    path.write_bytes(content)
    assert listed(path) is None


def test_a_hidden_table_of_symbols_hides_nothing(content, tmp_path):
    """Relocations name what the loader looks up, whatever the hash table says."""
    whole = by_sections(built("honest") / "cpp_partial.so")
    place = elf.Dynamic(content).place(elf.GNU_HASH)
    struct.pack_into("<IIII", content, place, 1, 1, 0, 0)  # one bucket, the first symbol, no filter
    struct.pack_into("<I", content, place + 16, 0)
    path = tmp_path / "hidden.so"
    path.write_bytes(content)
    assert listed(path) == whole


LIES = {
    "with_a_section": lambda data: elf.with_a_section(data, "exp"),
    "behind_a_segment": lambda data: elf.behind_a_segment(data, "exp", "fma"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_name_that_the_loader_looks_up_is_listed_or_nothing_is(name, tmp_path):
    whole = (home() / "lib/prenorm/libprenorm_plain.so").read_bytes()
    path = tmp_path / "lies.so"
    path.write_bytes(whole)
    assert "exp" in listed(path)
    path.write_bytes(LIES[name](whole))
    assert path.read_bytes() != whole
    names = listed(path)
    assert names is None or "exp" in names


def test_copies_are_refused(tmp_path):
    """They are longer than what other relocations write, by what another library says."""
    path = tmp_path / "copies.so"
    path.write_bytes(elf.with_a_copy((home() / "lib/prenorm/libprenorm_plain.so").read_bytes(), "exp"))
    assert listed(path) is None


def test_a_library_with_packed_relocations_is_read(tmp_path):
    (tmp_path / "packed.c").write_text(
        "#include <math.h>\nstatic int a, b;\nint* places[8] = {&a, &b, &a, 0, &b};\n"
        "float use(float x) { return expf(x) + *places[0]; }\n")
    path = tmp_path / "packed.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-z,pack-relative-relocs", "-o", path,
                    tmp_path / "packed.c", "-lm"], check=True)
    assert 36 in elf.Dynamic(path.read_bytes()).values  # DT_RELR
    assert {"expf", "libm.so.6"} <= listed(path)


def test_packed_relocations_write_no_table(tmp_path):
    path = tmp_path / "packed.so"
    data = (home() / "lib/prenorm/libprenorm_plain.so").read_bytes()
    hashes = elf.Dynamic(data).values[elf.GNU_HASH]
    [filters] = struct.unpack_from("<I", data, hashes + 8)
    path.write_bytes(elf.with_packed_relocation(data, hashes + 16 + 8 * filters))  # the first buckets
    assert listed(path) is None
    free = max(at + size for kind, _, _, at, _, size in elf.Dynamic(data).segments if kind == elf.LOAD)
    path.write_bytes(elf.with_packed_relocation(data, free // 8 * 8 - 8))
    assert listed(path)


def test_a_forbidden_library_is_found_by_its_path(with_own, forbidding, tmp_path):
    """As patchelf --replace-needed names it: the loader takes the file of that path."""
    assert "libm.so.6" in listed(with_own)
    longer = tmp_path / "longer.so"
    longer.write_bytes(with_own.read_bytes().replace(b"libm.so.6\0", b"./bm.so.6\0"))
    assert "./bm.so.6" in listed(longer)
    assert forbidding("bm.so*", longer) == VIOLATION
    assert forbidding("libm.so*", longer) == ("LOAD_ERROR", 0)  # there is no such file


# A library that has a function of the C library's too calls the C library's, which the loader finds first.
OWN = """
float lgammaf(float x) { return x; }
__attribute__((visibility("hidden"))) float own(float x) { return x; }
float use(float x) { return lgammaf(own(x)); }
"""


@pytest.fixture
def with_own(tmp_path):
    """A solution in C, with these functions."""
    (tmp_path / "own.c").write_text(OWN)
    path = tmp_path / "own.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-fno-builtin", "-o", path, tmp_path / "own.c",
                    ROOT / "tests/submissions/honest/c_plain/solution.c",
                    *(f"-I{place}/include" for place in (ROOT / "harness", home())), "-lm"],
                   check=True)
    return path


def test_a_symbol_that_the_loader_finds_elsewhere_first_is_listed(with_own):
    used = "import ctypes, sys; use = ctypes.CDLL(sys.argv[1]).use; " \
           "use.restype = ctypes.c_float; print(use(ctypes.c_float(10)))"
    done = subprocess.run(["/usr/bin/python3", "-c", used, with_own], capture_output=True, text=True,
                          check=True)
    assert float(done.stdout) == pytest.approx(math.lgamma(10))
    assert "lgammaf" in listed(with_own) and "own" not in listed(with_own)


def test_whoever_has_the_forbidden_function_does_not_have_it_to_call(with_own, forbidding):
    assert forbidding("no_such_*", with_own) == ("PASSED", 1)
    assert forbidding("lgammaf", with_own) == VIOLATION


def test_damaged_files_are_no_empty_lists(content, tmp_path):
    """The program ends by itself each time, and what it lists has names in it."""
    path = tmp_path / "damaged.so"
    chance = random.Random(20)
    tables = sorted(elf.Dynamic(content).entries.values())
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
def test_a_forbidden_name_is_found_without_sections(word, forbidding, tmp_path):
    library = built("honest") / "cpp_complete.so"
    assert any(re.fullmatch(re.escape(word).replace(r"\*", ".*"), name) for name in listed(library))
    bare = without_sections(library, tmp_path / "mine.so")
    assert forbidding(word, library) == forbidding(word, bare) == VIOLATION
    assert forbidding("no_such_*", bare) == ("PASSED", 1)


# What is linked in is taken from nobody: a project that has another's code beside its own.
FAST = {"relu": "float fast_relu(float x) { return x < 0 ? 0 : x; }",
        "other": "float slow_relu(float x) { return x < 0 ? 0 : x; }"}
FASTER = """
#include <prenorm/prenorm.hpp>
extern "C" float {0}(float);
template <class T>
void relu(prenorm::View<const T> x, prenorm::View<T> y) {{
  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = {0}(x[i]);
}}
PRENORM_SOLUTION(kDLCPU)
PRENORM_EXPORT_FOR(relu, relu, float)
"""
LINKED = "target_link_libraries(mine PRIVATE ${CMAKE_SOURCE_DIR}/libfast.a -Wl,--exclude-libs,ALL%s)"
COPIED = ("file(COPY_FILE ${CMAKE_SOURCE_DIR}/libfast.a ${CMAKE_BINARY_DIR}/libmine.a)\n"
          "target_link_libraries(mine PRIVATE ${CMAKE_BINARY_DIR}/libmine.a -Wl,--exclude-libs,ALL)")
OWN_LIBRARY = ('file(WRITE ${CMAKE_BINARY_DIR}/own.cpp "extern \\"C\\" float own(float x) { return x < 0 ? 0 : x; }")\n'
               "add_library(own STATIC ${CMAKE_BINARY_DIR}/own.cpp)\n"
               "set_target_properties(own PROPERTIES POSITION_INDEPENDENT_CODE ON)\n"
               "target_link_libraries(mine PRIVATE own)")
LINKS = {  # what CMakeLists.txt says, what is called, what is forbidden, and what is said
    "stripped": (LINKED % " -s", "fast_relu", "fast_*", "has fast_relu of libfast.a:relu.o linked in"),
    "copied": (COPIED, "fast_relu", "fast_*", "has fast_relu linked in"),
    "by_name": (LINKED % "", "slow_relu", "libfast*", "has libfast.a linked in"),
    "another_member": (LINKED % "", "slow_relu", "fast_*", None),
    "own_library": (OWN_LIBRARY, "own", "fast_*", None),
}


@in_sandboxes(LINKS, slow=["by_name", "another_member", "own_library"])
def test_what_is_linked_in_is_found(name, sandbox, tmp_path):
    need(sandbox)
    words, called, forbidden, why = LINKS[name]
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "CMakeLists.txt").write_text(PROJECT.format(name="mine") + words)
    (mine / "solution.cpp").write_text(FASTER.format(called))
    for part, text in FAST.items():
        (tmp_path / f"{part}.c").write_text(text)
        subprocess.run(["gcc", "-c", "-O1", "-fPIC", f"{part}.c"], cwd=tmp_path, check=True)
    subprocess.run(["ar", "rc", mine / "libfast.a", *(f"{part}.o" for part in FAST)], cwd=tmp_path, check=True)
    (tmp_path / "rubric.toml").write_text(
        rubric("One of them", {"float32": 'dtypes = ["float32"]'}, {"relu": ("relu", 1)},
               more=f'forbidden = ["{forbidden}"]\n'))
    _, report, printed = grade(mine, "--rubric", tmp_path / "rubric.toml", "--sandbox", sandbox,
                               tmp=tmp_path)
    if why is None:
        assert (report["status"], report["earned"]) == ("PASSED", 1), printed
    else:
        assert (report["status"], report["earned"]) == VIOLATION, printed
        assert report["message"] == why + ", which the rubric forbids"
