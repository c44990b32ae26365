"""Writes fixture files that must be refused, and unusual ones that must be read.

    broken_fixtures.py FOLDER

    FOLDER/broken/NAME.h5     one fault each
    FOLDER/broken.txt         a line for each: NAME, then words that the message must contain (tabs)
    FOLDER/unusual/NAME.h5    the same content, stored in every allowed way
    FOLDER/shapes/NAME.h5     tensors without axes, and without elements
"""

import sys
from pathlib import Path

import h5py
import numpy as np

SIGNATURE = ("x[..., d], mask[..., d]: bool, ids[n]: int64?; "
             "factor: float, times: int = 3, flag: bool = false -> y[..., d]")
X = np.arange(6).reshape(2, 3) * 0.5 - 1
MASK = np.array([[1, 0, 1], [0, 1, 1]], bool)
IDS = np.array([5, -7, 2**53 + 1])


def bfloat16_type():
    type_id = h5py.h5t.IEEE_F32LE.copy()
    type_id.set_fields(15, 7, 8, 0, 7)
    type_id.set_size(2)
    type_id.set_ebias(127)
    return type_id


def good(path, x_type="f4", big=False, bools="enum", dataset_options=None, libver=None, text=str,
         number=lambda value: value, track_order=False, reverse=False, userblock=0):
    """A file without a fault: one case, `tiny`."""
    options = dataset_options or {}
    order = ">" if big else "<"
    file = h5py.File(path, "w", libver=libver, track_order=track_order, userblock_size=userblock)
    attributes = [("format", text("prenorm-fixture")), ("version", number(1)),
                  ("problem", text("scale")), ("signature", text(SIGNATURE)),
                  ("source", text("nobody, eq. ½")), ("author", text("an unknown attribute"))]
    for name, value in reversed(attributes) if reverse else attributes:
        file.attrs[name] = value
    case = file.create_group("cases/tiny")
    case.attrs["factor"] = number(3.0)
    case.attrs["times"] = number(4)
    case.attrs["flag"] = np.bool_(True)
    case.attrs["description"] = text("a few elements")
    case.attrs["dims"] = text("d n")

    def inputs():
        group = case.create_group("inputs", track_order=track_order)
        if x_type == "bfloat16":
            bits = (X.astype("f4").view("u4") >> 16).astype("u2")
            space = h5py.h5s.create_simple(X.shape)
            x = h5py.h5d.create(group.id, b"x", bfloat16_type(), space)
            x.write(h5py.h5s.ALL, h5py.h5s.ALL, bits, bfloat16_type())
        else:
            group.create_dataset("x", data=X.astype(order + x_type), **options)
        group["x"].attrs["draw"] = text("normal(0, factor)")
        mask = MASK if bools == "enum" else MASK.astype("u1")
        group.create_dataset("mask", data=mask, **options)
        group.create_dataset("ids", data=IDS.astype(order + "i8"), **options)

    def outputs():
        group = case.create_group("outputs", track_order=track_order)
        y = group.create_dataset("y", data=(3 * X).astype(order + "f8"), **options)
        names = {"f2": "float16", "f4": "float32", "f8": "float64"}
        y.attrs["dtype"] = text(names.get(x_type, x_type))
        y.attrs["atol"] = number(0.5)
        y.attrs["rtol"] = number(0.0)
        y.attrs["units"] = "an unknown attribute"

    for part in (outputs, inputs) if reverse else (inputs, outputs):
        part()
    return file


# Allowed, if unusual ------------------------------------------------------------------------------


def fixed(encoding, size=None):
    """Texts of fixed length, `size` bytes or just as many as they need."""
    def make(text):
        data = text.encode("utf-8")
        return np.array(data, h5py.string_dtype(encoding, size or len(data)))
    return make


def compact(path):
    with good(path) as file:
        for name in ("inputs/x", "outputs/y"):
            old = file["cases/tiny/" + name]
            values, attributes = old[()], dict(old.attrs)
            del file["cases/tiny/" + name]
            properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            properties.set_layout(h5py.h5d.COMPACT)
            group, leaf = name.split("/")
            new = h5py.h5d.create(file["cases/tiny/" + group].id, leaf.encode(),
                                  h5py.h5t.py_create(values.dtype),
                                  h5py.h5s.create_simple(values.shape), properties)
            h5py.Dataset(new)[...] = values
            h5py.Dataset(new).attrs.update(attributes)


