"""Association: which products are multiplied in another order, and which are refused."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, prod

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.fuse.association import associate, associations, products
from gnarl.sw.golden import einsum
from gnarl.sw.workloads.einsum.check import check
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.einsum.text import parse_program, program_text
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import noted

LAYER = "t(i,m)=sum[k](A(i,k)*X(k,m)); y(i,j)=sum[m](t(i,m)*W(m,j))"
CHAIN = "t(i,m)=sum[k](A(i,k)*B(k,m)); s(i,m)=sum[k](t(i,k)*C(k,m)); y(i,j)=sum[m](s(i,m)*D(m,j))"


def statements(program: EinsumProgram) -> str:
    return program_text(program).partition(" -")[0]


def results(program: EinsumProgram) -> list[np.ndarray]:
    """The program's results in float64, where all dimensions are 3."""
    orders = {a.tensor: len(a.indices) for each in program.statements for a in each.operands}
    tensors = {}
    for name in sorted(program.inputs):
        noise = np.random.default_rng(sum(name.encode()))
        shape = (3,) * orders[name]
        tensors[name] = Tensor.from_any(
            noise.integers(-4, 5, shape).astype(float) * (noise.random(shape) < 0.8)
        )
    found = einsum.reference(program, tensors)
    dense = []
    for name, (coordinates, values) in sorted(found.items()):
        array = np.zeros((3,) * len(program[name].result.indices))
        array[tuple(coordinates.T)] = values
        dense.append(array)
    return dense


@pytest.mark.parametrize(
    ("program", "text", "becomes"),
    [
        (
            LAYER,
            "A*(X*W)",
            "t(k,j)=sum[m](X(k,m)*W(m,j)); y(i,j)=sum[k](A(i,k)*t(k,j))",
        ),
        (
            "t(i,m)=sum[k](A(i,k)*X(k,m)); y(i,j)=relu(sum[m](t(i,m)*W(m,j))+b(j))",
            "A*(X*W)",
            "t(k,j)=sum[m](X(k,m)*W(m,j)); y(i,j)=relu(sum[k](A(i,k)*t(k,j))+b(j))",
        ),
        (
            "y(i,j)=sum[m](sum[k](A(i,k)*X(k,m))*W(m,j))",
            "A*(X*W)",
            "product(k,j)=sum[m](X(k,m)*W(m,j)); y(i,j)=sum[k](A(i,k)*product(k,j))",
        ),
        (
            "t(i,m)=sum[k](A(i,k)*A(k,m)); y(i,j)=sum[m](t(i,m)*X(m,j))",
            "A*(A*X)",
            "t(k,j)=sum[m](A(k,m)*X(m,j)); y(i,j)=sum[k](A(i,k)*t(k,j))",
        ),
        (
            CHAIN,
            "(A*B)*(C*D)",
            "t(i,k)=sum[k1](A(i,k1)*B(k1,k)); s(k,j)=sum[m](C(k,m)*D(m,j)); "
            "y(i,j)=sum[k](t(i,k)*s(k,j))",
        ),
        (
            CHAIN,
            "A*(B*(C*D))",
            "t(k,j)=sum[m](C(k,m)*D(m,j)); s(k1,j)=sum[k](B(k1,k)*t(k,j)); "
            "y(i,j)=sum[k1](A(i,k1)*s(k1,j))",
        ),
        (
            CHAIN,
            "s*D",
            CHAIN,
        ),
        (  # three sums, so three names
            "y(i,j)=sum[k,l,m,n](A(i,k)*B(k,l)*C(l,m)*D(m,n)*E(n,j))",
            "((A*B)*(C*D))*E",
            "product(i,l)=sum[k](A(i,k)*B(k,l)); product1(l,n)=sum[m](C(l,m)*D(m,n)); "
            "product2(i,n)=sum[l](product(i,l)*product1(l,n)); "
            "y(i,j)=sum[n](product2(i,n)*E(n,j))",
        ),
        (
            "t(i)=b(i)*c(i); y(i,j)=max[k](t(k)*A(i,j,k))",
            "b*(c*A)",
            "t(k,i,j)=c(k)*A(i,j,k); y(i,j)=max[k](b(k)*t(k,i,j))",
        ),
        (  # two products of one statement
            "t(i,m)=sum[k](A(i,k)*X(k,m)); s(i,m)=sum[k](A(i,k)*X(k,m)); "
            "y(i,j)=sum[m](t(i,m)*W(m,j))+sum[m](s(i,m)*W(m,j))",
            "A*(X*W)",
            "t(k,j)=sum[m](X(k,m)*W(m,j)); s(k,j)=sum[m](X(k,m)*W(m,j)); "
            "y(i,j)=sum[k](A(i,k)*t(k,j))+sum[k](A(i,k)*s(k,j))",
        ),
    ],
)
def test_what_becomes_of_products(program: str, text: str, becomes: str) -> None:
    before = parse_program(program)
    after = check(associate(before, text, {}))
    assert statements(after) == becomes
    for one, other in zip(results(before), results(after), strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (f"{LAYER}; z(i)=sum[m](t(i,m))", "A*(X*W)"),  # taken by others
        (f"{LAYER} -r=y,t", "A*(X*W)"),  # a result
        (f"{CHAIN} -r=y,t", "A*(B*(C*D))"),  # a result, two statements further in
        (LAYER.replace("sum[k](A", "max[k](A"), "A*(X*W)"),
        (LAYER.replace("A(i,k)*X", "A(i,k)+X"), "A*(X*W)"),
        (LAYER, "A*X*W*W"),
        ("y(i,j)=sum[k](A(i,k))*sum[k](B(k,j))", "A*B"),  # sums over an index each
        ("t(i)=b(i)*c(i); y(i)=t(i)*t(i)", "b*(c*(b*c))"),  # taken twice
        ("t(i,k)=b(i)*c(k); y(i,j)=t(i,j)*t(j,i)", "b*(c*(b*c))"),
    ],
)
def test_products_that_a_model_does_not_have(program: str, text: str) -> None:
    with pytest.raises(WorkloadError, match=re.escape(f"associate {text!r}: the model has no")):
        associate(parse_program(program), text, {})


