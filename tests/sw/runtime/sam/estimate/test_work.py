"""Products that are counted, against products that are made."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product

import numpy as np

from gnarl.sw.runtime.sam.estimate.work import Positions, work
from tests.support.errors import noted

LETTERS = "ijklmnop"


def of(indices: str, array: np.ndarray) -> Positions:
    """Where an array is not 0."""
    return Positions(tuple(indices), np.nonzero(array))


def of_shape(indices: str, *shape: int, seed: int = 0, density: float = 0.4) -> np.ndarray:
    noise = np.random.default_rng([seed, len(indices), *map(ord, indices)])
    return (noise.random(shape) < density).astype(float)


def counted(operands: Sequence[Positions], index: str, sizes: dict[str, int]) -> np.ndarray:
    """Combinations of a position of each operand that agree in the coordinates of all indices."""
    found = np.zeros(sizes[index])
    places = [[*zip(*each.coordinates, strict=True)] for each in operands]
    for combination in product(*places):
        known: dict[str, int] = {}
        pairs = zip(operands, combination, strict=True)
        each = [(i, n) for operand, place in pairs for i, n in zip(operand.indices, place)]  # noqa: B905
        if all(known.setdefault(i, n) == n for i, n in each):
            found[known[index]] += 1
    return found


def drawn_tree(rng: random.Random) -> tuple[list[Positions], dict[str, int]]:
    """Operands each of which shares one index with those before it and brings one or two, in any
    order; positions may come twice, and all that there are be few."""
    sizes = {letter: rng.choice((1, 2, 3, 4)) for letter in LETTERS}
    reached, operands = ["i"], []
    for _ in range(rng.randint(1, 4)):
        fresh = [letter for letter in LETTERS if letter not in reached][: rng.choice((1, 1, 2))]
        indices = [rng.choice(reached), *fresh]
        rng.shuffle(indices)
        count = rng.choice((0, 1, 3, 5, 6))
        columns = [np.array([rng.randrange(sizes[i]) for _ in range(count)], int) for i in indices]
        operands.append(Positions(tuple(indices), columns))
        reached += fresh
    rng.shuffle(operands)
    return operands, sizes


def test_random_trees() -> None:
    for seed in range(300):
        operands, sizes = drawn_tree(random.Random(seed))
        with noted(f"{seed}: {[each.indices for each in operands]}"):
            np.testing.assert_array_equal(work(operands, "i", sizes), counted(operands, "i", sizes))


def test_random_trees_with_operands_that_bring_nothing() -> None:
    """Masks, and what is added, behind what brings their indices."""
    for seed in range(100):
        rng = random.Random(seed)
        operands, sizes = drawn_tree(rng)
        expected = counted(operands, "i", sizes)
        for each in rng.sample(operands, min(2, len(operands))):
            kept = rng.randint(1, len(each.indices))
            nothing = [np.zeros(rng.randrange(3), int)] * kept
            operands.append(Positions(each.indices[:kept], nothing))
        if any(each.indices == ("i",) for each in operands):
            continue
        with noted(f"{seed}: {[each.indices for each in operands]}"):
            np.testing.assert_array_equal(work(operands, "i", sizes), expected)


def test_products_of_matrices() -> None:
    for seed in range(5):
        a, f = of_shape("ik", 40, 33, seed=seed), of_shape("km", 33, 7, seed=seed)
        sizes = {"i": 40, "k": 33, "m": 7}
        operands = [of("ik", a), of("km", f)]
        np.testing.assert_array_equal(work(operands, "i", sizes), (a @ f).sum(axis=1))
        np.testing.assert_array_equal(work(operands, "m", sizes), (a @ f).sum(axis=0))
        np.testing.assert_array_equal(
            work(operands, "k", sizes), a.sum(axis=0) * f.sum(axis=1), "from between"
        )


def test_a_chain_of_three_in_any_order() -> None:
    a, b, c = of_shape("ik", 9, 8), of_shape("km", 8, 7), of_shape("mn", 7, 6)
    operands = [of("ik", a), of("km", b), of("mn", c)]
    sizes = {"i": 9, "k": 8, "m": 7, "n": 6}
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)):
        found = work([operands[number] for number in order], "i", sizes)
        np.testing.assert_array_equal(found, (a @ b @ c).sum(axis=1))


def test_stored_transposed() -> None:
    a, f = of_shape("ik", 9, 8), of_shape("km", 8, 7)
    found = work([of("ki", a.T), of("mk", f.T)], "i", {"i": 9, "k": 8, "m": 7})
    np.testing.assert_array_equal(found, (a @ f).sum(axis=1))


def test_of_two_that_share_two_indices_the_first_counts() -> None:
    a, b = of_shape("ik", 9, 8), of_shape("ikm", 9, 8, 3)
    sizes = {"i": 9, "k": 8, "m": 3}
    found = work([of("ik", a), of("ikm", b)], "i", sizes)
    np.testing.assert_array_equal(found, a.sum(axis=1) * b.sum(axis=(1, 2)))
    found = work([of("ikm", b), of("ik", a)], "i", sizes)
    np.testing.assert_array_equal(found, b.sum(axis=(1, 2)))


def test_the_nearest_come_first() -> None:
    """What is read of two ways to m and k is what begins at i."""
    c, b, a = of_shape("km", 8, 3), of_shape("im", 9, 3), of_shape("ik", 9, 8)
    found = work([of("km", c), of("im", b), of("ik", a)], "i", {"i": 9, "k": 8, "m": 3})
    np.testing.assert_array_equal(found, b.sum(axis=1) * a.sum(axis=1))


def test_what_is_added_counts_nothing() -> None:
    a, b = of_shape("ik", 9, 8), of_shape("ki", 8, 9)
    found = work([of("ik", a), of("ki", b), of("k", b[:, 0])], "i", {"i": 9, "k": 8})
    np.testing.assert_array_equal(found, a.sum(axis=1))


def test_a_vector_before_a_matrix_says_which_rows_there_are() -> None:
    v, a = of_shape("i", 9), of_shape("ik", 9, 8)
    sizes = {"i": 9, "k": 8}
    np.testing.assert_array_equal(work([of("i", v)], "i", sizes), v)
    np.testing.assert_array_equal(work([of("i", v), of("i", 1 - v)], "i", sizes), v)
    found = work([of("i", v), of("ik", a)], "i", sizes)
    np.testing.assert_array_equal(found, v * a.sum(axis=1))
    found = work([of("ik", a), of("i", v)], "i", sizes)
    np.testing.assert_array_equal(found, a.sum(axis=1))


def test_an_operand_at_no_index_of_others_counts_nothing() -> None:
    a = of_shape("ik", 9, 8)
    apart = of("mn", np.zeros((3, 4)))
    found = work([apart, of("ik", a)], "i", {"i": 9, "k": 8, "m": 3, "n": 4})
    np.testing.assert_array_equal(found, a.sum(axis=1))


def test_nothing() -> None:
    np.testing.assert_array_equal(work([], "i", {"i": 3}), [1, 1, 1])
    assert work([], "i", {"i": 0}).shape == (0,)
    empty = of("ik", np.zeros((0, 3)))
    assert work([empty], "i", {"i": 0, "k": 3}).shape == (0,)
    found = work([of("ik", np.ones((2, 3))), of("km", np.zeros((3, 0)))], "i", dict(i=2, k=3, m=0))
    np.testing.assert_array_equal(found, [0, 0])


def test_counts_beyond_what_32_bits_hold() -> None:
    rows = np.zeros(100_000, int)
    wide = Positions(("k", "m"), [rows, rows])
    deep = Positions(("m", "n"), [rows, rows])
    found = work([Positions(("i", "k"), [rows, rows]), wide, deep], "i", dict(i=1, k=1, m=1, n=1))
    np.testing.assert_array_equal(found, [1e15])
