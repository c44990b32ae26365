"""`prenorm diff`, of outputs that `prenorm verify --save` wrote."""

import h5py
import numpy as np


def test_save_and_diff(prenorm, good, libraries, tmp_path):
    prenorm("verify", "--fixtures", good, "--solution", "reference", "--solution", "plain",
            "--solution", libraries["mine"], "--save", "out", code=1)
    saved = sorted(p.name for p in (tmp_path / "out").iterdir())
    assert saved == ["good.libmine.h5", "good.plain.h5", "good.reference.h5"]
    with h5py.File(tmp_path / "out/good.reference.h5") as file:
        assert file["cases/batch32/outputs/y"].dtype == np.float32
        assert set(file["cases"]) == {"batch16", "batch32", "single64"}
    assert "0 of 3 outputs differ" in prenorm("diff", "out/good.reference.h5",
                                              "out/good.reference.h5")
    out = prenorm("diff", "out/good.reference.h5", "out/good.libmine.h5", code=1)
    assert "batch32/y: 1 of 24 elements differ, most at [0, 5]" in out and "1 of 3" in out
    assert prenorm("diff", "out/good.reference.h5", "out/good.libmine.h5", "--atol", "1.1")
    assert prenorm("diff", "out/good.reference.h5", "out/good.plain.h5", "--rtol", "1e-2",
                   "--atol", "1e-2")


def test_diff_of_shapes_types_and_missing_cases(prenorm, tmp_path):
    def outputs(name, **cases):
        with h5py.File(tmp_path / name, "w") as file:
            for case, value in cases.items():
                file[f"cases/{case}/outputs/y"] = value
        return name

    a = outputs("a.h5", one=np.zeros((2, 3)), two=np.zeros(3, np.float32), three=np.ones(2))
    b = outputs("b.h5", one=np.zeros((3, 2)), two=np.zeros(3), four=np.ones(2))
    out = prenorm("diff", a, b, code=1)
    assert "one/y: shape [2, 3] and [3, 2]" in out and "two/y: type float32 and float64" in out
    assert "three/y: only in a.h5" in out and "four/y: only in b.h5" in out
    nan = outputs("nan.h5", one=np.array([np.nan, np.inf, -0.0]))
    same = outputs("same.h5", one=np.array([np.nan, np.inf, 0.0]))
    other = outputs("other.h5", one=np.array([np.nan, -np.inf, 0.0]))
    prenorm("diff", nan, same)
    assert "[1]: inf and -inf" in prenorm("diff", nan, other, "--atol", "1e9", code=1)
    (tmp_path / "text.h5").write_text("no HDF5")
    assert "text.h5" in prenorm("diff", nan, "text.h5", code=2)