@pytest.mark.parametrize(
    "text",
    [
        *("", "A", "A+B", "A*", "A*(X", "A*X)", "A*2", "A@B", "A**B", "A X", "A*()", "(A)"),
        *("(" * 300, "(" * 5000 + "A*X" + ")" * 5000, "*".join("A" * 5000)),
    ],
)
def test_what_is_no_product(text: str) -> None:
    with pytest.raises(WorkloadError, match=r"^associate .*: must be a product of tensors"):
        associate(parse_program(LAYER), text, {})


def test_users_names() -> None:
    names = {"conv1.weight": "W", "adj": "A"}
    program = associate(parse_program(LAYER), "adj * (X * conv1.weight)", names)
    assert statements(program).endswith("y(i,j)=sum[k](A(i,k)*t(k,j))")


def test_formats_of_what_is_no_longer_computed_are_forgotten() -> None:
    program = associate(parse_program(f"{LAYER} -f=t:ss:1,0"), "A*(X*W)", {})
    assert set(program.formats) == {"A", "X", "W", "y"}


def test_names_that_python_takes_for_others() -> None:
    """Words of its own, and parts of a module that are numbered."""
    program = parse_program("t(i,m)=sum[k](in(i,k)*None(k,m)); y(i,j)=sum[m](t(i,m)*W(m,j))")
    names = {"layers.0.weight": "W", "0.x": "in"}
    for text in ("in*(None*W)", "0.x * (None*layers.0.weight)"):
        assert statements(associate(program, text, names)) == (
            "t(k,j)=sum[m](None(k,m)*W(m,j)); y(i,j)=sum[k](in(i,k)*t(k,j))"
        )


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        (
            "(A*A)*A",
            "t(i,m)=sum[k](A(i,k)*A(k,m)); y(i,j)=sum[m](t(i,m)*A(m,j))",
        ),
        (
            "A*(A*A)",
            "t(k,j)=sum[m](A(k,m)*A(m,j)); y(i,j)=sum[k](A(i,k)*t(k,j))",
        ),
    ],
)
def test_sums_over_a_tensor_that_is_there_again_are_made_at_once(text: str, becomes: str) -> None:
    """What the other accesses of it have are other indices."""
    program = parse_program("t(i,m)=sum[k](A(i,k)*A(k,m)); y(i,j)=sum[m](t(i,m)*A(m,j))")
    assert statements(associate(program, text, {})) == becomes


