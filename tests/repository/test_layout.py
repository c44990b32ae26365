"""The arrangement of the sources: which files exist, and which may include which."""

import re
import shutil
import subprocess
import tomllib

import h5py
import pytest

from elf import exports
from places import ROOT, found_some, version

EXPORTS = sorted((ROOT / "reference" / "exports").glob("*.cpp"))
COMPONENTS = [path.stem for path in EXPORTS]
FIXTURES = sorted((ROOT / "fixtures").glob("*.h5"))
PROBLEMS = [path.stem for path in FIXTURES]


def sources(folder, *endings):
    return found_some(p for p in (ROOT / folder).rglob("*") if p.suffix in endings and p.is_file())


def exported():
    """The problems that the reference exports."""
    return [problem for path in EXPORTS
            for problem in re.findall(r"^PRENORM_EXPORT\((\w+),", path.read_text(), re.M)]


def test_all_problems_have_a_fixture():
    assert sorted(exported()) == PROBLEMS and len(PROBLEMS) >= 20
    assert len(COMPONENTS) >= 10


def test_the_rubric_of_all_problems_has_every_problem():
    rubric = tomllib.loads((ROOT / "fixtures/rubrics/all.toml").read_text())
    assert sorted(p for item in rubric["items"] for p in item["problems"]) == PROBLEMS


