"""Views, partial orders, loops and fusion tables of the paper's worked examples, as text.

Source: FuseFlow, figures 8, 9, 10 and 20.
"""

from __future__ import annotations

import random
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.passes import text_of
from gnarl.sw.compiler.sam.fuse.partial_order import dot
from gnarl.sw.compiler.sam.fuse.regions import Fusion, LoweredRegion, Region, lower_regions
from gnarl.sw.compiler.sam.fuse.views import views_of
from gnarl.sw.workloads.einsum.program import Einsum, EinsumProgram
from gnarl.sw.workloads.einsum.text import parse_program, program_text
from gnarl.sw.workloads.tensor.expression import Access, Call, Constant
from tests.support.sam.models import compiled, golden, run

EXAMPLES = {
    # Figure 8: B and, since both take it, its rows at two indices; A inside of E.
    "figure_8": "A(i,j)=sum[k](B(i,k)*C(k,j)); E(i,j)=sum[k](B(i,k)*A(k,j)) -f=B:ds -f=E:ds",
    # Figure 9: a sparse matrix product by rows.
    "figure_9": "T(i,j)=sum[k](A(i,k)*X(k,j)) -f=A:ss -f=X:ss -f=T:ss",
    # Figures 10 and 20: neighbours of GraphSAGE.
    "figure_20": "T(i,m)=sum[l](A(i,l)*X(l,m)); N(i,j)=sum[m](T(i,m)*W(m,j)) "
    "-f=A:ss -f=X:ss -f=W:ss -f=N:ss",
    # One tensor twice: two views of what computes it.
    "two_views": "t(i,j)=A(i,j)+B(i,j); y(i,k)=sum[j](t(i,j)*t(j,k)) -f=A:ds -f=B:ds",
    # A sum that shares the loop of what takes the same tensor.
    "softmax": "m(i)=max[j](A(i,j)); e(i,j)=exp(A(i,j)-m(i)); d(i)=sum[j](e(i,j)); "
    "y(i,j)=e(i,j)/d(i)",
}


def lowered(text: str, region: Region | None = None) -> LoweredRegion:
    program = parse_program(text)
    region = region or Region(tuple(each.name for each in program.statements))
    (found,) = lower_regions(Fusion(program, (region,)))
    return found


def shown(text: str) -> str:
    """The statements at the region's indices, the partial order, the order, and the table."""
    region = lowered(text)
    program = program_text(region.kernel.program)
    parts = (f"{program}\n", text_of(dot(region.partial_order)), f"{','.join(region.order)}\n")
    return "\n".join((*parts, text_of(region.table.text())))


@pytest.mark.parametrize("name", EXAMPLES)
def test_worked_examples(name: str) -> None:
    path = Path(__file__).parent / "tables" / f"{name}.txt"
    assert shown(EXAMPLES[name]) == path.read_text()


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_order_means_the_same(name: str) -> None:
    """Orders that respect the partial order, or the error says what an accumulator lacks."""
    text = EXAMPLES[name]
    program = parse_program(text)
    noise = np.random.default_rng(0)
    tensors = {
        each: np.where(noise.random((4, 4)) < 0.5, noise.integers(-8, 9, (4, 4)) / 8, 0)
        for each in program.inputs
    }
    expected = golden(program, tensors)
    statements = tuple(each.name for each in program.statements)
    orders = list(nx.all_topological_sorts(lowered(text).partial_order))
    random.Random(0).shuffle(orders)
    ran = 0
    for order in orders[:6]:
        try:
            found = compiled(program, tensors, [Region(statements, tuple(order))])
        except WorkloadError as error:
            assert "loop order" in str(error)
            continue
        for result, words in run(found, tensors).got.items():
            np.testing.assert_array_equal(words, expected[result], str(order))
        ran += 1
    assert ran


def test_what_is_taken_along_a_diagonal_is_refused() -> None:
    t = Einsum(Access("t", ("i", "j")), Call("add", (Access("A", ("i", "j")), Constant(1.0))))
    y = Einsum(Access("y", ("i",)), Access("t", ("i", "i")))
    program = EinsumProgram("diagonal", (t, y), {}, ("y",))
    text = "^t: t\\(i,i\\) is a diagonal of what the region computes: cut the region behind t$"
    with pytest.raises(WorkloadError, match=text):
        views_of(program, ("t", "y"), ["y"])


def test_an_order_against_storage_is_refused() -> None:
    with pytest.raises(WorkloadError, match="k must be outside of j: X"):
        lowered(EXAMPLES["figure_9"], Region(("T",), ("i", "j", "k")))


def test_what_must_be_outside_is_kept() -> None:
    text = "y(i,j)=A(i)*B(j)"
    assert lowered(f"{text} -f=y:dd:1,0").order == ("j", "i")
    assert lowered("t(i,j)=A(i)*B(j); y=sum[i,j](t(i,j))").order == ("i", "j")
    region = Region(("t", "y"), before=(("j", "i"),))
    assert lowered("t(i,j)=A(i)*B(j); y=sum[i,j](t(i,j))", region).order == ("j", "i")