@pytest.mark.parametrize(
    ("program", "found"),
    [
        (LAYER, [("A X W", "(A*X)*W")]),
        ("t(k,j)=sum[m](X(k,m)*W(m,j)); y(i,j)=sum[k](A(i,k)*t(k,j))", [("A X W", "A*(X*W)")]),
        (CHAIN, [("A B C D", "((A*B)*C)*D")]),
        ("y(i,j)=sum[k](A(i,k)*X(k,j))", []),
        # More than two at once.
        ("y(i,j)=sum[k,m](A(i,k)*X(k,m)*W(m,j))", [("A X W", "")]),
        (CHAIN.replace("D(m,j)", "D(m,j)*E(m,j)"), [("A B C D E", "")]),
        (
            "t(i,m)=sum[k](A(i,k,m)); p(i,j)=sum[m](t(i,m)*W(m,j)); y(i)=sum[j](p(i,j)*v(j))",
            [("A W v", "")],
        ),
        # What ends a chain: a result, what is taken twice, what is no sum of products.
        (f"{CHAIN} -r=y,t", [("t C D", "(t*C)*D")]),
        (f"{CHAIN} -r=y,s", [("A B C", "(A*B)*C")]),
        (f"{CHAIN}; z(i)=sum[k](t(i,k))", [("t C D", "(t*C)*D")]),
        (
            CHAIN.replace("sum[k](t(i,k)*C(k,m))", "relu(sum[k](t(i,k)*C(k,m)))"),
            [("A B C", "(A*B)*C")],
        ),
        (
            "t(i)=b(i)*c(i); s(i)=t(i)*t(i); y(i)=s(i)*d(i)",
            [("t t d", "(t*t)*d")],
        ),
        # Two of one statement, and two of the same tensors.
        (
            "t(i,m)=sum[k](A(i,k)*X(k,m)); s(i,m)=sum[k](B(i,k)*Y(k,m)); "
            "y(i,j)=sum[m](t(i,m)*W(m,j))+sum[m](s(i,m)*V(m,j))",
            [("A X W", "(A*X)*W"), ("B Y V", "(B*Y)*V")],
        ),
        (
            f"{LAYER}; s(k,j)=sum[m](X(k,m)*W(m,j)); z(i,j)=sum[k](A(i,k)*s(k,j))",
            [("A X W", "(A*X)*W")],
        ),
        (
            f"{LAYER}; s(k,j)=sum[m](W(k,m)*X(m,j)); z(i,j)=sum[k](s(i,k)*A(k,j))",
            [("A X W", "(A*X)*W")],
        ),
        # A part of another product, which is there by itself, too.
        (
            f"{CHAIN}; u(i,m)=sum[k](A(i,k)*B(k,m)); z(i,m)=sum[k](u(i,k)*C(k,m))",
            [("A B C D", "((A*B)*C)*D"), ("A B C", "(A*B)*C")],
        ),
    ],
)
def test_products_of_programs(program: str, found: list[tuple[str, str]]) -> None:
    assert products(parse_program(program)) == [(tuple(names.split()), w) for names, w in found]


@dataclass(frozen=True)
class Product:
    """A product of random tensors in a random tree, each index summed as soon as it can be.

    accesses
        of the factors, left to right, some tensors more than once.
    tree
        its parentheses.
    """

    program: EinsumProgram
    accesses: Sequence[tuple[str, tuple[str, ...]]]
    tree: str


SIZES = dict(zip("abcdef", (2, 3, 4, 5, 3, 2), strict=True))


