"""Both units' interpreters on EmbeddingBag by hand, against NumPy's sums, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.sw.execute.values import execute
from gnarl.sw.runtime.tmu.model import access
from tests.support.tmu.access_programs import Bags, embedding_bag
from tests.support.tmu.embedding_execute import execute_side, sums, with_tokens

BEYOND = 0xDEAD_BEEF


def summed(bags: Bags, level: int, lanes: int) -> tuple[np.ndarray, execute.ExecuteRun]:
    """The result's rows, and what the execute unit did; nothing else is written."""
    out = sum(map(np.size, (bags.offsets, bags.indices, bags.table))) + 3 * 16
    words = (len(bags.offsets) - 1) * bags.table.shape[1]
    memory, bases = bags.memory(out + words + 64)
    before = memory.copy()
    side = execute_side(bags, out, level, lanes)
    program = with_tokens(embedding_bag(bags, bases, level), side.labels)
    done = execute.run(side.words(), memory, lanes, access.run(program, memory, lanes))
    assert np.array_equal(memory[:out], before[:out])
    assert (memory[out + words :] == BEYOND).all()
    return memory[out : out + words].reshape(-1, bags.table.shape[1]), done


@pytest.mark.parametrize("level", [0, 1, 3])
@settings(max_examples=12)
@given(
    segments=st.integers(0, 4),
    most=st.integers(0, 4),
    dimension=st.integers(1, 40),
    lanes=st.sampled_from([2, 4, 8, 16]),
    seed=st.integers(0, 1 << 32),
)
def test_sums(level, segments, most, dimension, lanes, seed):
    """Sums of any words, infinities and NaNs among them."""
    bags = Bags.random(np.random.default_rng(seed), segments, most, 9, dimension)
    assert np.array_equal(summed(bags, level, lanes)[0], sums(bags))


def test_what_level_1_takes():
    """Per vector of eight words: seven instructions, eleven words and a token."""
    indices, offsets = np.arange(6, dtype=np.uint32), np.array([0, 2, 6], np.uint32)
    bags = Bags(indices, offsets, np.ones((6, 16), np.uint32))
    _, done = summed(bags, 1, lanes=8)
    vectors, zeroed = 6 * 2, 2 * 16
    assert (done.words, done.tokens) == (11 * vectors, vectors + 1)
    assert done.instructions == 7 * vectors + zeroed + 5
    assert (done.loads, done.stores, done.prefetches) == (vectors, vectors + zeroed, 0)
    assert (done.vector, done.scalar, done.control, done.memory) == (
        vectors,
        3 * vectors + 2,
        vectors + 3,
        2 * vectors + zeroed,
    )


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 1, 3])
def test_rm3(level):
    """16 segments of 256 rows of 128 words."""
    rng = np.random.default_rng(3)
    table = rng.normal(size=(16384, 128)).astype(np.float32).view(np.uint32)
    indices = rng.integers(0, len(table), 16 * 256).astype(np.uint32)
    bags = Bags(indices, np.arange(0, 4097, 256, dtype=np.uint32), table)
    assert np.array_equal(summed(bags, level, lanes=8)[0], sums(bags))