@pytest.mark.parametrize("problem", PROBLEMS)
def test_no_problem_is_named_in_the_harness(problem):
    # Documentation and comments may give an example; code may not.
    word = re.compile(rf"\b{problem}\b")
    for path in sources("harness", ".cpp", ".hpp", ".h"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = re.sub(r"^\s*(//|/?\*).*|//.*", "", line)
            assert not word.search(code), f"{path.relative_to(ROOT)}:{number}: {line.strip()}"


@pytest.mark.parametrize("path", EXPORTS, ids=COMPONENTS)
def test_every_formula_is_on_the_first_screen(path):
    text = (ROOT / "reference" / f"{path.stem}.hpp").read_text()
    lines = text.splitlines()[:50]
    screen = "\n".join(line for line in lines if not re.match(r"#include|/// +Twins|/// {10}", line))
    for problem in re.findall(r"^PRENORM_EXPORT\((\w+),", path.read_text(), re.M):
        assert re.search(rf"\b{problem}\b", screen), f"{problem} is below line 50"
    # As a comment and as code: a step of some formula, or a call that has its name.
    assert re.search(r"^//.*\S = \S", screen, re.M), "no formula in a comment"
    assert "// step: " in screen, "no formula in code"


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_same_name_stands_in_every_folder(component):
    reference = (ROOT / "reference" / f"{component}.hpp").read_text()
    assert (ROOT / "tests/reference" / f"test_{component}.cpp").exists()
    # Its twins: what the reference names exists, and what exists it names.
    blocks = re.findall(r"/// Twins(.*(?:\n///   .*)*)", reference)
    named = {word for block in blocks for word in re.findall(r"[\w/]+\.\w+", block)}
    assert named, "no function names its twins"
    for twin in named:
        assert (ROOT / twin).exists(), f"{twin} is named as a twin, but missing"
    for twin in (f"cuda/{component}.cu", f"notebooks/{component}.ipynb",
                 f"tests/reference/test_{component}.cpp"):
        assert twin in named or not (ROOT / twin).exists(), f"{twin} is not named as a twin"


@pytest.mark.parametrize("folder, ending", [
    ("notebooks", ".ipynb"), ("reference/mistakes", ".cpp"), ("reference/mistakes", ".toml"),
    ("reference/honest", ".cpp")])
def test_what_belongs_to_a_component_has_its_name(folder, ending):
    names = {path.stem for path in (ROOT / folder).glob(f"*{ending}")
             # Not chapters of the notebooks, 00_start_here, nor how mistakes combine.
             if not path.stem[0].isdigit()
             and path.stem not in ("combinations", "cuda_without_a_gpu", "floating_point", "model", "puzzles")}
    assert names and names <= set(COMPONENTS), names - set(COMPONENTS)


def test_mistakes_and_notebooks_of_the_components_that_always_had_them():
    for folder, ending in (("notebooks", ".ipynb"), ("reference/mistakes", ".cpp")):
        assert len([c for c in COMPONENTS if (ROOT / folder / f"{c}{ending}").exists()]) >= 10


KERNELS = sorted((ROOT / "cuda").glob("*.cu"))


def test_there_are_kernels():
    assert len(KERNELS) >= 10


@pytest.mark.parametrize("source", KERNELS, ids=lambda p: p.stem)
def test_every_cuda_file_has_its_reference(source):
    if source.stem in ("solution", "cublaslt", "device_error", "mask_tiles"):  # parts that several files share
        return
    text = source.read_text()
    component = next((c for c in COMPONENTS if source.stem.startswith(f"{c}_")), source.stem)
    if component != source.stem:  # a later step of a ladder, in a file of its own
        ladder = (ROOT / "cuda" / f"{component}.cu").read_text()
        assert source.name in ladder and f"{component}.cu" in text, "they do not name each other"
        return
    reference = ROOT / "reference" / f"{source.stem}.hpp"
    assert f"cuda/{source.name}" in reference.read_text(), "the reference does not name its twin"
    assert f"reference/{source.stem}.hpp" in text, "the kernels do not name their twin"
    assert re.search(r"<-\s+(//\s+)?launched", text), "the ladder does not say which version is launched"
    problems = re.findall(r"^PRENORM_CUDA_EXPORT\((\w+),", text, re.M)
    assert problems and set(problems) <= set(PROBLEMS)


@pytest.mark.parametrize("path", FIXTURES, ids=PROBLEMS)
def test_file_problem_and_reference_agree(path):
    with h5py.File(path) as file:
        problem = file.attrs["problem"]
    assert problem == path.stem
    assert problem in exported()


@pytest.mark.parametrize("path", EXPORTS, ids=COMPONENTS)
def test_every_export_knows_tf32(path):
    """prenorm.hpp has a PRENORM_EXPORT too, which does not tell the products about tf32."""
    assert '\n#include "export.hpp"\n' in path.read_text()


def test_the_textbook_loop_has_every_problem(home):
    wanted = {f"prenorm_{problem}" for problem in exported()}
    for name in ("reference", "plain", "plain-tf32"):
        found = set(exports(home / f"lib/prenorm/libprenorm_{name}.so"))
        others = {"prenorm_abi", "prenorm_device", "prenorm_mode", "prenorm_written_for"}
        fields = {function for function in found if function.endswith("__field")}
        assert found - others - fields == wanted, name
        assert {function.removesuffix("__field") for function in fields} < wanted
        assert bool(fields) == (name != "reference")
    for variant in ("ascending", "reversed", "pairwise", "kahan", "fma", "float32_inside",
                    "float64_inside"):
        assert {f"{function}__{variant}" for function in wanted} <= set(exports(
            home / "lib/prenorm/libprenorm_honest.so")), variant


def test_no_two_types_of_the_harness_share_a_name():
    """They are all in one namespace: of two, the linker keeps one's members for both."""
    found = {}
    for path in sources("harness", ".hpp"):
        types = re.findall(r"^(?:struct|class|enum class|enum) (\w+)(?: final)?(?: :[^:;{]*)? {",
                           path.read_text(), re.M)
        for name in types:
            if path.parent.name != "prenorm":  # the public header has a namespace of its own
                found.setdefault(name, []).append(str(path))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_who_includes_whom():
    for path in sources("harness", ".cpp", ".hpp", ".h"):
        for include in re.findall(r'#include ["<]([^">]+)', path.read_text()):
            assert not include.startswith(("reference/", "cuda/", "xtensor")), path
    for path in sources("cuda", ".cu", ".cuh", ".cpp", ".hpp"):
        for include in re.findall(r'#include ["<]([^">]+)', path.read_text()):
            inside = (path.parent / include).resolve().is_relative_to(ROOT / "cuda")
            assert inside or not include.startswith(("../", "reference/", "xtensor")), path
    for path in sources("reference", ".cpp", ".hpp"):
        name = path.relative_to(ROOT / "reference").as_posix()
        for include in re.findall(r'#include ["<]([^">]+)', path.read_text()):
            assert not include.startswith("../harness"), path
            if include.startswith(("xtensor", "xsimd")):
                assert name in ("tensor.hpp", "fast/tensor.hpp", "fast/elementwise.hpp"), \
                    f"{path} includes {include}"
            # The text needs no other room, and what runs fast only its shapes and messages.
            if "/" not in name:
                assert not include.startswith(("fast/", "modules/", "../")), f"{path} includes {include}"
            if name.startswith("fast/"):
                assert not include.startswith("..") or include == "../checks.hpp", path


TEXT = sorted((ROOT / "reference").glob("*.hpp"))


@pytest.mark.parametrize("path", TEXT, ids=lambda p: p.stem)
def test_the_text_has_no_machine_in_it(path):
    """No threads, reinterpret_cast, const_cast, pointers into memory or #if: they are for fast/."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        code = line.split("//")[0]
        assert not re.search(r"\bomp\b|reinterpret_cast|const_cast|^\s*#\s*if|data\(\)\s*[+\[]|\*\(\w+ [+]|"
                             r"\b[TC]\s*\*\s*(const )?\w|>\s*\*", code), f"{path.name}:{number}: {line.strip()}"


def behind(path, found):
    """The headers of the text that one includes, and that these do."""
    for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
        if name not in found:
            found[name] = len((path.parent / name).read_text().splitlines())
            behind(path.parent / name, found)
    return found


@pytest.mark.parametrize("component, headers, lines", [("softmax", 2, 250), ("attention", 4, 400)])
def test_little_stands_behind_a_component(component, headers, lines):
    found = behind(ROOT / "reference" / f"{component}.hpp", {})
    assert 0 < len(found) <= headers and sum(found.values()) <= lines, found


@pytest.mark.parametrize("component", COMPONENTS)
def test_xtensor_carries_the_formula(component):
    """In the component's own file, or, where that only puts others together, in theirs."""
    path = ROOT / "reference" / f"{component}.hpp"
    own = "xt::" in path.read_text()
    assert own or component in ("transformer_block", "transformer_lm")
    others = [name for name in behind(path, {}) if name.removesuffix(".hpp") in COMPONENTS]
    assert own or all("xt::" in (ROOT / "reference" / name).read_text()
                      for name in others if name != "transformer_block.hpp")


@pytest.mark.parametrize("path", sorted((ROOT / "reference/modules").glob("*.hpp")), ids=lambda p: p.stem)
def test_a_module_is_named_as_its_function(path):
    text = path.read_text()
    assert text.startswith("// ")
    if path.stem not in ("module", "parameters"):
        assert path.stem in COMPONENTS and f'#include "../{path.name}"' in text


def test_every_component_is_in_both_rooms():
    for component in COMPONENTS:
        assert (ROOT / "reference/fast" / f"{component}.hpp").exists(), component


def test_the_program_never_links_libhdf5(program, home):
    for name in [program, home / "libexec/prenorm/prenorm-worker"]:
        needed = subprocess.run(["readelf", "-d", name], check=True, capture_output=True, text=True)
        assert "libhdf5" not in needed.stdout


def test_a_solution_exports_the_interface_and_nothing_else(home):
    libraries = list((home / "lib/prenorm").glob("*.so"))
    assert len(libraries) >= 5
    for library in libraries:
        strong = exports(library)
        assert strong and all(name.startswith("prenorm_") for name in strong), library


def test_every_file_names_this_version():
    def named(file, form):
        return re.findall(form, (ROOT / file).read_text(), re.M)

    assert named("CITATION.cff", "^version: (.*)") == [version()]
    assert named("notebooks/pyproject.toml", '^version = "(.*)"') == [version()]
    assert named("CHANGELOG.md", "^## (.*)")[0] == version().removesuffix(".0")
    assert set(named("docs/install.md", r"\bprenorm-(\d[\d.]*)-linux")) == {version().rpartition(".")[0]}


def test_a_release_is_of_this_version(tmp_path):
    """What the workflow asks of a tag before it builds."""
    yaml = pytest.importorskip("yaml")
    build, publish = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"].values()
    [check] = [step["run"] for step in build["steps"] if "GITHUB_REF_NAME" in step.get("run", "")]
    assert (build["container"], publish["needs"]) == ("debian:12", "build")
    (tmp_path / "prenorm").symlink_to(ROOT / "prenorm")
    shutil.copy(ROOT / "CHANGELOG.md", tmp_path)

    def accepted(tag):
        return subprocess.run(["sh", "-e", "-c", check], cwd=tmp_path, stderr=subprocess.DEVNULL,
                              env={"PATH": "/usr/bin:/bin", "GITHUB_REF_NAME": tag}).returncode == 0

    assert accepted(f"v{version()}") and not accepted(f"v{version()}1") and not accepted("v0.1.0")
    (tmp_path / "CHANGELOG.md").write_text("## 0.1\n")
    assert not accepted(f"v{version()}")


@pytest.mark.parametrize("path", sorted((ROOT / ".github/workflows").glob("*.yml")), ids=lambda p: p.stem)
def test_a_workflow_names_actions_by_commit(path):
    """A tag can be moved to other code, a commit cannot."""
    actions = re.findall(r"\buses: *(.*)", path.read_text())
    assert actions
    for action in actions:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", action), action
