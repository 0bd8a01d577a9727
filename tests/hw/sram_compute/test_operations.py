"""Every operation in the ROM on arrays behind the sequencer, and on the model: rows and cycles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.hw.sram_compute.microinstruction import Base
from gnarl.hw.sram_compute.operations import FLOAT_OPERATIONS, INTEGER_OPERATIONS, Operation
from gnarl.hw.sram_compute.rom import rom
from gnarl.sw.runtime.sram_compute.model.array import ComputeArray
from tests.hw.sram_compute.bank.test_sequencer import LATENCY
from tests.support.arithmetic.floats import EIGHT_BITS, fresh_rng
from tests.support.arithmetic.numbers import corners, crossed, random_pairs
from tests.support.sram_compute.compute_arrays import ARRAYS, BITLINES, ArraysSimulator

WORDLINES, LANES = 256, ARRAYS * BITLINES
BASES = {Base.A: 0, Base.B: 32, Base.D: 64, Base.E: 128, Base.S: 160}
ROM = rom(
    [
        *INTEGER_OPERATIONS.values(),
        *(operation for kind in FLOAT_OPERATIONS.values() for operation in kind.values()),
    ]
)


@pytest.fixture(scope="module")
def simulator() -> ArraysSimulator:
    return ArraysSimulator(WORDLINES, ROM.words)


def check(simulator: ArraysSimulator, operation: Operation, n: int, model: ComputeArray) -> None:
    """On what the model holds, whose latches are 0 as those of arrays that were just loaded."""
    simulator.load(model.planes[:, 0])
    expected = model.run(operation.program(n), BASES, n)
    taken = simulator.run([(ROM.entry(operation, n), n, BASES)])
    assert taken == expected + LATENCY, operation.name
    assert (simulator.show() == model.planes[:, 0]).all(), operation.name


def with_random_rows() -> ComputeArray:
    model = ComputeArray(WORDLINES, LANES)
    model.planes[:] = fresh_rng().integers(0, 1 << 64, model.planes.shape, np.uint64)
    return model


def float_pairs(format: str) -> np.ndarray:
    """A lane's each: corners, and random ones."""
    kind = FLOAT_FORMATS[format]
    named = np.array(crossed(corners(kind)))
    random = random_pairs(kind, LANES // 2, fresh_rng())
    chosen = fresh_rng().integers(0, named.shape[1], LANES - LANES // 2)
    return np.concatenate([named[:, chosen], random], axis=1)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 32])
def test_integers(simulator, n):
    for operation in INTEGER_OPERATIONS.values():
        check(simulator, operation, n, with_random_rows())


@pytest.mark.parametrize("format", FLOAT_FORMATS)
def test_floats(simulator, format):
    for operation in FLOAT_OPERATIONS[format].values():
        model, pairs = with_random_rows(), float_pairs(format)
        for base, words in zip((Base.A, Base.B), pairs, strict=True):
            model.write(BASES[base], words, FLOAT_FORMATS[format].width)
        check(simulator, operation, 0, model)


def batches(pairs: np.ndarray) -> Iterator[np.ndarray]:
    for first in range(0, pairs.shape[1], LANES):
        yield np.resize(pairs[:, first : first + LANES], (2, LANES))


@pytest.mark.slow
@pytest.mark.parametrize("format", EIGHT_BITS)
def test_all_pairs_of_8_bits(simulator, format):
    for operation in FLOAT_OPERATIONS[format].values():
        for pairs in batches(np.array(crossed(np.arange(256, dtype=np.uint64)))):
            model = with_random_rows()
            for base, words in zip((Base.A, Base.B), pairs, strict=True):
                model.write(BASES[base], words, 8)
            check(simulator, operation, 0, model)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_a_million_pairs_of_float32(simulator, name):
    kind = FLOAT_FORMATS["float32"]
    named = np.array(crossed(corners(kind)))
    pairs = np.concatenate(
        [named, random_pairs(kind, 1_000_000 - named.shape[1], fresh_rng())], axis=1
    )
    for each in batches(pairs):
        model = with_random_rows()
        for base, words in zip((Base.A, Base.B), each, strict=True):
            model.write(BASES[base], words, kind.width)
        check(simulator, FLOAT_OPERATIONS["float32"][name], 0, model)