def hard_links(path):
    with good(path) as file:
        file.copy("cases/tiny", "cases/second")
        del file["cases/second/inputs/x"]
        file["cases/second/inputs/x"] = file["cases/tiny/inputs/x"]


def resizable(path):
    with good(path) as file:
        inputs = file["cases/tiny/inputs"]
        attributes = dict(inputs["x"].attrs)
        del inputs["x"]
        inputs.create_dataset("x", data=X.astype("f4"), chunks=(1, 2), maxshape=(None, 3))
        inputs["x"].attrs.update(attributes)


def space_padded(path):
    with good(path) as file:
        del file.attrs["problem"]
        type_id = h5py.h5t.C_S1.copy()
        type_id.set_size(20)
        type_id.set_strpad(h5py.h5t.STR_SPACEPAD)
        space = h5py.h5s.create(h5py.h5s.SCALAR)
        attribute = h5py.h5a.create(file.id, b"problem", type_id, space)
        attribute.write(np.array(b"scale".ljust(20), "S20"), type_id)


def change(**attributes):
    """A good file whose case has other attributes."""
    def write(path):
        with good(path) as file:
            for name, value in attributes.items():
                file["cases/tiny"].attrs[name] = value
    return write


def with_options(**options):
    return lambda path: good(path, **options).close()


FILTERS = dict(chunks=True, compression="gzip", shuffle=True, fletcher32=True)
UNUSUAL = {
    "plain": with_options(),
    "float64": with_options(x_type="f8"),
    "float16": with_options(x_type="f2"),
    "bfloat16": with_options(x_type="bfloat16"),
    "big_endian": with_options(big=True),
    "big_endian_float16": with_options(big=True, x_type="f2"),
    "uint8_bools": with_options(bools="uint8"),
    "compact": compact,
    "chunked": with_options(dataset_options={"chunks": True}),
    "filters": with_options(dataset_options=FILTERS),
    "resizable": resizable,
    "hard_links": hard_links,
    "latest": with_options(libver="latest"),
    "latest_tracked": with_options(libver="latest", track_order=True, reverse=True),
    "reverse": with_options(track_order=True, reverse=True),
    "userblock": with_options(userblock=512),
    "space_padded": space_padded,
    "text_fixed_utf8": with_options(text=fixed("utf-8")),
    "text_fixed_ascii": with_options(text=fixed("ascii")),
    "text_fixed_long": with_options(text=fixed("utf-8", 300)),
    "text_list_of_one": with_options(text=lambda t: [t]),
    "numbers_float32": with_options(number=np.float32),
    "numbers_float16": with_options(number=np.float16),
    "numbers_long_double": with_options(number=np.longdouble),
    "numbers_array_of_one": with_options(number=lambda n: np.array([n], ">f8")),
    "numbers_array_of_one_one": with_options(number=lambda n: np.array([[n]], "f4")),
    "int8": change(times=np.int8(4), factor=np.uint8(3), flag=np.uint8(1)),
    "uint64": change(times=np.uint64(4), factor=np.int64(3), flag=np.float32(1)),
    "dims_list": change(dims=["d", "n"]),
    "dims_commas": change(dims="d, n"),
}


def write_shapes(folder):
    def file(name, shape):
        with good(folder / (name + ".h5")) as made:
            case = made["cases/tiny"]
            for dataset in ("inputs/x", "inputs/mask", "inputs/ids", "outputs/y"):
                old = case[dataset]
                attributes = dict(old.attrs)
                values = np.full(shape, 1, old.dtype)
                del case[dataset]
                case.create_dataset(dataset, data=values)
                case[dataset].attrs.update(attributes)
            made.attrs["signature"] = ("x[...], mask[...]: bool, ids[...]: int64; factor: float, "
                                       "times: int, flag: bool -> y[...]")
            del case.attrs["dims"]
    file("no_axes", ())
    file("no_elements", (2, 0, 3))


# Refused ------------------------------------------------------------------------------------------

BROKEN = {}  # name -> (function of the path, words)


def broken(name, *words):
    """The function takes a path, and makes the file as it likes."""
    return lambda function: BROKEN.update({name: (function, words)})