def random_product(rng: random.Random) -> Product:
    """A chain of matrices, or factors that share indices anyhow; at least three."""
    count = rng.randint(3, 5)
    is_chain = rng.random() < 0.5
    used = [
        tuple("abcdef"[at : at + 2]) if is_chain else tuple(rng.sample("abcde", rng.randint(1, 2)))
        for at in range(count)
    ]
    accesses: list[tuple[str, tuple[str, ...]]] = []
    for at, indices in enumerate(used):
        shape = [SIZES[index] for index in indices]
        same = [name for name, other in accesses if [SIZES[index] for index in other] == shape]
        name = rng.choice(same) if same and rng.random() < 0.4 else "ABCDE"[at]
        accesses.append((name, indices))
    everywhere = list(dict.fromkeys(index for indices in used for index in indices))
    free = {everywhere[0], everywhere[-1]} if is_chain else {*rng.sample(everywhere, 2)}
    written: list[str] = []

    def made(begin: int, end: int, outside: set[str]) -> tuple[str, tuple[str, ...], str]:
        """Name, indices and tree of the product of some factors."""
        if end - begin == 1:
            return *accesses[begin], accesses[begin][0]
        cut = rng.randint(begin + 1, end - 1)
        right = {index for indices in used[cut:end] for index in indices}
        one, mine, left_tree = made(begin, cut, outside | right)
        other, its, right_tree = made(cut, end, outside | {*mine})
        both = dict.fromkeys((*mine, *its))
        kept = tuple(index for index in both if index in outside)
        text = f"{one}({','.join(mine)})*{other}({','.join(its)})"
        if summed := [index for index in both if index not in outside]:
            text = f"sum[{','.join(summed)}]({text})"
        name = f"t{len(written)}"
        written.append(f"{name}({','.join(kept)})={text}")
        return name, kept, f"({left_tree}*{right_tree})"

    _, _, tree = made(0, count, free)
    return Product(parse_program("; ".join(written)), accesses, tree[1:-1])


def operations(program: EinsumProgram, shapes: dict[str, tuple[int, ...]]) -> list[int]:
    """Points of each statement's space, ascending."""
    sizes = program_shapes(program, shapes).indices
    return sorted(
        prod(sizes[each.name][index] for index in each.indices) for each in program.einsums
    )


def values(program: EinsumProgram, tensors: dict[str, Tensor]) -> np.ndarray:
    """The program's result; whole numbers, so that sums are exact in any order."""
    ((name, (coordinates, numbers)),) = einsum.reference(program, tensors).items()
    shapes = program_shapes(program, {name: each.shape for name, each in tensors.items()}).tensors
    dense = np.zeros(shapes[name])
    dense[tuple(coordinates.T)] = numbers
    return dense


@pytest.mark.parametrize("seed", range(60))
def test_all_trees_of_random_products(seed: int) -> None:
    own = random_product(random.Random(seed))
    noise = np.random.default_rng(seed)
    shapes = {name: tuple(SIZES[i] for i in indices) for name, indices in own.accesses}
    tensors = {
        name: Tensor.from_any(noise.integers(-3, 4, shape) * (noise.random(shape) < 0.8))
        for name, shape in shapes.items()
    }
    names = tuple(name for name, _ in own.accesses)
    with noted(program_text(own.program)):
        assert products(own.program) == [(names, own.tree)]
        again = associate(own.program, own.tree, {})
        assert operations(again, shapes) == operations(own.program, shapes)
        texts = list(associations(names))
        assert len({*texts}) == len(texts) == comb(2 * len(names) - 2, len(names) - 1) // len(names)
        expected = values(own.program, tensors)
        for text in texts:
            with noted(text):
                program = check(associate(own.program, text, {}))
                np.testing.assert_array_equal(values(program, tensors), expected)
                assert products(program) == [(names, text)]


def test_the_fewest_trees() -> None:
    assert [*associations(["A", "B"])] == ["A*B"]
    assert [*associations(["A", "B", "C"])] == ["A*(B*C)", "(A*B)*C"]
