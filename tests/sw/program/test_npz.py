"""Archives and arrays that are damaged, hostile or of a kind that NumPy does not write."""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gnarl.sw.program import npz
from gnarl.sw.program.npz import SAMPLE, ArrayFileError, Npz, read_array, write_npz
from tests.support.program_files import array_bytes


def refused(text: str) -> pytest.RaisesExc[ArrayFileError]:
    return pytest.raises(ArrayFileError, match=f"^{re.escape(text)}$")


def archive(*members: tuple[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    octets = io.BytesIO()
    with zipfile.ZipFile(octets, "w", method) as file:
        for name, content in members:
            file.writestr(zipfile.ZipInfo(name), content, method)
    return octets.getvalue()


def opened(octets: bytes, **options: int) -> Npz:
    return Npz(io.BytesIO(octets), **options)


X = array_bytes(np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_of_numpy(save: Any) -> None:
    octets = io.BytesIO()
    given = {"a": np.arange(5), "b": np.asfortranarray(np.ones((2, 3))), "c": np.array("text")}
    save(octets, **given)
    found = Npz(octets)
    assert (found.arrays, found.others) == (["a", "b", "c"], [])
    for name, array in given.items():
        assert np.array_equal(found.array(name), array)
        assert found.array(name).dtype == array.dtype


def test_other_members() -> None:
    found = opened(archive(("manifest.json", b"{}"), ("x.npy", X), ("empty", b"")))
    assert (found.arrays, found.others) == (["x"], ["manifest.json", "empty"])
    assert (found.read("manifest.json"), found.read("empty")) == (b"{}", b"")


@given(
    arrays.arrays(
        st.sampled_from(["|b1", "|i1", "<i4", ">u8", "<f2", ">f8", "<c8", "|S3", "<U2"]),
        arrays.array_shapes(min_dims=0, max_dims=4, min_side=0),
    ),
    st.sampled_from([(1, 0), (2, 0), (3, 0)]),
)
def test_arrays_of_numpy(array: np.ndarray, version: tuple[int, int]) -> None:
    for ordered in (array, np.asarray(array, order="F")):
        octets = io.BytesIO()
        np.lib.format.write_array(octets, ordered, version)
        found = read_array(io.BytesIO(octets.getvalue()), len(octets.getvalue()))
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert found.tobytes() == array.tobytes()
        assert found.flags.c_contiguous


# Arrays


def array_of(header: str, elements: bytes = b"", version: bytes = b"\1\0") -> bytes:
    length = struct.pack("<H" if version == b"\1\0" else "<I", len(header))
    return b"\x93NUMPY" + version + length + header.encode() + elements


def with_header(**fields: str) -> bytes:
    known = {"descr": "'<f8'", "fortran_order": "False", "shape": "(2,)"} | fields
    text = ", ".join(f"'{name}': {value}" for name, value in known.items() if value)
    return array_of(f"{{{text}}}", bytes(16))


HEADERS = {
    "objects": with_header(descr="'|O'"),
    "records": with_header(descr="[('a', '<f8')]"),
    "many in a text": with_header(descr="'<f8,<f8'"),
    "dates": with_header(descr="'<M8[ns]'"),
    "elements without bytes": with_header(descr="'<U0'"),
    "unknown elements": with_header(descr="'<f5'"),
    "elements beyond memory": with_header(descr=f"'<U{10**30}'"),
    "order": with_header(fortran_order="2"),
    "no order": with_header(fortran_order=""),
    "more": with_header(more="1"),
    "negative": with_header(shape="(-2,)"),
    "no tuple": with_header(shape="2"),
    "a fraction": with_header(shape="(2.0,)"),
    "truth": with_header(shape="(True,)"),
    "a call": with_header(shape="(len('ab'),)"),
    "unclosed": array_of("{'descr': ("),
    "deep": array_of("(" * 4000),
    "signs": array_of("-" * 4000 + "1"),
    "indented": array_of("{}\n  \n {"),
    "a warning": array_of("{'\\d': 1 is 2}"),
    "zero bytes": array_of("{\0}"),
    "empty": array_of(""),
    "no text": b"\x93NUMPY\3\0" + struct.pack("<I", 2) + b"\xff\xfe",
    "a set": array_of("{'descr'}"),
    "unhashable": array_of("{[]: 1}"),
}


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.filterwarnings("error")
def test_headers_that_are_refused(name: str) -> None:
    octets = HEADERS[name]
    with pytest.raises(ArrayFileError) as caught:
        read_array(io.BytesIO(octets), len(octets))
    assert re.fullmatch("header .*: must be that of plain numbers", str(caught.value))
    assert len(str(caught.value)) < 150


ARRAYS = {
    "empty": (b"", "not an array of NumPy"),
    "short": (b"\x93NUM", "not an array of NumPy"),
    "other magic": (b"\x93NUMPX\1\0", "not an array of NumPy"),
    "other version": (array_of("{}", version=b"\4\0"), "not an array of NumPy"),
    "no header": (X[:9], "ends 1 bytes too early"),
    "half a header": (X[:100], "ends 28 bytes too early"),
    "a long header": (
        array_of(" " * 10**6, version=b"\2\0"),
        "header of 1,000,000 bytes: must be at most 4,096",
    ),
    "half of it": (X[:-8], "40 bytes of elements: must be 48, as float64 [2, 3]"),
    "more": (X + b"\0", "49 bytes of elements: must be 48, as float64 [2, 3]"),
    "beyond memory": (
        with_header(shape=f"({10**15},)"),
        "16 bytes of elements: must be 8,000,000,000,000,000, as float64 [1000000000000000]",
    ),
    "beyond memory but empty": (
        array_of(f"{{'descr': '<f8', 'fortran_order': False, 'shape': (0, {2**62}, {2**62})}}"),
        "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible "
        "size.",
    ),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_are_refused(name: str) -> None:
    octets, text = ARRAYS[name]
    with refused(text):
        read_array(io.BytesIO(octets), len(octets))


# Archives


def changed(octets: bytes, at: int, value: bytes) -> bytes:
    """With a field of the directory's first entry exchanged."""
    begin = octets.index(b"PK\1\2") + at
    return octets[:begin] + value + octets[begin + len(value) :]


def bomb() -> bytes:
    """3 GB of zeros, in 3 MB."""
    packer, zeros = zlib.compressobj(1, wbits=-15), bytes(10**7)
    part = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)  # can be repeated
    packed = 300 * part + packer.flush()
    octets = archive(("x.npy", packed))
    sizes = struct.pack("<II", len(packed), 3 * 10**9)
    octets = changed(changed(octets, 10, b"\x08\0"), 20, sizes)
    return octets[:8] + b"\x08\0" + octets[10:]


DEFLATED = archive(("x.npy", X), method=zipfile.ZIP_DEFLATED)
LZMA = archive(("x.npy", X), method=zipfile.ZIP_LZMA)
STORED = archive(("x.npy", X))

ARCHIVES: dict[str, tuple[Callable[[], bytes], str]] = {
    "no archive": (lambda: X, "File is not a zip file"),
    "empty": (lambda: b"", "File is not a zip file"),
    "twice": (
        lambda: archive(("x.npy", X), ("y.npy", X)).replace(b"y.npy", b"x.npy"),
        "'x.npy' is there twice",
    ),
    "a name of two lines": (
        lambda: archive(("x\n.npy", X)),
        "'x\\n.npy': must be named by printable characters",
    ),
    "encrypted": (lambda: changed(STORED, 8, b"\1\0"), "'x.npy' is encrypted: not supported"),
    "another method": (
        lambda: LZMA,
        "'x.npy' is compressed by method 14: must be stored or deflated",
    ),
    "unknown method": (
        lambda: changed(STORED, 10, b"\x63\0"),
        "'x.npy' is compressed by method 99: must be stored or deflated",
    ),
    "a bomb": (
        bomb,
        "expands to 3,000,000,000 bytes: must be at most 536,870,912, or not compressed",
    ),
}


@pytest.mark.parametrize("name", ARCHIVES)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_archives_that_are_refused(name: str) -> None:
    octets, text = ARCHIVES[name]
    with refused(text):
        opened(octets())


def test_a_reader_may_allow_less_or_more() -> None:
    content = array_bytes(np.zeros(1000))
    octets = archive(("x.npy", content), method=zipfile.ZIP_DEFLATED)
    assert opened(octets, limit=len(content)).array("x").shape == (1000,)
    with refused(
        f"expands to {len(content):,} bytes: must be at most {len(content) - 1:,}, or not "
        "compressed"
    ):
        opened(octets, limit=len(content) - 1)
    assert opened(archive(("x.npy", content)), limit=0).array("x").shape == (1000,)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (len(X) - 8, "Bad CRC-32 for file 'x.npy'"),
        (len(X) + 8, "56 bytes of elements: must be 48, as float64 [2, 3]"),
    ],
)
def test_a_member_that_expands_to_more_or_less_than_it_says(size: int, text: str) -> None:
    found = opened(changed(DEFLATED, 24, struct.pack("<I", size)))
    with refused(f"'x.npy' is damaged: {text}"):
        found.array("x")


@given(st.data())
def test_any_damage_is_refused_or_harmless(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([DEFLATED, LZMA, STORED]))
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = opened(bytes(damaged[: data.draw(st.integers(0, len(damaged)))]))
        for name in found.arrays:
            assert np.array_equal(found.array(name), np.arange(6.0).reshape(2, 3))
    except ArrayFileError as error:
        assert "\n" not in str(error)


NOISE = np.random.default_rng(0).integers(0, 2**63, SAMPLE // 2)
SORTED = np.arange(SAMPLE // 2)
NO_OTHERS: Mapping[str, bytes] = {}


def written(arrays: dict[str, np.ndarray], others: Mapping[str, bytes] = NO_OTHERS) -> bytes:
    file = io.BytesIO()
    write_npz(file, arrays, others)
    return file.getvalue()


@given(
    st.dictionaries(
        st.sampled_from(["file", "arr_0", "x", "x.labels", "é"]),
        arrays.arrays(
            st.sampled_from([np.bool_, np.int8, np.uint64, np.float32, np.complex128, "U3", "S1"]),
            arrays.array_shapes(min_dims=0, min_side=0),
        ),
    ),
    st.booleans(),
)
def test_what_is_written_is_read_as_it_was(drawn: dict[str, np.ndarray], transposed: bool) -> None:
    given_arrays = {name: array.T if transposed else array for name, array in drawn.items()}
    octets = written(given_arrays, {"manifest.json": b"{}"})
    assert octets == written(given_arrays, {"manifest.json": b"{}"})
    ours, theirs = Npz(io.BytesIO(octets)), np.load(io.BytesIO(octets))
    assert ours.arrays == list(drawn)
    assert ours.read("manifest.json") == b"{}"
    for name, array in given_arrays.items():
        for found in (ours.array(name), theirs[name]):
            assert (found.dtype, found.shape) == (array.dtype, array.shape)
            assert found.tobytes() == np.asarray(array, order="C").tobytes()


def test_what_gets_smaller_is_compressed() -> None:
    octets = written({"noise": NOISE, "sorted": SORTED, "empty": SORTED[:0]}, {"text": b"x" * 1000})
    with zipfile.ZipFile(io.BytesIO(octets)) as archive:
        methods = {member.filename: member.compress_type for member in archive.infolist()}
    compressed = {name for name, method in methods.items() if method == zipfile.ZIP_DEFLATED}
    assert compressed == {"sorted.npy", "text"}


def test_what_readers_would_not_expand_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = written({"x": SORTED[:10_000]}), written({"x": SORTED})
    monkeypatch.setattr(npz, "EXPANDED", 100_000)
    assert written({"x": SORTED[:10_000]}) == small
    assert len(written({"x": SORTED})) > SORTED.nbytes > len(large)
    assert np.array_equal(opened(written({"x": SORTED}), limit=0).array("x"), SORTED)
