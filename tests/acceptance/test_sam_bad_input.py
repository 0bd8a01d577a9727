"""Bad input to SAM through the ``gnarl`` command: one line, status 2, nothing built or written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from sw.runtime import Device
from tests.support.commands import gnarl, refusal
from tests.support.errors import refused as error_is
from tests.support.program_files import array_bytes, array_of, with_manifest, with_member
from tests.support.sam_files import (
    CONFIG,
    COPY,
    HEADER,
    PRODUCT,
    VECTOR,
    B,
    C,
    write_fibertree,
    write_mtx,
)


def refused(folder: Path, *arguments: str | Path, config: str | Path = CONFIG) -> str:
    """How ``run`` refuses, on the model as on the RTL, which is not built for it."""
    command = ("run", config, *arguments)
    line = refusal(folder, *command, "--backend", "model")
    assert line == refusal(folder, *command, "--backend", "rtl")
    assert line.startswith("gnarl: ")
    return line.removeprefix("gnarl: ")


@pytest.fixture(autouse=True)
def _no_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """No RTL is generated for bad input."""

    def generated(*arguments: Any) -> None:
        raise AssertionError("RTL was generated")

    monkeypatch.setattr("sw.runtime.verilog.verilog", generated)


@pytest.fixture
def operands(tmp_path: Path) -> list[str]:
    """The options that give ``B``, ``C`` and the vector ``c``."""
    b, c = write_mtx(tmp_path / "b.mtx", B), write_mtx(tmp_path / "c.mtx", C)
    vector = tmp_path / "c.tns"
    vector.write_text("# shape 4\n1 2\n3 4\n")
    return ["--tensor", f"B={b}", "--tensor", f"C={c}", "--tensor", f"c={vector}"]


TRANSPOSED = (
    "expression, column 6: B(i,j) cannot be walked in loop order j,i: mode 1 (index j) is stored "
    "inside mode 0 (index i), but its loop is outside; a transposed copy would do: -f=B:ss:1,0"
)

EXPRESSIONS = {
    "empty": ("", 1, "expected a result such as X(i,j), found the end"),
    "blank": (" ", 1, "expected a result such as X(i,j), found the end"),
    "only a result": ("x(i)", 5, "expected =, found the end"),
    "nothing to compute": ("x(i)=", 6, "the expression ends too early"),
    "not closed": ("x(i)=b(i", 9, "expected , or ), found the end"),
    "division": ("x=a/b", 4, "division is not supported; multiply by reciprocal(…)"),
    "diagonal": (
        "x(i)=B(i,i)",
        6,
        "index i appears twice in B(i,i); a diagonal cannot be read or written, use an index for "
        "each mode",
    ),
    "two orders": (
        "x(i)=b(i)*b",
        11,
        "tensor b has 0 indices here and 1 in column 6; a tensor has one order",
    ),
    "its own operand": (
        "x(i)=x(i)",
        6,
        "result x cannot also be an operand; give the result its own name",
    ),
    "another script": ("x(i)=𝔟(i)", 6, "unexpected character '𝔟'"),
    "format of another order": (
        "x(i)=B(i,j)*c(j) -f=x:ss",
        23,
        "format ss has 2 levels, but tensor x has 1 index; it must have one level for each",
    ),
    "format of no tensor": (
        "x(i)=b(i) -f=D:s",
        14,
        "-f names tensor D, which is not in the expression; it has x, b",
    ),
    "unknown level": (
        "x(i)=b(i) -f=b:q",
        16,
        "level format 'q' must be one of d (dense), s (compressed), b (bitvector)",
    ),
    "mode order": (
        "x(i)=B(i,j) -f=B:ss:0,0",
        21,
        "mode order 0,0 must name each of 0, 1 once",
    ),
    "loop of no index": (
        "x(i)=b(i) -s=reorder(k)",
        22,
        "index 'k' is not in the expression; it has i",
    ),
    "loop is missing": (
        "x(i)=B(i,j) -s=reorder(i)",
        26,
        "index j is missing in the loop order; it must name every index",
    ),
    "unknown option": ("x(i)=b(i) -g=b", 11, "unknown option -g; the options are -f and -s"),
    "nested": ("x=" + "(" * 5000, 63, "parts are nested deeper than 60"),
    "beyond float64": (
        "x=2*1e999",
        5,
        "a number is too large; it must be finite in float64",
    ),
    "number of 5000 digits": (
        "x=" + "9" * 5000,
        3,
        "a number is too large; it must be finite in float64",
    ),
    "long name": (
        "x" * 30_000 + "=3",
        20_001,
        "30,002 characters are too many; at most 20,000",
    ),
    "long": ("x=" + "+".join(["b"] * 1000), 603, "there are more than 300 operands"),
    "not walkable": ("x(i)=B(i,j) -f=B:ss -s=reorder(j,i)", 6, TRANSPOSED.partition(": ")[2]),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions(tmp_path: Path, name: str) -> None:
    text, column, problem = EXPRESSIONS[name]
    line = f"expression, column {column}: {problem}"
    assert refused(tmp_path, text) == line
    for command in (("compile", CONFIG, text, "-o", tmp_path / "x.npz"), ("rtl", CONFIG, text)):
        assert refusal(tmp_path, *command) == f"gnarl: {line}"


@pytest.mark.parametrize("workload", ["b.mtx", "c.tns", "no/such/x.json", "folder"])
def test_a_file_in_place_of_an_expression(
    tmp_path: Path, operands: list[str], workload: str
) -> None:
    (tmp_path / "folder").mkdir()
    path = tmp_path / workload
    assert refused(tmp_path, path, *operands) == (
        f"{path}: must be an expression or a graph (.gv, .dot); --tensor NAME=PATH gives a file's "
        "tensor"
    )


# Which tensors there are.


def test_tensors_that_are_missing(tmp_path: Path, operands: list[str]) -> None:
    hint = "--tensor NAME=PATH gives one"
    assert refused(tmp_path, VECTOR) == f"x(i)=B(i,j)*c(j): tensors B, c are not given: {hint}"
    only_c = operands[4:]
    assert refused(tmp_path, VECTOR, *only_c) == f"x(i)=B(i,j)*c(j): tensor B is not given: {hint}"
    assert refusal(tmp_path, "run", "sam_matmul", "--backend", "model") == (
        f"gnarl: X(i,j)=B(i,k)*C(k,j): tensors B, C are not given: {hint}"
    )
    assert refused(tmp_path, "x(i)=3") == (
        "expression, column 1: index i of x(i) is in no operand, so its size is not known; give "
        "the shape of x"
    )


def test_a_tensor_that_is_not_in_the_expression(tmp_path: Path, operands: list[str]) -> None:
    line = refused(tmp_path, VECTOR, *operands)
    assert line == "tensor C is not in the expression; it has B, c, x"


TENSOR_OPTIONS = {
    "B": "B: must be NAME=PATH.",
    "B=": "B=: must be NAME=PATH.",
    "=b.mtx": "=b.mtx: must be NAME=PATH.",
    "C=b.mtx": "C=b.mtx: C is given twice.",
}


@pytest.mark.parametrize("text", TENSOR_OPTIONS)
def test_tensor_options(tmp_path: Path, operands: list[str], text: str) -> None:
    line = refusal(tmp_path, "run", CONFIG, PRODUCT, *operands[:4], "--tensor", text)
    assert line == (
        f"gnarl run: Invalid value for '--tensor': {TENSOR_OPTIONS[text]} See gnarl run --help"
    )


def test_options_of_the_other_target(tmp_path: Path, operands: list[str]) -> None:
    values = ("--values", tmp_path / "c.tns")
    assert refused(tmp_path, PRODUCT, *operands[:4], *values) == (
        "--values: not supported by target sam: --tensor NAME=PATH gives its tensors"
    )
    assert refusal(tmp_path, "run", CONFIG, PRODUCT, "--no-reassociate") == (
        "gnarl run: --no-reassociate: not supported by target sam. See gnarl run --help"
    )
    assert refusal(tmp_path, "run", CONFIG) == (
        f"gnarl run: Missing argument 'WORKLOAD': {CONFIG} names none. See gnarl run --help"
    )


def test_sizes_that_contradict_each_other(tmp_path: Path, operands: list[str]) -> None:
    vector = tmp_path / "five.npy"
    np.save(vector, np.ones(5))
    b = operands[:2]
    assert refused(tmp_path, VECTOR, *b, "--tensor", f"c={vector}") == (
        "expression, column 13: index j has size 5 in mode 0 of c, but 4 in mode 1 of B; it must "
        "have one size"
    )
    assert refused(tmp_path, PRODUCT, *b, "--tensor", f"C={tmp_path / 'b.mtx'}") == (
        "expression, column 15: index k has size 3 in mode 0 of C, but 4 in mode 1 of B; it must "
        "have one size"
    )
    vector.write_bytes(b"")
    matrix = ("--tensor", f"c={tmp_path / 'c.mtx'}")
    assert refused(tmp_path, VECTOR, *b, *matrix) == (
        "expression, column 13: tensor c has 2 dimensions, but c(j) 1; they must be the same"
    )


# Files of tensors.

FILES: dict[str, tuple[str, str | bytes, str]] = {
    "entry twice": (
        "b.mtx",
        HEADER + "2 2 2\n1 1 1\n1 1 2\n",
        ":4: entry (1, 1) is already given in line 3",
    ),
    "outside": (
        "b.mtx",
        HEADER + "2 2 1\n3 1 1\n",
        ":3: entry (3, 1): row and column must be 1 to 2",
    ),
    "no number": ("b.mtx", HEADER + "2 2 1\n1 1 one\n", ":3: 'one' is not a number"),
    "NaN": ("b.mtx", HEADER + "2 2 1\n1 1 nan\n", ":3: entry (1, 1) is nan: must be finite"),
    "number of 5000 digits": (
        "b.mtx",
        HEADER + "2 2 1\n1 1 " + "9" * 5000 + "\n",
        f":3: entry (1, 1) is {'9' * 40}…: must be finite",
    ),
    "complex": (
        "b.mtx",
        HEADER.replace("real", "complex") + "1 1 1\n1 1 1 1\n",
        ":1: field 'complex': must be real, integer or pattern",
    ),
    "less than no rows": (
        "b.mtx",
        HEADER + "-1 0 0\n",
        ":2: -1 x 0: must not be negative",
    ),
    "empty .mtx": (
        "b.mtx",
        "",
        ":1: the first line must be '%%MatrixMarket matrix coordinate real general'",
    ),
    "binary": ("b.mtx", bytes(range(256)), ": byte 128 is not valid UTF-8"),
    "empty .tns": (
        "b.tns",
        "",
        ": the file has no entries: must have at least one, or a comment '# shape SIZES'",
    ),
    "index 0": ("b.tns", "0 1 1\n", ":1: index 0: must be at least 1"),
    "index is not a whole number": ("b.tns", "1.5 1 1\n", ":1: '1.5' is not a whole number"),
    "index of 5000 digits": (
        "b.tns",
        "9" * 5000 + " 1 1\n",
        f":1: '{'9' * 40}…' is not a whole number",
    ),
    "index of 30 digits": ("b.tns", "9" * 30 + " 1 1\n", f":1: {'9' * 30} has more than 63 bits"),
    "entry twice in .tns": (
        "b.tns",
        "1 1 1\n1 1 2\n",
        ":2: entry (1, 1) is already given in line 1",
    ),
    "field is missing": ("b.tns", "1 1 1\n1 1\n", ":2: 2 fields: must be 3, as in line 1"),
    "beyond the shape": (
        "b.tns",
        "# shape 2 2\n3 1 1\n",
        ":2: entry (3, 1): index 1 must be at most 2, the size in {path}:1",
    ),
    "infinity": ("b.tns", "1 1 inf\n", ":1: value inf: must be finite"),
    "zero byte": ("b.tns", "1 1 1\0\n", ":1: '1\\x00' is not a number"),
    "no zip file": ("b.npz", b"", ": not a .npz file, or damaged: File is not a zip file"),
    "cut .npy": (
        "b.npy",
        b"\x93NUMPY\x01\x00",
        ": not a .npy file, or damaged: EOF: reading array header length, expected 2 bytes got 0",
    ),
    "objects": (
        "b.npy",
        array_bytes(np.zeros(0)).replace(b"'<f8'", b"'|O' "),
        ": not a .npy file, or damaged: Object arrays cannot be loaded when allow_pickle=False",
    ),
    "NaN in .npy": (
        "b.npy",
        array_bytes(np.array([[1, np.nan]])),
        ": entry 1: the value at (0, 1) is nan: must be a finite number",
    ),
    "complex array": (
        "b.npy",
        array_bytes(np.array([[1j]])),
        ": an array of complex128 is not a tensor: must be an array of real numbers",
    ),
    "suffix": (
        "b.csv",
        "1,1\n",
        ": suffix '.csv': a tensor must be .mtx, .tns, .npz, .npy, a fibertree folder or "
        "folder/tensor_NAME",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files(tmp_path: Path, name: str) -> None:
    file, content, text = FILES[name]
    path = tmp_path / file
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    line = refused(tmp_path, COPY, "--tensor", f"B={path}")
    assert line == f"{path}{text.replace('{path}', str(path))}"


def test_files_that_are_not_there_or_no_tensors(tmp_path: Path) -> None:
    for name, text in (("no.mtx", "No such file or directory"), ("no", "no such file or folder")):
        path = tmp_path / name
        assert refused(tmp_path, COPY, "--tensor", f"B={path}") == f"{path}: {text}"
    program = tmp_path / "copy.npz"
    assert gnarl("compile", CONFIG, COPY, "-o", program).exit_code == 0
    assert refused(tmp_path, COPY, "--tensor", f"B={program}") == (
        f"{program}: a compiled program: must be a sparse matrix of SciPy"
    )


FIBERTREES: dict[str, tuple[dict[str, str | None], str]] = {
    "unsorted": (
        {"crd1": "2\n0\n1\n3\n"},
        "/tensor_B_mode_1_crd:2: the coordinate is 0 after 2 in the same fiber: must ascend",
    ),
    "duplicate": (
        {"crd0": "0\n1\n1\n"},
        "/tensor_B_mode_0_crd:3: the coordinate is 1 after 1 in the same fiber: must ascend",
    ),
    "negative": (
        {"crd1": "-1\n2\n1\n3\n"},
        "/tensor_B_mode_1_crd:1: the coordinate is -1: must be 0 to 3",
    ),
    "descending segments": (
        {"seg1": "0\n3\n2\n4\n"},
        "/tensor_B_mode_1_seg:3: the segment is 2, below 3 before it: must not descend",
    ),
    "segments end early": (
        {"seg1": "0\n1\n2\n3\n"},
        "/tensor_B_mode_1_seg:4: the segment is 3: must be 4, the number of coordinates",
    ),
    "a fiber too few": (
        {"seg1": "0\n2\n4\n"},
        ": tensor B: modes (0, 1) misfit: mode 0 has 1 fibers with 3 coordinates, mode 1 has 2 "
        "fibers with 4 coordinates; the outermost level must have one fiber, each further one a "
        "fiber for each position of the level above",
    ),
    "value is not a number": (
        {"vals": "2\n1\nx\n5\n"},
        "/tensor_B_mode_vals:3: 'x' is not a number",
    ),
    "value is NaN": (
        {"vals": "2\nnan\n4\n5\n"},
        "/tensor_B_mode_vals:2: value nan: must be finite",
    ),
    "a value too few": ({"vals": "2\n1\n4\n"}, "/tensor_B_mode_vals: 3 values: must be 4"),
    "no values": ({"vals": None}, ": no file tensor_B_mode_vals: the folder has no tensors"),
    "no shape": ({"shape": None}, "/tensor_B_mode_shape: No such file or directory"),
    "size -1": ({"shape": "-1\n4\n"}, "/tensor_B_mode_shape:1: size -1: must not be negative"),
    "no coordinates": ({"crd1": None}, "/tensor_B_mode_1_crd: No such file or directory"),
    "empty segments": (
        {"seg0": ""},
        "/tensor_B_mode_0_seg: the file is empty: must have at least one line",
    ),
}


@pytest.mark.parametrize("name", FIBERTREES)
def test_fibertree_folders(tmp_path: Path, name: str) -> None:
    changes, text = FIBERTREES[name]
    folder = write_fibertree(tmp_path / "folder", "B", **changes)
    assert refused(tmp_path, COPY, "--tensor", f"B={folder}") == f"{folder}{text}"


def test_folders_without_the_tensor(tmp_path: Path) -> None:
    folder = write_fibertree(tmp_path / "folder", "C")
    line = refused(tmp_path, COPY, "--tensor", f"B={folder}")
    assert line == f"{folder}: no file tensor_B_mode_vals: there are C"
    empty = tmp_path / "empty"
    empty.mkdir()
    line = refused(tmp_path, COPY, "--tensor", f"B={empty}")
    assert line == f"{empty}: no file tensor_B_mode_vals: the folder has no tensors"


def test_what_python_may_give() -> None:
    with Device(CONFIG, backend="model") as device:
        program = device.compile(VECTOR)
        for inputs, text in (
            ({}, "expression, column 6: tensor B is not given"),
            ([B], "inputs are a list: must be tensors by name"),
            ({"B": "b"}, "tensor B: 'b' is not a tensor: must be an array of real numbers"),
            (
                {"B": B, "c": ([[1], [0]], [1, 2], (4,))},
                "tensor c: entry 1: coordinate (0,) comes after (1,): must ascend",
            ),
            (
                {"B": B, "c": ([[1], [1]], [1, 2], (4,))},
                "tensor c: entry 1: coordinate (1,) is a duplicate",
            ),
            (
                {"B": B, "c": ([[1], [4]], [1, 2], (4,))},
                "tensor c: entry 1: coordinate (4,): dimension 0 has size 4",
            ),
        ):
            with error_is(text):
                device.run(program, inputs)
        kinds = (
            "must be an expression or the path of a graph, or a tuple of one and operands by name"
        )
        for source, text in ((None, f"a NoneType: {kinds}"), (("x=b",), f"a tuple: {kinds}")):
            with error_is(text):
                device.compile(source)


# More than the machine has.


def test_values_that_fixed_point_does_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "b.npy"
    np.save(path, np.array([[0, 1.0], [0, 1000.0]]))
    given = ("--tensor", f"B={path}", "--set", "format=fixed16.8")
    holds = "fixed16.8 holds -128.0 to 127.99609375"
    assert refused(tmp_path, COPY, *given) == f"B[1,1] = 1000.0: {holds}"
    np.save(path, np.ones((2, 2)))
    times = "X(i,j)=300*B(i,j) -f=X:ss -f=B:ss"
    assert refused(tmp_path, times, *given) == f"constant = 300.0: {holds}"


def test_arrays_that_are_too_short(tmp_path: Path) -> None:
    path = tmp_path / "b.npz"
    scipy.sparse.save_npz(path, scipy.sparse.random_array((40, 40), density=0.5, rng=1))
    given = ("--tensor", f"B={path}", "--backend", "model", "--set")
    line = refused(tmp_path, COPY, *given, "array_words=256")
    assert line == "array_words = 256: tensor B needs at least 800"
    assert gnarl("run", CONFIG, COPY, *given, "array_words=800").exit_code == 0
    dense = "X(i,j)=B(i,j) -f=B:ss"
    line = refused(tmp_path, dense, *given, "array_words=1024")
    assert line == "array_words = 1024: tensor X needs at least 1600"
    assert gnarl("run", CONFIG, dense, *given, "array_words=1600").exit_code == 0


def test_results_that_are_too_long(tmp_path: Path) -> None:
    path = tmp_path / "b.npy"
    np.save(path, np.ones(40))
    text = "X(i,j)=b(i)*c(j) -f=X:ss -f=b:s -f=c:s"
    given = ("--tensor", f"b={path}", "--tensor", f"c={path}", "--set", "array_words=256")
    assert refused(tmp_path, text, *given) == (
        "X(i,j)=b(i)*c(j): model block write_X_j (fiberwrite): writes 1,600 words to crd: "
        "must be at most 256, array_words"
    )


def test_accumulators_that_are_too_small(tmp_path: Path) -> None:
    path = tmp_path / "b.npy"
    np.save(path, np.ones((2, 100)))
    text = "x(j)=B(i,j) -f=x:s -f=B:ss -s=reorder(i,j)"
    given = (text, "--tensor", f"B={path}", "--backend", "model", "--set")
    assert refused(tmp_path, *given, "accumulator_words=64") == (
        "x(j)=B(i,j): model block accumulate_i (spaccumulator): needs 100 sums: must be at "
        "most 64, accumulator_words"
    )
    assert gnarl("run", CONFIG, *given, "accumulator_words=128").exit_code == 0


def test_indices_that_are_too_narrow(tmp_path: Path) -> None:
    path = tmp_path / "b.npy"
    np.save(path, np.eye(2, 300))
    narrow = ("--tensor", f"B={path}", "--set", "index_bits=8")
    line = refused(tmp_path, COPY, *narrow)
    assert line == "index_bits = 8: index j of size 300 needs at least 9"
    np.save(path, np.ones((20, 20)))
    line = refused(tmp_path, COPY, *narrow)
    assert line == "index_bits = 8: tensor B needs at least 9, for 400 rows"
    far = tmp_path / "b.tns"
    far.write_text(f"{10**17} 1 1\n")
    line = refused(tmp_path, COPY, "--tensor", f"B={far}")
    assert line == f"index_bits = 32: index i of size {10**17} needs at least 57"


def test_bitvectors_with_narrow_indices(tmp_path: Path, operands: list[str]) -> None:
    arguments = (COPY.replace("B:ss", "B:bb"), *operands[:2], "--set", "index_bits=16")
    assert refused(tmp_path, *arguments) == (
        "index_bits = 16: must be 32 where tensors have bitvector levels, whose rows hold words of "
        "that width"
    )


def test_dense_levels_beyond_memory(tmp_path: Path) -> None:
    path = tmp_path / "b.mtx"
    path.write_text(HEADER + "2 1000000000 1\n1 1 1\n")
    given = ("--tensor", f"B={path}")
    assert refused(tmp_path, "X(i,j)=B(i,j) -f=X:ss -f=B:dd", *given) == (
        "B: level 1 (dimension 1, dense) has 2 x 1,000,000,000 positions: at most 268,435,456; a "
        "compressed level stores only entries"
    )


# Configurations.

TOML = {
    "bad expression": (
        'target = "sam"\n\nexpression = "x(i)=b(i"\n',
        ":3: expression = 'x(i)=b(i': expression, column 9: expected , or ), found the end",
    ),
    "expression that cannot be walked": (
        'target = "sam"\nexpression = "x(i)=B(i,j) -f=B:ss -s=reorder(j,i)"\n',
        f":2: expression = 'x(i)=B(i,j) -f=B:ss -s=reorder(j,i)': {TRANSPOSED}",
    ),
    "expression is a number": (
        'target = "sam"\nexpression = 3\n',
        ":2: expression = 3: must be text",
    ),
    "fabric is a number": (
        'target = "sam"\nfabric = 3\n',
        ":2: fabric = 3: must be a table of types and numbers of units",
    ),
    "fabric that writes nothing": (
        'target = "sam"\nskip = false\n[fabric]\nroot = 1\n',
        ":3: fabric: it must have at least one root and one fiberwrite or valwrite",
    ),
    "number of units": (
        'target = "sam"\n[fabric]\nroot = -1\n',
        ":2: fabric: root = -1: must be a whole number from 0 to 255",
    ),
    "memory": (
        'target = "sam"\nmemory = "far"\n',
        ":2: memory = 'far': must be one of local, shared",
    ),
}


@pytest.mark.parametrize("name", TOML)
def test_configuration_files(tmp_path: Path, name: str) -> None:
    content, text = TOML[name]
    path = tmp_path / "mine.toml"
    path.write_text(content)
    assert refused(tmp_path, "x=3", config=path) == f"{path}{text}"
    assert refusal(tmp_path, "rtl", path) == f"gnarl: {path}{text}"


OVERRIDES = {
    "queue_depth=1": "queue_depth = 1: must be a whole number from 2 to 1024",
    "accumulator_words=100": "accumulator_words = 100: must be a power of two",
    "skip=1": "skip = 1: must be true or false",
    "alu_stages=many": "alu_stages = 'many': must be a whole number from 1 to 8",
    "memory_bandwidth=3": "memory_bandwidth = 3: must be a power of two",
    "expression=x=": "expression = 'x=': expression, column 3: the expression ends too early",
}


@pytest.mark.parametrize("override", OVERRIDES)
def test_overrides(tmp_path: Path, override: str) -> None:
    line = refused(tmp_path, "x=3", "--set", override)
    assert line == f"--set: {OVERRIDES[override]}"


def test_another_expression_than_the_configurations(tmp_path: Path) -> None:
    assert refused(tmp_path, "x=3", config="sam_matmul") == (
        f"program for another configuration: expression is x=3, must be {PRODUCT}"
    )


def test_a_fabric_with_too_few_blocks(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text('target = "sam"\n[fabric]\nroot = 1\nvalwrite = 1\narrayvals = 1\n')
    command = ("compile", path, "x=a*b", "-o", tmp_path / "x.npz")
    assert refusal(tmp_path, *command) == (
        "gnarl: graph: needs 2 of arrayvals, the fabric has 1; 1 of alu, the fabric has 0"
    )


# Graphs as DOT files. ``tests/sw/compiler/sam/test_dot.py`` has the texts; here, whole commands.


@pytest.fixture
def dot(tmp_path: Path) -> Path:
    path = tmp_path / "vector.gv"
    assert gnarl("compile", CONFIG, VECTOR, "--dot", path).exit_code == 0
    return path


DOT = {
    "empty": ("", ", line 1: the file ends inside the digraph"),
    "undirected": ("graph {}", ", line 1: expected digraph, found graph"),
    "no formats": (
        "digraph {}",
        ': the digraph must have a comment with formats, such as comment="x=s0,b=s0"',
    ),
    "bad format": (
        'digraph { comment="x=q0" }',
        ": comment of the digraph: format x=q0 must be none, or levels of d, s, b and then the "
        "mode of each, such as B=ss10",
    ),
    "unknown type": (
        'digraph { comment="x=none"\n\na [comment="type=frob"] }',
        ", line 3: node a: unknown type frob",
    ),
    "no type": (
        'digraph { comment="x=none"\na -> b }',
        ", line 2: node a has no type; it must have one",
    ),
    "feeds itself": (
        'digraph { comment="x=none,b=none"\na [type="add"]\nw [type="fiberwrite" mode="vals" '
        'tensor="x"]\na -> w [type="val"]\na -> a [type="val"]\na -> a [type="val"] }',
        ", line 2: add a feeds itself",
    ),
    "nested": (
        "digraph " + "{" * 10_000,
        ", line 1: subgraphs are not supported; write the nodes into the digraph",
    ),
    "binary": (bytes(range(256)), ": byte 128 is not valid UTF-8"),
    "zero bytes": (b"\0" * 9, ", line 1: unexpected character '\\x00'"),
}


@pytest.mark.parametrize("name", DOT)
def test_dot_files(tmp_path: Path, name: str) -> None:
    content, text = DOT[name]
    path = tmp_path / "x.gv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert refused(tmp_path, path) == f"{path}{text}"
    command = ("compile", CONFIG, path, "-o", tmp_path / "x.npz")
    assert refusal(tmp_path, *command) == f"gnarl: {path}{text}"


def test_a_graph_without_one_of_its_lines(tmp_path: Path, dot: Path, operands: list[str]) -> None:
    given = (*operands[:2], *operands[4:])
    assert gnarl("run", CONFIG, dot, *given, "--backend", "model").exit_code == 0
    lines = dot.read_text().splitlines(keepends=True)
    for left_out in range(len(lines)):
        dot.write_text("".join(lines[:left_out] + lines[left_out + 1 :]))
        line = refusal(tmp_path, "run", CONFIG, dot, *given)
        assert line.startswith(f"gnarl: {dot}")


def test_a_graph_with_an_edge_twice(tmp_path: Path, dot: Path) -> None:
    lines = dot.read_text().splitlines(keepends=True)
    edges = [number for number, line in enumerate(lines) if "->" in line]
    for number in edges:
        dot.write_text("".join(lines[: number + 1] + lines[number:]))
        line = refusal(tmp_path, "run", CONFIG, dot)
        assert line.startswith(f"gnarl: {dot}, line {number + 2}: ")


def test_a_graph_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "no.gv"
    assert refused(tmp_path, path) == f"{path}: No such file or directory"


def test_a_graph_is_not_written_over(tmp_path: Path, dot: Path) -> None:
    line = refusal(tmp_path, "compile", CONFIG, dot, "--dot", dot)
    assert line == f"gnarl: {dot}: is the workload itself: must be another file"


# Programs.


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "copy.npz"
    assert gnarl("compile", CONFIG, COPY, "-o", path).exit_code == 0
    return path


def test_a_program_for_another_configuration(tmp_path: Path, program: Path) -> None:
    for config, text in (
        ("sam_fp32", "queue_depth is 32, must be 4"),
        ("dpu_d1_b8", "target is sam, must be dpu"),
    ):
        setting = ("--set", "queue_depth=4") if config == CONFIG else ()
        line = refused(tmp_path, program, *setting, config=config)
        assert line == f"{program}: program for another configuration: {text}"
    line = refused(tmp_path, program, config="sam_matmul")
    assert line == (
        f"{program}: program for another configuration: array_words is 262144, must be 4096; "
        f"accumulator_words is 131072, must be 1024; expression is {COPY}, must be {PRODUCT}"
    )


def test_a_program_without_tensors(tmp_path: Path, program: Path) -> None:
    assert refused(tmp_path, program) == (
        "X(i,j)=B(i,j): tensor B is not given: --tensor NAME=PATH gives one"
    )


def refused_program(folder: Path, program: Path) -> str:
    """How it is refused with its tensor, without the file's name."""
    b = write_mtx(folder / "b.mtx", B)
    line = refused(folder, program, "--tensor", f"B={b}")
    assert line.startswith(f"{program}: ")
    return line.removeprefix(f"{program}: ")


