"""The meaning of statements, against dense NumPy and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.golden.tensor import evaluate, reference
from gnarl.sw.golden.words import from_words, to_words
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.tensor import Tensor


def dense(
    text: str, arrays: dict[str, Any], shape: tuple[int, ...], format: str = "float32"
) -> np.ndarray:
    """The result as numbers, the same from ``evaluate`` as from ``reference``."""
    statement = parse(text)
    tensors = {name: Tensor.from_any(array) for name, array in arrays.items()}
    coordinates, words = evaluate(statement, tensors, format)
    assert coordinates.dtype == np.int64 and words.dtype == np.uint32
    assert sorted({*map(tuple, coordinates.tolist())}) == list(map(tuple, coordinates.tolist()))
    found = []
    for places, numbers in (
        (coordinates, from_words(words, format)),
        reference(statement, tensors),
    ):
        array = np.zeros((1, *shape))
        array[(np.zeros(len(places), np.int64), *places.T)] = numbers
        found.append(array.reshape(shape))
    np.testing.assert_array_equal(*found)
    return found[0]


def integers(seed: int, *shape: int, density: float = 0.5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(-4, 5, shape) * (rng.random(shape) < density)


EINSUMS = {
    "X(i,j)=B(i,k)*C(k,j)": "ik,kj->ij",
    "X(j,i)=B(i,k)*C(k,j)": "ik,kj->ji",
    "X(i,j)=B(i,j)*C(i,j)": "ij,ij->ij",
    "x=B(i,j,k)*C(i,j,k)": "ijk,ijk->",
    "X(i,j)=B(i,k,l)*C(j,k)*D(j,l)": "ikl,jk,jl->ij",
    "X(i,j)=B(i,j)*C(i,k)*D(k,j)": "ij,ik,kj->ij",
    "X(i,k)=B(i)*C(j)*D(k)": "i,j,k->ik",
    "x(j)=B(i,j)": "ij->j",
    "X(l,i)=B(i,j,k,l)*C(k,j)": "ijkl,kj->li",
    "x(i)=B(i,j)*C": "ij,->i",
}


@settings(max_examples=20)
@given(st.data(), st.sampled_from(sorted(EINSUMS)), st.integers(0, 2**32 - 1))
def test_products_are_those_of_einsum(data, text, seed):
    subscripts = EINSUMS[text]
    inputs, output = subscripts.split("->")
    sizes = {index: data.draw(st.integers(1, 5)) for index in "ijkl"}
    rng = np.random.default_rng(seed)
    arrays, options = {}, []
    for name, indices in zip("BCDE", inputs.split(","), strict=False):
        shape = [sizes[index] for index in indices]
        density = data.draw(st.sampled_from([0.0, 0.3, 1.0]))
        arrays[name] = rng.integers(-4, 5, shape) * (rng.random(shape) < density)
        levels = "".join(data.draw(st.sampled_from("dsb")) for _ in indices)
        modes = data.draw(st.permutations(range(len(indices))))
        if indices:
            options.append(f"-f={name}:{levels}:{','.join(map(str, modes))}")
    expected = np.einsum(subscripts, *arrays.values())
    shape = tuple(sizes[index] for index in output)
    found = dense(f"{text} {' '.join(options)}", arrays, shape)
    np.testing.assert_array_equal(found, expected)


def test_sums_of_terms_each_with_sums_of_its_own():
    b, c, d, e = integers(0, 5), integers(1, 5, 4), integers(2, 4), integers(3, 4)
    text = "x(i)=2*b(i)-C(i,j)*d(j)+e(j) -f=b:s -f=C:ss -f=d:s -f=e:s"
    found = dense(text, {"b": b, "C": c, "d": d, "e": e}, (5,))
    np.testing.assert_array_equal(found, 2 * b - c @ d + e.sum())


def test_a_sum_within_a_product_is_summed_as_a_whole():
    b, c, d = integers(0, 5, 4), integers(1, 4), integers(2, 4)
    found = dense("x(i)=(B(i,j)+c(j))*d(j) -f=B:ss -f=c:s -f=d:s", {"B": b, "c": c, "d": d}, (5,))
    np.testing.assert_array_equal(found, ((b + c) * d).sum(axis=1))


def test_minus_signs():
    b, c = integers(0, 5), integers(1, 5)
    arrays = {"b": b, "c": c}
    np.testing.assert_array_equal(dense("x(i)=-b(i)-(-c(i)+1)", arrays, (5,)), -b + c - 1)
    np.testing.assert_array_equal(dense("x=-(b(i)*-2)-c(i)", arrays, ()), (2 * b - c).sum())


def test_greatest_and_least_count_what_is_missing_as_zero():
    b, c = integers(0, 20), integers(1, 20)
    arrays = {"b": b, "c": c}
    options = "-f=b:s -f=c:s"
    for name, function in (("max", np.maximum), ("min", np.minimum)):
        found = dense(f"x(i)={name}(b(i),c(i)) {options}", arrays, (20,))
        np.testing.assert_array_equal(found, function(b, c))
    np.testing.assert_array_equal(
        dense("x(i)=max(b(i),2) -f=b:s", {"b": b}, (20,)), np.maximum(b, 2)
    )


def test_functions_that_are_not_zero_at_zero_are_everywhere():
    b = np.array([[0.0, 0, 0], [0, 1, 0]])
    statement = parse("X(i,j)=exp(B(i,j)) -f=B:ss")
    coordinates, words = evaluate(statement, {"B": Tensor.from_any(b)}, "float32")
    assert len(coordinates) == 6
    expected = np.where(b, np.float32(np.e), 1).ravel()
    np.testing.assert_array_equal(from_words(words, "float32"), expected)
    coordinates, _ = evaluate(
        parse("X(i,j)=relu(B(i,j)) -f=B:ss"), {"B": Tensor.from_any(b)}, "float32"
    )
    assert coordinates.tolist() == [[1, 1]]
    coordinates, _ = evaluate(
        parse("X(i,j)=exp(B(i,j))*C(i,j) -f=B:ss -f=C:ss"),
        {"B": Tensor.from_any(b), "C": Tensor.from_any(b.T.reshape(2, 3))},
        "float32",
    )
    assert len(coordinates) == 1


@pytest.mark.parametrize(
    "name, at_one",
    [
        ("reciprocal", 1.0),
        ("sqrt", 1.0),
        ("gelu", 0.8413447460685429),
        ("sigmoid", 0.7310585786300049),
        ("tanh", 0.7615941559557649),
        ("exp", 2.718281828459045),
        ("log", 0.0),
    ],
)
def test_functions_in_float64(name, at_one):
    _, numbers = reference(parse(f"x={name}(b)"), {"b": Tensor.from_any(1.0)})
    np.testing.assert_allclose(numbers, [at_one], rtol=1e-15)


def test_sums_run_in_the_order_of_loops():
    # In float32, ones that are added to 2**24 one by one are lost, and two at a time are not.
    tensors = {"B": Tensor.from_any(np.array([[1.0, 2.0**24], [1.0, 0.0]]))}

    def total(options: str) -> float:
        _, words = evaluate(parse(f"x=B(i,j) -f=B:ss{options}"), tensors, "float32")
        return float(from_words(words, "float32")[0])

    # Rows 1 + 2**24, then + 1; columns 1 + 1, then + 2**24.
    assert total("") == 2.0**24
    assert total(":1,0 -s=reorder(j,i)") == 2.0**24 + 2


def test_operators_of_one_rank_are_taken_from_the_left():
    arrays = {
        name: Tensor.from_any(value) for name, value in zip("bcd", (2.0**24, 1, 1), strict=True)
    }
    for text, expected in (("x=b+c+d", 2.0**24), ("x=b+(c+d)", 2.0**24 + 2)):
        _, words = evaluate(parse(text), arrays, "float32")
        assert from_words(words, "float32").tolist() == [expected]


def test_a_scalar_has_a_value_even_if_nothing_is_summed():
    tensors = {"B": Tensor.from_any(np.zeros((3, 4)))}
    coordinates, words = evaluate(parse("x=B(i,j) -f=B:ss"), tensors, "float32")
    assert coordinates.shape == (1, 0) and words.tolist() == [0]


def test_values_are_rounded_to_the_format_and_so_is_every_operation():
    b, c = np.array([1 / 3, 2 / 3]), np.array([3.0, 5.0])
    tensors = {"b": Tensor.from_any(b), "c": Tensor.from_any(c)}
    _, words = evaluate(parse("x(i)=b(i)*c(i)"), tensors, "float16")
    expected = b.astype(np.float16) * c.astype(np.float16)
    assert words.tolist() == expected.view(np.uint16).tolist()
    _, words = evaluate(parse("x(i)=b(i)+c(i)"), tensors, "fixed16.8")
    assert words.tolist() == (to_words(b, "fixed16.8") + to_words(c, "fixed16.8")).tolist()


def test_large_sparse_operands_stay_sparse():
    size = 1 << 20
    rng = np.random.default_rng(0)
    b, c = (
        scipy.sparse.coo_array(
            (np.ones(2000), (rng.permutation(size)[:2000], rng.permutation(size)[:2000])),
            (size, size),
        )
        for _ in range(2)
    )
    tensors = {"B": Tensor.from_any(b), "C": Tensor.from_any(c)}
    coordinates, words = evaluate(
        parse("X(i,j)=B(i,j)+C(i,k)*B(k,j) -f=B:ss -f=C:ss -f=X:ss"), tensors, "float32"
    )
    expected = (b + c @ b).tocoo()
    order = np.lexsort(expected.coords[::-1])
    np.testing.assert_array_equal(coordinates, np.stack(expected.coords, axis=1)[order])
    np.testing.assert_array_equal(from_words(words, "float32"), expected.data[order])


def test_coordinates_beyond_63_bits_in_all():
    shape = (1 << 40, 1 << 40)
    places = np.array([[5, 1 << 39], [1 << 39, 3]])
    tensors = {name: Tensor(shape, places, np.array([2.0, 3.0])) for name in "BC"}
    coordinates, words = evaluate(
        parse("X(i,j)=B(i,j)*C(i,j) -f=B:ss -f=C:ss -f=X:ss"), tensors, "float32"
    )
    np.testing.assert_array_equal(coordinates, places)
    assert from_words(words, "float32").tolist() == [4.0, 9.0]


def test_too_many_points():
    tensors = {"b": Tensor((1 << 20,), np.array([[3]]), np.array([1.0]))}
    with pytest.raises(CapacityError) as caught:
        evaluate(parse("X(i,j)=exp(b(i))+exp(b(j)) -f=b:s -f=X:ss"), tensors, "float32")
    assert str(caught.value) == (
        "the golden model needs 1,099,511,627,776 points: at most 268,435,456 are kept in memory"
    )


def test_the_result_gives_sizes_that_operands_do_not():
    tensors = {
        "b": Tensor.from_any(np.array([1.0, 2.0])),
        "X": Tensor((2, 3), np.zeros((0, 2), np.int64), np.zeros(0)),
    }
    coordinates, words = evaluate(parse("X(i,j)=b(i)"), tensors, "float32")
    assert coordinates.tolist() == [[i, j] for i in range(2) for j in range(3)]
    assert from_words(words, "float32").tolist() == [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]
