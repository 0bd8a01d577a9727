"""Sums over loops that are dealt to lanes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.graph import Block, Edge, Graph
from gnarl.sw.compiler.sam.dot_read import read_dot
from gnarl.sw.compiler.sam.dot_write import plan_dot, write_dot
from gnarl.sw.compiler.sam.fuse.regions import Region
from gnarl.sw.compiler.sam.lane_sums import summed_lanes
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.plan import Plan
from gnarl.sw.compiler.sam.sections import graph_of
from gnarl.sw.compiler.sam.streams import trace
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.compiler.sam.verify import verify
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import refused
from tests.support.sam.corner_statements import Corner
from tests.support.sam.models import CONFIG, compiled, run
from tests.sw.compiler.sam.test_corner_statements import check
from tests.sw.compiler.sam.test_dot import is_isomorphic

PRODUCT = SUITE["matmul_ikj"]
SIZES = {"i": 5, "j": 6, "k": 11, "l": 3}


def lanes_of(graph: Graph) -> dict[str, int]:
    verify(graph)
    return summed_lanes(graph, trace(graph).loops)


def check_bits(text: str, seed: int, density: float) -> None:
    """The statement on numbers whose sums depend on their order, on the simulator."""
    rng = np.random.default_rng(seed)
    tensors = {}
    for access in parse(text).operands:
        shape = [SIZES[index] for index in access.indices]
        kept = rng.random(shape) < density
        tensors[access.tensor] = Tensor.from_any(np.where(kept, rng.standard_normal(shape), 0))
    check(Corner(text, tensors, "float32", seed % 2 == 0, frozenset(), ()))


PRODUCTS = [
    f"X(i,j)=B(i,k)*C(k,j) -s=reorder(i,k,j) {formats}"
    for formats in (
        "-f=X:ss -f=B:ss -f=C:ss",
        "-f=X:dd -f=B:ds -f=C:dd",
        "-f=X:sd -f=B:ss -f=C:sd",
        "-f=X:dd -f=B:ds -f=C:ss",
        "-f=X:bs -f=B:bb -f=C:bb",
    )
]
PAIRS = "X(i,j)=D(i,k,l)*E(k,l,j) -f=X:ss -f=D:sss -f=E:sss -s=reorder(i,k,l,j)"
SUMS = [
    (f"{PAIRS} -s=parallelize(k,2)", {"k": 2}),
    (f"{PAIRS} -s=parallelize(l,4)", {"l": 4}),
    (f"{PAIRS} -s=parallelize(k,2) -s=parallelize(l,4)", {"k": 2, "l": 4}),
    (f"{PAIRS} -s=parallelize(i,3) -s=parallelize(k,2)", {"k": 2}),
    # Two indices inside, with all of their coordinates.
    (
        "X(i,j)=B(i,k)*C(k,j) -f=X:dd -f=B:ss:1,0 -f=C:ss -s=reorder(k,i,j) -s=parallelize(k,8)",
        {"k": 8},
    ),
    # Two sums, added to each other.
    (
        "X(i,j)=B(i,k)*C(k,j)-max(B(i,k),0.5)*C(k,j) -f=X:dd -f=B:ds -f=C:dd -s=reorder(i,k,j) "
        "-s=parallelize(k,4)",
        {"k": 4},
    ),
    # Its coordinates are added behind the sums.
    (
        "x(j)=B(k,j)*b(k)+c(j) -f=x:d -f=B:ss -f=b:s -f=c:d -s=reorder(k,j) -s=parallelize(k,4)",
        {"k": 4},
    ),
]


@pytest.mark.parametrize("density", [0.0, 0.1, 0.6, 1.0])
@pytest.mark.parametrize("product", PRODUCTS)
def test_products_of_matrices(product: str, density: float) -> None:
    for seed, lanes in enumerate((2, 4, 8, 16, 32, 64)):
        text = f"{product} -s=parallelize(k,{lanes})"
        assert lanes_of(lower(parse(text))) == {"k": lanes}
        check_bits(text, seed, density)


@pytest.mark.parametrize("density", [0.1, 0.6])
@pytest.mark.parametrize(("text", "lanes"), SUMS)
def test_other_sums(text: str, lanes: dict[str, int], density: float) -> None:
    assert lanes_of(lower(parse(text))) == lanes
    for seed in range(3):
        check_bits(text, seed, density)


def test_sums_that_lead_to_a_sum_are_in_its_lanes() -> None:
    """What a lane sums within a coordinate goes to its own products."""
    text = "x(k)=sum[c](sum[b](A(b)*B(b,c))*C(k,c)) -f=A:s -f=B:ss:1,0 -f=C:sd:1,0 -f=x:d"
    rng = np.random.default_rng(4)
    shapes = {"A": (5,), "B": (5, 11), "C": (6, 11)}
    tensors = {
        name: np.where(rng.random(shape) < 0.7, rng.standard_normal(shape), 0)
        for name, shape in shapes.items()
    }
    program = compiled(text, tensors, [Region(("x",), ("c", "b", "k"), lanes=(("c", 4),))])
    graph = graph_of(program.launches[0].sections)
    assert lanes_of(graph) == {"c": 4}
    found = Counter(block.type for block in graph.blocks)
    assert (found["reduce"], found["parallelizer"], found["valserializer"]) == (4, 0, 0)
    done = run(program, tensors, is_timed=True)
    np.testing.assert_array_equal(done.got["x"], done.meant["x"])


def test_lanes_have_all_that_leads_to_a_sum() -> None:
    graph = lower(parse(f"{PRODUCTS[1]} -s=parallelize(k,4)"))
    found = Counter(block.type for block in graph.blocks)
    assert (found["spaccumulator"], found["crdparallelizer"]) == (4, 3)
    # Of full sums values alone are added.
    assert (found["parallelizer"], found["serializer"], found["union"]) == (0, 0, 0)
    sparse = lower(parse(f"{PRODUCTS[0]} -s=parallelize(k,8)"))
    assert Counter(block.type for block in sparse.blocks)["union"] == 7


@pytest.mark.parametrize(
    "text",
    [
        f"{PRODUCTS[0]} -s=parallelize(k,3)",  # a lane has no bits of a coordinate to itself
        f"{PRODUCTS[0]} -s=parallelize(k,18)",
        f"{PRODUCTS[0]} -s=parallelize(i,4)",
    ],
)
def test_sums_without_lanes(text: str) -> None:
    assert lanes_of(lower(parse(text))) == {}
    check_bits(text, 1, 0.5)


def test_what_leads_elsewhere_is_dealt_in_turn() -> None:
    """What is summed over k is summed over j, too, for each k in order."""
    tensors = {"C": np.random.default_rng(2).standard_normal((9, 4))}
    text = "t(k,j)=relu(C(k,j)); y(k)=sum[j](t(k,j)); x(j)=sum[k](t(k,j)) -f=C:dd -f=x:d -f=y:d"
    program = compiled(text, tensors, [Region(("t", "y", "x"), ("k", "j"), lanes=(("k", 2),))])
    assert lanes_of(graph_of(program.launches[0].sections)) == {}
    done = run(program, tensors, is_timed=True)
    for name, got in done.got.items():
        np.testing.assert_array_equal(got, done.meant[name])


@pytest.mark.parametrize("queue_depth", [2, 32])
def test_rows_wait_for_what_is_dealt_late(queue_depth: int) -> None:
    """Values come once a row's maximum is known, and coordinates at once."""
    text = (
        "m(i)=max[k](S(i,k)); e(i,k)=exp(S(i,k)-m(i)); y(i,j)=sum[k](e(i,k)*V(k,j)) "
        "-f=S:ds -f=V:dd -f=y:dd -s=reorder(y:i,k,j)"
    )
    rng = np.random.default_rng(3)
    tensors = {"S": rng.random((6, 50)) + 0.5, "V": rng.random((50, 4))}
    region = Region(("m", "e", "y"), lanes=(("k", 4),))
    program = compiled(text, tensors, [region], config=replace(CONFIG, queue_depth=queue_depth))
    done = run(program, tensors, is_timed=True)
    np.testing.assert_array_equal(done.got["y"], done.meant["y"])