def test_programs_cut_anywhere(tmp_path: Path, program: Path) -> None:
    whole = program.read_bytes()
    for length in [0, 1, *range(100, len(whole), 1009), len(whole) - 1]:
        program.write_bytes(whole[:length])
        text = refused_program(tmp_path, program)
        assert text.startswith("not a program file, or damaged: ")


MANIFEST = {
    "digest": ("0", "program for another configuration: digest is 0, must be "),
    "config": ({}, "program for another configuration: format is missing, must be float32; "),
}


@pytest.mark.parametrize("field", MANIFEST)
def test_bad_fields_of_a_manifest(tmp_path: Path, program: Path, field: str) -> None:
    value, text = MANIFEST[field]
    with_manifest(program, **{field: value})
    assert refused_program(tmp_path, program).startswith(text)


def plan_of(program: Path) -> dict[str, Any]:
    with np.load(program) as archive:
        plan: dict[str, Any] = json.loads(archive["plan"].tobytes())
    return plan


def with_plan(program: Path, plan: Any) -> None:
    octets = np.frombuffer(json.dumps(plan).encode(), np.uint8)
    with_member(program, "plan.npy", array_bytes(octets))


PLANS = {
    "no plan": ({}, "section 'plan': cannot be understood: KeyError: 'statement'"),
    "no graph": (
        {"graph": {"blocks": [], "edges": []}},
        "section 'plan': graph: nothing is written: must have a valwrite",
    ),
    "bad statement": (
        {"statement": "X(i,j)="},
        "section 'plan': expression, column 8: the expression ends too early",
    ),
    "of other tensors": (
        {"statement": "Y(i,j)=D(i,j) -f=Y:ss -f=D:ss"},
        "section 'plan': block lookup_B_i: tensor B: the statement has Y, D",
    ),
    "with other formats": (
        {"statement": "X(i,j)=B(i,j)"},
        "section 'plan': its statement does not match the expression of config",
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_bad_plans(tmp_path: Path, program: Path, name: str) -> None:
    changes, text = PLANS[name]
    with_plan(program, {**plan_of(program), **changes} if changes else {})
    assert refused_program(tmp_path, program) == text


def test_a_plan_with_another_graph(tmp_path: Path, program: Path) -> None:
    plan = plan_of(program)
    blocks = plan["graph"]["blocks"]
    writer = next(block for block in blocks if block["name"] == "write_X_j")
    writer["keep_empty"] = not writer["keep_empty"]
    with_plan(program, plan)
    assert refused_program(tmp_path, program) == "section 'plan': its graph does not match config"


HOSTILE_PLANS = [b"", b"[" * 100_000, b"3", b"\0" * 9, bytes(range(256))]


@pytest.mark.parametrize("octets", HOSTILE_PLANS, ids=["empty", "deep", "number", "zero", "binary"])
def test_hostile_plans(tmp_path: Path, program: Path, octets: bytes) -> None:
    with_member(program, "plan.npy", array_bytes(np.frombuffer(octets, np.uint8)))
    assert refused_program(tmp_path, program).startswith("section 'plan'")


def test_a_fabric_that_is_not_set_to_the_plan(tmp_path: Path) -> None:
    program = tmp_path / "fabric.npz"
    assert gnarl("compile", "sam_fabric_small", COPY, "-o", program).exit_code == 0
    given = (program, "--tensor", f"B={write_mtx(tmp_path / 'b.mtx', B)}")
    whole = gnarl("run", "sam_fabric_small", *given, "--backend", "model")
    assert whole.exit_code == 0, whole.stderr
    with np.load(program) as archive:
        words = archive["configuration"]
    for spoilt in (words[:-1], words * 0, words + np.uint32(99)):
        with_member(program, "configuration.npy", array_bytes(spoilt))
        line = refused(tmp_path, *given, config="sam_fabric_small")
        assert line == f"{program}: section 'configuration': does not match the plan's graph"


def test_a_fabrics_words_where_there_is_none(tmp_path: Path, program: Path) -> None:
    empty = array_of(array_bytes(np.zeros(0, np.uint32)))
    with_member(program, "configuration.npy", array_bytes(np.append(empty, np.uint32(1))))
    assert refused_program(tmp_path, program) == (
        "section 'configuration': must be empty: config has no fabric"
    )