def edit(name, *words):
    """The function takes a good file, open, and its case."""
    def add(function):
        def write(path):
            with good(path) as file:
                function(file, file["cases/tiny"])
        BROKEN[name] = (write, words)
    return add


def cut(name, size_of, *words):
    def write(path):
        good(path).close()
        data = path.read_bytes()
        path.write_bytes(data[:size_of(len(data))])
    BROKEN[name] = (write, words)


cut("empty", lambda size: 0, "empty")
cut("cut_1", lambda size: 1, "not HDF5")
cut("cut_8", lambda size: 8)
cut("cut_64", lambda size: 64)
cut("cut_100", lambda size: 100)
for eighth in range(1, 8):
    cut(f"cut_{eighth}_of_8", lambda size, eighth=eighth: size * eighth // 8, "truncated")
cut("cut_last_byte", lambda size: size - 1, "truncated")


@broken("wrong_magic", "not HDF5")
def _(path):
    good(path).close()
    path.write_bytes(b"\x88" + path.read_bytes()[1:])


@broken("text_file", "not HDF5")
def _(path):
    path.write_text("x = 1\n" * 1000)


@broken("folder", "is a folder")
def _(path):
    path.mkdir(exist_ok=True)


def attribute_fault(name, where, attribute, value, *words):
    """A good file with one attribute changed, or removed (None)."""
    def write(path):
        with good(path) as file:
            if attribute in file[where].attrs:
                del file[where].attrs[attribute]
            if value is not None:
                file[where].attrs[attribute] = value
    BROKEN[name] = (write, (where, attribute, *words))


ROOT, CASE, INPUTS, OUTPUTS = "/", "/cases/tiny", "/cases/tiny/inputs", "/cases/tiny/outputs"
IN_X, OUT_Y = INPUTS + "/x", OUTPUTS + "/y"
attribute_fault("format_missing", ROOT, "format", None, "is missing")
attribute_fault("format_other", ROOT, "format", "netcdf", "'netcdf'", "wanted 'prenorm-fixture'")
attribute_fault("format_number", ROOT, "format", 5, "the integer 5", "wanted a text")
attribute_fault("version_missing", ROOT, "version", None, "is missing")
attribute_fault("version_2", ROOT, "version", 2, "is 2, wanted 1")
attribute_fault("version_text", ROOT, "version", "1", "the text '1'", "wanted an int")
attribute_fault("version_half", ROOT, "version", 1.5, "wanted an int")
attribute_fault("version_two", ROOT, "version", [1, 1], "array of 2 elements")
attribute_fault("version_huge", ROOT, "version", np.uint64(2**64 - 1), "beyond int64")
attribute_fault("problem_missing", ROOT, "problem", None, "is missing")
attribute_fault("problem_capital", ROOT, "problem", "Scale", "'Scale'", "[a-z][a-z0-9_]*")
attribute_fault("problem_path", ROOT, "problem", "../scale", "[a-z][a-z0-9_]*")
attribute_fault("problem_digit", ROOT, "problem", "2scale", "[a-z][a-z0-9_]*")
attribute_fault("problem_empty", ROOT, "problem", "", "[a-z][a-z0-9_]*")
attribute_fault("signature_missing", ROOT, "signature", None, "is missing")
attribute_fault("signature_broken", ROOT, "signature", "x[..., d -> y[d]", "column 10", "wanted ']'")
attribute_fault("signature_other", ROOT, "signature", "x[..., d] -> y[..., d]", "factor", "unknown")
attribute_fault("signature_reserved", ROOT, "signature", "x[d]; dims: int -> y[d]", "'dims'")
attribute_fault("source_number", ROOT, "source", 1.0, "wanted a text")
attribute_fault("source_not_utf8", ROOT, "source", np.bytes_(b"caf\xe9 x"), "UTF-8")
attribute_fault("source_escape", ROOT, "source", "\x1b[31mred", "control character")
attribute_fault("factor_missing", CASE, "factor", None, "is missing")
attribute_fault("factor_text", CASE, "factor", "3", "wanted a float")
attribute_fault("factor_array", CASE, "factor", [1.0, 2.0], "array of 2")
attribute_fault("factor_empty", CASE, "factor", h5py.Empty("f8"), "array of 0")
attribute_fault("factor_inexact", CASE, "factor", np.longdouble(1) / 3, "exactly")
attribute_fault("factor_inexact_int", CASE, "factor", 2**53 + 1, "wanted a float")
attribute_fault("factor_compound", CASE, "factor", np.zeros((), "f4,f4"), "compound")
attribute_fault("times_half", CASE, "times", 2.5, "wanted an int")
attribute_fault("times_infinite", CASE, "times", np.inf, "wanted an int")
attribute_fault("times_huge", CASE, "times", 1e19, "wanted an int")
attribute_fault("flag_two", CASE, "flag", 2, "wanted a bool")
attribute_fault("unknown_attribute", CASE, "facotr", 3.0, "is unknown", "factor")
attribute_fault("description_list", CASE, "description", ["a", "b"], "a list of 2 texts")
attribute_fault("dims_unknown", CASE, "dims", "d e", "'e'")
attribute_fault("dims_number", CASE, "dims", 2, "wanted names")
attribute_fault("draw_unknown", IN_X, "draw", "gauss(0,1)", "gauss(0,1)")
attribute_fault("draw_open", IN_X, "draw", "normal(0,1", "normal(0,1")
attribute_fault("draw_bound", IN_X, "draw", "uniform(0,width)", "width")
attribute_fault("draw_number", IN_X, "draw", 1, "wanted a text")
attribute_fault("draw_type", INPUTS + "/ids", "draw", "normal(0,1)", "int64")
attribute_fault("dtype_missing", OUT_Y, "dtype", None, "is missing")
attribute_fault("dtype_unknown", OUT_Y, "dtype", "float", "'float'")
attribute_fault("dtype_other", OUT_Y, "dtype", "float64", "wanted float32")
attribute_fault("atol_missing", OUT_Y, "atol", None, "is missing")
attribute_fault("rtol_missing", OUT_Y, "rtol", None, "is missing")
attribute_fault("atol_negative", OUT_Y, "atol", -1.0, "non-negative")
attribute_fault("atol_infinite", OUT_Y, "atol", np.inf, "finite")
attribute_fault("rtol_nan", OUT_Y, "rtol", np.nan, "finite")
attribute_fault("rtol_text", OUT_Y, "rtol", "small", "wanted a float")
attribute_fault("tf32_half", OUT_Y, "atol_tf32", 0.1, "rtol_tf32")
attribute_fault("reason_number", OUT_Y, "reason", 1, "wanted a text")


@edit("attribute_misspelt", OUT_Y, "atol", "is missing", "a_tol")
def _(file, case):
    case["outputs/y"].attrs["a_tol"] = case["outputs/y"].attrs.pop("atol")


@edit("attribute_reference", CASE, "factor", "a reference")
def _(file, case):
    del case.attrs["factor"]
    case.attrs.create("factor", case.ref, dtype=h5py.ref_dtype)


@edit("attribute_reference_at_the_root", "/: attribute scales", "is a reference")
def _(file, case):
    file.attrs.create("scales", case.ref, dtype=h5py.ref_dtype)


@edit("attribute_dimension_scale", INPUTS + "/mask", "REFERENCE_LIST", "is a reference")
def _(file, case):
    case["inputs/mask"].make_scale("rows")
    case["inputs/x"].dims[0].attach_scale(case["inputs/mask"])


@edit("attribute_list_of_references", IN_X, "DIMENSION_LIST", "is a reference")
def _(file, case):
    case["inputs/mask"].make_scale("rows")
    case["inputs/x"].dims[0].attach_scale(case["inputs/mask"])
    del case["inputs/mask"].attrs["REFERENCE_LIST"]


def changed(name, changes, *words):
    """A good file with other members, {path: value}; None: without it, {}: a group."""
    def write(path):
        with good(path) as file:
            for where, value in changes.items():
                file.pop(where, None)
                if isinstance(value, dict):
                    file.create_group(where)
                elif value is not None:
                    file[where] = value
    BROKEN[name] = (write, words)


def moved(name, old, new, *words):
    edit(name, *words)(lambda file, case: file.move(old, new))


changed("no_cases", {"cases": None}, "/", "cases")
changed("cases_dataset", {"cases": 1.0}, "/cases", "wanted a group")
changed("case_dataset", {"cases/flat": 1.0}, "/cases/flat", "wanted a group")
moved("case_capital", "cases/tiny", "cases/Tiny", "/cases/Tiny", "[a-z0-9_]+")
moved("case_space", "cases/tiny", "cases/tiny case", "/cases/tiny case", "[a-z0-9_]+")
moved("case_escape", "cases/tiny", "cases/\x1b[2Jtiny", "/cases/", "[a-z0-9_]+")
changed("no_inputs", {INPUTS: None}, CASE, "inputs")
changed("no_outputs", {OUTPUTS: None}, CASE, "outputs")
changed("input_missing", {IN_X: None}, INPUTS, "x", "is missing")
moved("input_misspelt", INPUTS + "/ids", INPUTS + "/X", INPUTS, "X", "unknown dataset")
changed("input_group", {IN_X: {}}, IN_X, "is a group")
changed("output_missing", {OUT_Y: None}, OUTPUTS, "y", "is missing")
changed("output_unknown", {OUTPUTS + "/z": np.zeros(3)}, OUTPUTS + "/z", "unknown dataset")
changed("unknown_in_root", {"notes": np.zeros(3)}, "/notes", "unknown dataset")
changed("unknown_group", {"extra": {}}, "/extra", "unknown group")
changed("unknown_in_case", {CASE + "/expected": {}}, CASE + "/expected", "unknown group")
changed("named_type", {"mine": np.dtype("f8")}, "/mine", "neither a group nor a dataset")
changed("deep", {CASE + "/a/b/c/d/e/f/g/h/i/j": {}}, "deeper")
changed("link_soft_dangling", {CASE + "/nowhere": h5py.SoftLink("/nowhere")},
        CASE + "/nowhere", "soft link")
changed("link_external", {OUT_Y: h5py.ExternalLink("answers.h5", OUT_Y)}, OUT_Y, "external link")


@edit("error_with_outputs", OUTPUTS, "error")
def _(file, case):
    case.attrs["error"] = "d is odd"


def replaced(name, where, *words, at=None, **options):
    """A good file with one dataset made anew; values or shape and type in `options`.

    The message names the dataset, or `at`.
    """
    def write(path):
        with good(path) as file:
            attributes = dict(file[where].attrs)
            del file[where]
            file.create_dataset(where, **options)
            file[where].attrs.update(attributes)
    BROKEN[name] = (write, (at or where, *words))


def repeated(text, count):
    return np.array([text] * count, dtype=object)


replaced("shape_size", INPUTS + "/mask", "mask", "[2, 4]", "d is 4 here and 3 in x", at=INPUTS,
         data=np.ones((2, 4), bool))
replaced("shape_rank", INPUTS + "/ids", "ids", "[2, 4]", "[n]", at=INPUTS,
         data=np.ones((2, 4), "i8"))
replaced("shape_output", OUT_Y, "[3, 2]", "[2, 3]", data=np.zeros((3, 2)))
replaced("shape_broadcast", INPUTS + "/mask", "mask", "broadcast", at=INPUTS,
         data=np.ones((5, 3), bool))
replaced("type_int32", INPUTS + "/ids", "int32", data=np.ones(3, "i4"))
replaced("type_uint64", INPUTS + "/ids", "uint64", data=np.ones(3, "u8"))
replaced("type_int8", INPUTS + "/mask", "int8", data=np.ones((2, 3), "i1"))
replaced("type_long_double", IN_X, "16 bytes", data=X.astype(np.longdouble))
replaced("type_complex", IN_X, "compound", data=X.astype("c8"))
replaced("type_text", IN_X, "text", data=repeated("1", 6), dtype=h5py.string_dtype())
replaced("type_enum", INPUTS + "/mask", "enumeration", shape=(2, 3),
         dtype=h5py.enum_dtype({"NO": 0, "YES": 1}, "i1"))
replaced("type_reference", IN_X, "reference", shape=(2, 3), dtype=h5py.ref_dtype)
replaced("type_region", IN_X, "reference", shape=(2, 3), dtype=h5py.regionref_dtype)
replaced("type_array", IN_X, "array", shape=(2,), dtype="3f4")
replaced("type_variable", IN_X, "variable length", shape=(2,), dtype=h5py.vlen_dtype("f4"))
replaced("type_null", IN_X, "null", data=h5py.Empty("f4"))
replaced("type_output", OUT_Y, "float32", "float64", data=X.astype("f4"))
replaced("type_ids_float", INPUTS + "/ids", "ids", "float64", "wanted int64", at=INPUTS,
         data=np.ones(3))
replaced("type_opaque", IN_X, "opaque", "fixtures/h5.py", shape=(2, 3),
         dtype=h5py.opaque_dtype(np.dtype("V2")))
replaced("filter_lzf", IN_X, "filter", "lzf", data=X, chunks=True, compression="lzf")
replaced("filter_scale_offset", INPUTS + "/ids", "filter", data=IDS, chunks=True, scaleoffset=0)
replaced("external_storage", IN_X, "external", shape=(2, 3), dtype="f4",
         external=[("/etc/passwd", 0, 24)])
replaced("size_huge", IN_X, "memory limit", shape=(2**40, 3), dtype="f4")
replaced("size_huge_chunked", IN_X, "memory limit", shape=(2**40, 3), dtype="f4", chunks=(1024, 3))
replaced("size_overflow", IN_X, "memory limit", shape=(2**31, 2**31, 3), dtype="f2",
         chunks=(64, 64, 3))
replaced("size_empty_and_huge", IN_X, "memory limit", shape=(2**62, 2**62, 0), dtype="f4")
replaced("size_just_too_large", IN_X, "memory limit", shape=(2**24 // 3, 3), dtype="f8")
replaced("chunk_huge", IN_X, "chunks", shape=(2, 3), dtype="f8", chunks=(2**27, 3),
         maxshape=(None, 3))
replaced("bool_two", INPUTS + "/mask", "[1, 0]", "holds 2", data=[[0, 1, 1], [2, 0, 1]], dtype="u1")


def far_output(file, case, size):
    """An error case: its inputs are empty, the output that they claim is not."""
    file.attrs["signature"] = "x[n, k], w[m, k]; factor: float, times: int, flag: bool -> y[n, m]"
    del case["outputs"], case["inputs"], case.attrs["dims"]
    case.create_dataset("inputs/x", (size, 0), "f4")
    case.create_dataset("inputs/w", (size, 0), "f4")
    case.attrs["error"] = "the output is far too large"


edit("size_of_an_output", CASE, "[1048576, 1048576]", "memory limit")(
    lambda file, case: far_output(file, case, 2**20))
edit("size_of_an_output_overflows", CASE, "memory limit")(
    lambda file, case: far_output(file, case, 2**40))


@edit("link_soft", IN_X, "soft link")
def _(file, case):
    case["inputs"].move("x", "ids2")
    case["inputs/x"] = h5py.SoftLink("/cases/tiny/inputs/ids2")


@edit("link_cycle", INPUTS + "/loop", "link back")
def _(file, case):
    case["inputs/loop"] = file["cases"]


@edit("link_cycle_root", "/cases/again", "link back")
def _(file, case):
    file["cases/again"] = file["/"]


@edit("virtual", IN_X, "virtual")
def _(file, case):
    del case["inputs/x"]
    layout = h5py.VirtualLayout(shape=(2, 3), dtype="f4")
    layout[...] = h5py.VirtualSource("answers.h5", "y", shape=(2, 3))
    case["inputs"].create_virtual_dataset("x", layout)


@edit("case_of_no_use", "/cases/second", "the group inputs is missing")
def _(file, case):
    file.create_group("cases/second").attrs["factor"] = 1.0


def damaged_chunk(name, *words, **options):
    """A good file of which one stored byte of x was changed behind libhdf5's back."""
    def write(path):
        with good(path, dataset_options=dict(chunks=True, **options)) as file:
            chunk = file["cases/tiny/inputs/x"].id.get_chunk_info(0)
        data = bytearray(path.read_bytes())
        data[chunk.byte_offset] ^= 0xFF
        path.write_bytes(data)
    BROKEN[name] = (write, (IN_X, "cannot be read", *words))


damaged_chunk("damaged_deflate", compression="gzip")
damaged_chunk("damaged_checksum", "Fletcher32", fletcher32=True)


def main(folder):
    for name in ("broken", "unusual", "shapes"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    lines = []
    for name, (write, words) in BROKEN.items():
        write(folder / "broken" / (name + ".h5"))
        lines.append("\t".join((name, *words)) + "\n")
    (folder / "broken.txt").write_text("".join(lines))
    for name, write in UNUSUAL.items():
        write(folder / "unusual" / (name + ".h5"))
    write_shapes(folder / "shapes")
    print(f"{len(BROKEN)} broken files, {len(UNUSUAL)} unusual ones")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
