"""`prenorm list`, `prenorm show`, `prenorm doctor`."""

import re
import shutil

from centred import GOOD


def test_list(prenorm, good):
    out = prenorm("list", "--fixtures", good)
    assert re.search(r"^centred +4 +f64 f32 f16 +- +reference, cuda-emulated, honest \(1\), "
                     r"mistakes \(3\), plain$", out, re.M)


def test_list_with_a_bad_file(prenorm, good, bad):
    out = prenorm("list", "--fixtures", good, "--fixtures", bad, code=2)
    assert "BAD_FIXTURE" in out and "centred" in out
    assert "1 problem, 4 cases" in out


def test_show(prenorm, good, tmp_path):
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference/centred.hpp").write_text(
        "// centred(x) in a comment\ntemplate <class T>\nTensor<T> centred(const Tensor<T>& x);\n")
    (tmp_path / "notebooks").mkdir()
    assert "notebook" not in prenorm("show", "centred", "--fixtures", good)
    (tmp_path / "notebooks/centred.ipynb").touch()
    out = prenorm("show", "centred", "--fixtures", good)
    assert re.search(r"^notebook +notebooks/centred.ipynb$", out, re.M)
    assert "x[..., n], bias[n]; scale: float = 1.5 -> y[..., n]" in out
    assert "made up for this test" in out
    assert "reference/centred.hpp:3" in out
    assert "mistakes/no_bias" in out
    for name in GOOD:
        assert name in out
    assert "x[3, 8] bias[8]; scale=2.5 -> y[3, 8]" in out
    assert "must be refused: scale must be above 0" in out
    assert "|y - e| <= " in out
    out = prenorm("show", good, "--case", "batch*")
    assert "batch16" in out and "single64" not in out


def test_doctor(prenorm, good, own_home):
    out = prenorm("doctor", code=1)
    assert "MISSING" in out and "fixtures" in out  # this home ships none
    shipped = own_home / "share/prenorm/fixtures/centred.h5"
    shutil.copy(good, shipped)
    try:
        out = prenorm("doctor")
    finally:
        shipped.unlink()
    for what in ("C++ compiler", "HDF5", "BLAS", "CUDA device", "sandbox", "cores", "memory",
                 "solution reference", "fixtures"):
        assert what in out, what
    assert re.search(r"HDF5 +ok +libhdf5 \d+\.\d+\.\d+\n", out)


def test_doctor_asks_quietly_for_what_is_not_there(prenorm, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sh").symlink_to("/bin/sh")
    out, error = prenorm("doctor", code=1, both=True, PATH=str(tmp_path / "bin"))
    assert error == "" and re.search(r"nvcc +none", out) and re.search(r"sandbox process +", out)
