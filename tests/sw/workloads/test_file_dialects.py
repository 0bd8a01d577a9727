"""Tensors in files of any dialect at once: spellings of numbers and headers, comments, blanks, line
ends, encodings, compression, order of entries, and entries given in parts."""

from __future__ import annotations

import bz2
import gzip
import warnings
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gnarl.sw.workloads.refusals import InputWarning
from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.tensor.tensor_files import load_tensor

SUFFIXES = (".mtx", ".ttx", ".tns")
EDGES = (0.0, -0.0, 5e-324, -2.2250738585072014e-308, 1.7976931348623157e308, 0.1, 1e22, 1e-7)
COMMENTS = (b"", b" caf\xe9", b" \xf0\x9f\x98\x80", b" 1 2 3", b"%", b"\x0b1 1 1", b"\t")


def tensor_of(random: Random, order: int) -> Tensor:
    """A tensor of sizes from 0, some of whose values are at the edges of float64."""
    shape = tuple(random.choice((0, 1, 1, 2, 3, 7)) for _ in range(order))
    count = random.randint(0, min(12, int(np.prod(shape, dtype=int))))
    places = np.sort(random.sample(range(int(np.prod(shape, dtype=int))), count)).astype(int)
    coordinates = np.array(np.unravel_index(places, shape or (1,)), np.int64).T
    values = [
        random.choice((*EDGES, random.gauss(0, 1), float(random.randint(-9, 9)))) for _ in places
    ]
    return Tensor(shape, coordinates[:, :order], np.array(values, float))


def spelled(random: Random, value: float, *, whole: bool) -> str:
    """The number in one of the ways in which programs write it."""
    if whole and abs(value) < 1e15:
        return random.choice((f"{value:.0f}", f"{value:.1f}", f"{value:+.0f}", f"{value:.0f}."))
    text = random.choice((repr(value), f"{value:.17g}", f"{value:.16e}", f"{value:.16E}"))
    return text.replace("e", "D").replace("E", "d") if random.random() < 0.3 else text


class Writer:
    """Writes a tensor in a dialect that is drawn."""

    def __init__(self, random: Random, suffix: str) -> None:
        self._random = random
        self._mark = b"#" if suffix == ".tns" else b"%"
        self.ending = random.choice((b"\n", b"\r\n", b"\r"))
        self.lines: list[bytes] = []

    def row(self, words: list[str]) -> None:
        """A line of words; comments and blank lines may come before it, a comment behind it."""
        while self._random.random() < 0.2:
            self.lines.append(self._random.choice((b"", b"  \t", self._comment())))
        gap = self._random.choice((" ", "  ", "\t", " \t "))
        line = gap.join(words).encode()
        if self._random.random() < 0.2:
            line = self._random.choice((b" ", b"\t")) + line
        if self._random.random() < 0.2:
            line += self._random.choice((b" ", b"\t", b" " + self._comment()))
        self.lines.append(line)

    def _comment(self) -> bytes:
        return self._mark + self._random.choice(COMMENTS)


def written(random: Random, tensor: Tensor, suffix: str) -> bytes:
    """The bytes of a file, and some entries of it in parts."""
    writer = Writer(random, suffix)
    entries = []
    for place, value in zip((tensor.coordinates + 1).tolist(), tensor.values.tolist(), strict=True):
        parts = [value]
        if value and random.random() < 0.2 and abs(value) > 1e-300:
            parts = [value / 2, value / 2]
        entries += [(place, part) for part in parts]
    random.shuffle(entries)
    sizes = [str(size) for size in tensor.shape]
    whole = suffix != ".tns" and all(part == int(part) for _, part in entries)
    if suffix == ".tns":
        named = f"# shape {' '.join(sizes)}".encode()
        if random.random() < 0.4 and tensor.order and entries:
            announced = [str(len(entries))] * random.randint(0, 1)
            # Two sizes and an order of 2 could be entries, unless one of three indices follows.
            writer.row([str(tensor.order), *announced])
            writer.row(sizes)
        else:
            writer.lines.append(named)
    else:
        kind = "matrix" if suffix == ".mtx" else "tensor"
        field = "integer" if whole and random.random() < 0.6 else random.choice(("real", "double"))
        whole = whole and field == "integer"
        head = f"{random.choice(('%%', '%'))}MatrixMarket {kind} coordinate {field} general"
        writer.lines.append(random.choice((head, head.lower(), head.upper())).encode())
        writer.row([*sizes, str(len(entries))])
    for place, part in entries:
        writer.row([*map(str, place), spelled(random, part, whole=whole)])
    return writer.ending.join(writer.lines) + random.choice((b"", writer.ending))


def check(seed: int, folder: Path) -> None:
    random = Random(seed)
    suffix = random.choice(SUFFIXES)
    order = 2 if suffix == ".mtx" else random.randint(0 if suffix == ".ttx" else 1, 4)
    tensor = tensor_of(random, order)
    octets = written(random, tensor, suffix)
    name, compress = random.choice(
        (("", bytes), (".gz", gzip.compress), (".BZ2", bz2.compress), (".Gz", gzip.compress))
    )
    path = folder / f"t{suffix}{name}"
    path.write_bytes(compress(octets))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        found = load_tensor(path)
    assert found.shape == tensor.shape, octets
    assert np.array_equal(found.coordinates, tensor.coordinates), octets
    assert np.array_equal(found.values, tensor.values), octets


@settings(max_examples=150)
@given(st.integers(0, 2**32))
@example(0)
def test_any_dialect(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    check(seed, tmp_path_factory.getbasetemp())


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 20_000, 1000))
def test_many_dialects(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 1000):
        check(seed, tmp_path)