def renamed(graph: Graph, prefix: str) -> tuple[list[Block], list[Edge]]:
    """Blocks and edges with other names, and another result."""
    blocks = [
        Block(prefix + each.name, each.type, {**each.parameters, "tensor": prefix})
        if each.type in ("fiberwrite", "valwrite")
        else replace(each, name=prefix + each.name)
        for each in graph.blocks
    ]
    edges = [
        replace(each, source=prefix + each.source, target=prefix + each.target)
        for each in graph.edges
    ]
    return blocks, edges


def test_all_sums_over_an_index_have_the_same_lanes() -> None:
    """What a graph computes says by how many lanes each index is summed."""
    dealt = parse(f"{PRODUCTS[1]} -s=parallelize(k,2)")
    parts = [renamed(lower(dealt), "Y"), renamed(lower(parse(PRODUCTS[1])), "Z")]
    blocks, edges = zip(*parts, strict=True)
    graph = Graph(tuple(chain(*blocks)), tuple(chain(*edges)))
    with refused(
        "graph: spaccumulator Zaccumulate_k: sums k by 1 lanes, where another sums it by 2: must "
        "be the same"
    ):
        verify(graph)


def test_a_file_with_its_text_is_read_back() -> None:
    text = f"{PRODUCTS[0]} -s=parallelize(k,4)"
    graph = lower(parse(text))
    found = read_dot(plan_dot(Plan.of_statement(graph, text)), "x.gv")
    assert is_isomorphic(found.graph, graph)
    written = plan_dot(Plan.of_statement(graph, text))
    with pytest.raises(WorkloadError, match="^x.gv.*lanes 3 must be 2, 4, 8 or 16$"):
        read_dot(written.replace('lanes="4"', 'lanes="3"'), "x.gv")
    without = write_dot(graph, parse(text))
    with refused(
        "x.gv: graph: lanes have sums over k, which only a file with its Einsum text can say"
    ):
        read_dot(without, "x.gv")


@pytest.mark.parametrize(("lanes", "levels"), [(16, 1), (32, 5), (64, 9)])
def test_more_lanes_than_a_block_has(lanes: int, levels: int) -> None:
    """A tree of blocks deals by the next bits of coordinates, which are dealt likewise."""
    graph = lower(parse(f"{PRODUCTS[1]} -s=parallelize(k,{lanes})"))
    assert lanes_of(graph) == {"k": lanes}
    blocks = [block for block in graph.blocks if block.type == "crdparallelizer"]
    streams = {block.name.removesuffix(f"_{block.name.split('_')[-1]}") for block in blocks}
    assert len(blocks) % levels == 0 and len(streams) >= 1
    text = write_dot(graph, parse(PRODUCTS[1]))
    assert ('shift="' in text) == (lanes > 16)
    if lanes > 16:
        wrong = [
            Block(each.name, each.type, {**each.parameters, "shift": 0})
            if each.type == "crdparallelizer"
            else each
            for each in graph.blocks
        ]
        with pytest.raises(WorkloadError, match="lanes already; must have shift = "):
            verify(Graph(tuple(wrong), graph.edges))
