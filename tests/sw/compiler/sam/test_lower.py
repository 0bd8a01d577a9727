"""What graphs of statements compute, on the model, and how they are made."""

from __future__ import annotations

import itertools
import zlib
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.sam.compile import compile
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.compiler.sam.verify import verify
from gnarl.sw.compiler.sam.workload import SamWorkload
from gnarl.sw.workloads.tensor.parser import parse
from tests.support.errors import refused
from tests.support.sam.models import CONFIG, run
from tests.sw.compiler.sam.machine import check

DENSITIES = (0.0, 0.1, 0.5, 1.0)


def random_array(rng: np.random.Generator, shape: tuple[int, ...], density: float) -> np.ndarray:
    """Whole numbers from -4 to 4; a scalar is not zero."""
    array = rng.integers(-4, 5, shape).astype(float)
    if not shape:
        return np.asarray(3.0)
    return np.where(rng.random(shape) < density, array, 0.0)


def check_random(text: str, density: float, seed: int, most: int = 5) -> None:
    """The statement on random operands, with sizes from 1 to ``most``."""
    statement = parse(text)
    rng = np.random.default_rng(seed)
    sizes = {index: int(rng.integers(1, most + 1)) for index in statement.order}
    if len({access.tensor for access in statement.operands}) < len(statement.operands):
        sizes = dict.fromkeys(sizes, most)
    operands = {
        access.tensor: random_array(rng, tuple(sizes[i] for i in access.indices), density)
        for access in statement.operands
    }
    check(statement, operands, tuple(sizes[index] for index in statement.result.indices))


def types(graph: Graph) -> Counter[str]:
    return Counter(block.type for block in graph.blocks)


@pytest.mark.parametrize("name", SUITE)
def test_kernels_of_the_suite(name: str) -> None:
    seed = zlib.crc32(name.encode())
    for number, density in enumerate(DENSITIES):
        check_random(SUITE[name], density, seed + number)
    check_random(SUITE[name], 1.0, seed, most=1)
    check_random(SUITE[name], 0.05, seed, most=40 if len(parse(SUITE[name]).order) < 3 else 9)


def test_long_sums_of_products_are_joined_in_pairs() -> None:
    terms = "+".join(f"b{number}(i)*c{number}(i)" for number in range(12))
    formats = " ".join(f"-f={kind}{number}:s" for kind in "bc" for number in range(12))
    statement = parse(f"x(i)={terms} {formats} -f=x:s")
    graph = lower(statement)
    # Six pairs, three pairs of these, one of those, and the last two: as many unions for each as
    # the longer one has references.
    assert types(graph)["union"] == 6 * 2 + 3 * 4 + 1 * 8 + 1 * 16


@pytest.mark.parametrize(
    "text",
    [
        "x=3",
        "x=-2*b",
        "x(i)=2",
        "x(i)=b(i)+2*c -f=x:s -f=b:s",
        "X(i,j)=b(i) -f=X:sd -f=b:s",
        "X(i,j)=b(j) -f=X:ss -f=b:s",
        "x=B(i,j) -f=B:sb",
        "x=B(i,j)-c(k) -f=B:ds -f=c:b",
        "x(i)=-(b(i)-c(i)*D(i,j)) -f=x:s -f=b:s -f=c:s -f=D:ss",
        "x(i)=C(j)*d(j)+f(i) -f=x:s -f=C:s -f=d:b -f=f:s -s=reorder(j,i)",
        "X(i,j)=B(i,k)*B(k,j) -f=X:ss -f=B:ss -s=reorder(i,k,j)",
        "x(i)=b(i)*b(i) -f=x:s -f=b:s",
        "X(i,j)=B(i,j)*(c(i)+d(j)) -f=X:ss -f=B:ss -f=c:s -f=d:s",
        "X(i,j)=relu(B(i,j))-2*C(i,j) -f=X:ss -f=B:ss -f=C:sd",
        "x(i)=max(b(i),c(i))*d(i) -f=x:s -f=b:s -f=c:b -f=d:d",
        "x(i)=max(b(i),1)-min(c(i),b(i)) -f=x:d -f=b:s -f=c:s",
        "x(i)=sum(j,relu(B(i,j)*c(j))) -f=x:s -f=B:ss -f=c:s",
        "X(i,j)=B(i,j)*C(i,j)+D(i,j)*E(i,j) -f=X:ss -f=B:ss -f=C:sd -f=D:ds -f=E:bb",
        "X(i,j)=b(i)*c(j)+D(i,j) -f=X:ss -f=b:s -f=c:s -f=D:ss",
        "x(i)=b(i)*c(i)*d(i)*e(i) -f=x:b -f=b:b -f=c:b -f=d:b -f=e:s",
    ],
)
def test_statements_of_other_kinds(text: str) -> None:
    for seed, density in enumerate(DENSITIES):
        check_random(text, density, seed)


@pytest.mark.parametrize(
    "text",
    [
        # An accumulator and another term, joined behind it.
        "x(i)=B(j,i)*c(j)+D(k,i) -f=x:s -f=B:ss -f=c:s -f=D:ss -s=reorder(j,k,i)",
        "X(i,j)=B(i,k)*C(k,j)+D(i,j) -f=X:ss -f=B:ss -f=C:ss -f=D:ss -s=reorder(i,k,j)",
        # Two of its indices: the outer one is complete in every term.
        "X(i,j)=B(i,k)*C(k,j)+D(i,j) -f=X:ss -f=B:ss:1,0 -f=C:ss -f=D:ss -s=reorder(k,i,j)",
        "X(i,j)=B(i,k)*C(k,j)-D(i,j) -f=X:dd -f=B:ss:1,0 -f=C:ss -f=D:sd -s=reorder(k,i,j)",
        "X(i,j)=-(B(i,k)*C(k,j)) -f=X:ds -f=B:sd:1,0 -f=C:sb -s=reorder(k,i,j)",
        # Sums around sums.
        "x(k)=B(i,j,k) -f=x:s -f=B:sss -s=reorder(i,j,k)",
        "X(j,l)=B(i,j,k,l) -f=X:ss -f=B:ssss -s=reorder(i,j,k,l)",
        "X(i,k)=B(i,j,k,l) -f=X:ss -f=B:ssss -s=reorder(i,j,k,l)",
        # Dense results where a fiber around the accumulator may be empty.
        "X(j,i)=B(j,k)*C(k,i) -f=X:sd -f=B:ss -f=C:ss -s=reorder(j,k,i)",
        "X(h,i,j)=B(h,k,i)*C(k,i,j) -f=X:ssd -f=B:sss -f=C:sss -s=reorder(h,k,i,j)",
        "X(h,g,j)=B(h,g,k)*C(k,j) -f=X:ssd -f=B:sss -f=C:ss -s=reorder(h,g,k,j)",
    ],
)
def test_sums_outside_of_the_results_loops(text: str) -> None:
    for seed, density in itertools.product(range(2), DENSITIES):
        check_random(text, density, seed, most=4)


@pytest.mark.parametrize("formats", list(itertools.product("dsb", repeat=3)))
def test_levels_of_every_kind_side_by_side(formats: tuple[str, ...]) -> None:
    result, one, other = formats
    for sign in "*+":
        text = f"x(i)=b(i){sign}c(i) -f=x:{result} -f=b:{one} -f=c:{other}"
        for density in (0.0, 0.3):
            check_random(text, density, seed=3, most=40)


KINDS = "".join
MATRIX = st.lists(st.sampled_from("dsb"), min_size=2, max_size=2).map(KINDS)


@settings(max_examples=15, deadline=None)
@given(MATRIX, MATRIX, MATRIX, st.permutations("ijk"), st.sampled_from(DENSITIES), st.integers(0))
def test_matrix_products_of_all_formats_in_all_orders(
    x: str, b: str, c: str, order: list[str], density: float, seed: int
) -> None:
    def modes(one: str, other: str) -> str:
        return "0,1" if order.index(one) < order.index(other) else "1,0"

    text = (
        f"X(i,j)=B(i,k)*C(k,j) -f=X:{x}:{modes('i', 'j')} -f=B:{b}:{modes('i', 'k')} "
        f"-f=C:{c}:{modes('k', 'j')} -s=reorder({','.join(order)})"
    )
    check_random(text, density, seed)


TENSOR = st.lists(st.sampled_from("ddssb"), min_size=3, max_size=3).map(KINDS)


@settings(max_examples=15, deadline=None)
@given(TENSOR, TENSOR, TENSOR, st.sampled_from(["*", "+", "-"]), st.integers(0))
def test_tensors_of_all_formats(x: str, b: str, c: str, sign: str, seed: int) -> None:
    text = f"X(i,j,k)=B(i,j,k){sign}C(i,j,k) -f=X:{x} -f=B:{b} -f=C:{c}"
    check_random(text, DENSITIES[seed % 4], seed, most=4)


# How graphs are made.


@pytest.mark.parametrize(
    "text, blocks",
    [
        (SUITE["matmul_ijk"], 18),
        (SUITE["matmul_kij"], 17),
        (SUITE["mat_elemadd3"], 21),
        (SUITE["mat_sddmm"], 24),
        (SUITE["mat_sddmm_sparse"], 26),
        (SUITE["mat_mattransmul"], 23),
        (SUITE["mat_residual"], 17),
        (SUITE["tensor3_mttkrp"], 30),
        (SUITE["mat_spacc_simple"], 9),
        (SUITE["mat_sd_compression"], 13),
        ("X(i,j)=b(i)*c(j)+D(i,j) -f=X:ss -f=b:s -f=c:s -f=D:ss", 20),
        ("X(i,j)=B(i,j)*c(i)+d(i)*E(i,j) -f=X:ss -f=B:ss -f=c:s -f=d:s -f=E:ss", 25),
        ("x=b(i)*c(j)*c(j) -f=b:d -f=c:b", 16),
        ("x(i)=(b(i)+3)*c(k) -f=x:d -f=b:d -f=c:d -s=reorder(k,i)", 16),
    ],
)
def test_no_block_too_many(text: str, blocks: int) -> None:
    assert len(lower(parse(text)).blocks) == blocks


def test_loops_around_two_complete_indices_are_complete() -> None:
    """And those around one are not, whose accumulator gets the missing coordinates behind it."""
    for text, complete in [
        ("X(h,i)=B(h,k)*C(k,i) -f=X:sd -f=B:ss -f=C:ss -s=reorder(h,k,i)", {"all_i"}),
        ("X(h,i,j)=B(h,k,i)*C(k,i,j) -f=X:ssd -f=B:sss -f=C:sss -s=reorder(h,k,i,j)", {"all_h"}),
    ]:
        names = {block.name for block in lower(parse(text)).blocks}
        assert {name for name in names if name.startswith("all_")} == complete


def test_dense_operands_are_located() -> None:
    graph = lower(parse(SUITE["mat_sddmm"]))
    found = types(graph)
    assert "intersect" not in found and "union" not in found
    located = [(b["tensor"], b["index"]) for b in graph.blocks if b.type == "locate"]
    assert located == [("C", "i"), ("D", "j"), ("D", "k")]
    assert "crddrop" not in found


def test_products_of_bitvectors_are_joined_word_by_word() -> None:
    found = types(lower(parse("x(i)=b(i)*c(i) -f=x:b -f=b:b -f=c:b")))
    assert found["bitvectorintersect"] == 1
    assert "bitvectorexpand" not in found


def test_bitvectors_that_may_be_missing_are_joined_coordinate_by_coordinate() -> None:
    """Those of rows that only the other matrix has, which have no words at all."""
    found = types(lower(parse("X(i,j)=B(i,j)+C(i,j) -f=X:sb -f=B:sb -f=C:sb")))
    assert (found["bitvectorexpand"], found["bitvectorunion"]) == (2, 0)
    found = types(lower(parse("X(i,j)=B(i,j)+C(i,j) -f=X:db -f=B:db -f=C:db")))
    assert (found["bitvectorexpand"], found["bitvectorunion"]) == (0, 1)


def test_coordinates_of_empty_fibers_are_dropped_where_there_may_be_some() -> None:
    assert types(lower(parse(SUITE["mat_elemadd"])))["crddrop"] == 0
    assert types(lower(parse(SUITE["mat_identity"])))["crddrop"] == 0
    assert types(lower(parse(SUITE["mat_elemmul"])))["crddrop"] == 1
    assert types(lower(parse(SUITE["tensor3_elemmul"])))["crddrop"] == 2
    assert types(lower(parse("X(i,j)=B(i,j) -f=X:ss -f=B:ds")))["crddrop"] == 1
    assert types(lower(parse("X(i,j)=B(i,j) -f=X:ds -f=B:ds")))["crddrop"] == 0


def test_zeros_of_dense_operands_are_dropped_from_sparse_results() -> None:
    assert types(lower(parse(SUITE["vec_ds_compression"])))["valdrop"] == 1
    assert types(lower(parse(SUITE["vec_identity"])))["valdrop"] == 0
    assert types(lower(parse("x(i)=b(i) -f=x:d -f=b:d")))["valdrop"] == 0


def test_innermost_sums_are_reductions_and_others_accumulators() -> None:
    for name, expected in [
        ("matmul_ijk", {"reduce": 1, "spaccumulator": 0}),
        ("matmul_ikj", {"reduce": 0, "spaccumulator": 1}),
        ("matmul_kij", {"reduce": 0, "spaccumulator": 1}),
        ("tensor3_mttkrp", {"reduce": 2, "spaccumulator": 0}),
        ("tensor3_innerprod", {"reduce": 3, "spaccumulator": 0}),
    ]:
        found = types(lower(parse(SUITE[name])))
        assert {kind: found[kind] for kind in expected} == expected


def test_every_reduction_inside_a_loop_sees_its_coordinates() -> None:
    for text in SUITE.values():
        graph = lower(parse(text))
        loops = verify(graph).loops
        for block in graph.blocks:
            if block.type == "reduce":
                inside = bool(loops[block.name, "out_val"])
                assert inside == ((block.name, "crd") in graph.drivers)


def test_lookups_skip_only_if_asked_to() -> None:
    def skipping(skip: bool) -> list[str]:
        graph = lower(parse(SUITE["mat_vecmul_ij"]), skip=skip)
        return [b.name for b in graph.blocks if b.parameters.get("skip")]

    assert skipping(True) == ["lookup_B_j", "lookup_c_j"]
    assert skipping(False) == []


def test_the_same_statement_gives_the_same_graph() -> None:
    for text in SUITE.values():
        assert lower(parse(text)).to_dict() == lower(parse(text)).to_dict()


# What cannot be lowered.


def test_accumulators_hold_two_indices() -> None:
    with refused(
        "loop order l,i,j,k: index l is summed outside of i, j, k; a sparse accumulator holds at "
        "most 2 indices, put l further inside"
    ):
        lower(parse("X(i,j,k)=B(l,i,j,k) -f=X:sss -f=B:ssss -s=reorder(l,i,j,k)"))


def test_levels_whose_empty_fibers_no_stream_tells() -> None:
    with refused(
        "expression, column 1: level 3 of X cannot be compressed below a dense level that lies "
        "below level 1, compressed; make level 3 dense, or level 2 compressed"
    ):
        lower(parse("X(i,j,k,l)=B(i,j,k,l)*C(i,j,k,l) -f=X:ssds -f=B:ssss -f=C:ssss"))


def test_orders_are_checked() -> None:
    with pytest.raises(WorkloadError, match="a transposed copy would do: -f=B:ss:1,0"):
        lower(parse("x(i)=B(i,j)*c(j) -f=B:ss -s=reorder(j,i)"))


def test_a_factor_beside_a_function_of_what_is_missing_waits_for_nothing() -> None:
    """However much the queues hold, and whatever either lacks."""
    random = np.random.default_rng(0)
    text = "x(i,j)=B(i,j)*(exp(A(i,j))+A(i,j)) -f=B:ds -f=A:ds -f=x:ds"
    program = compile(SamWorkload("x", text, parse(text)), replace(CONFIG, queue_depth=2))
    for density, other in itertools.product((0.02, 0.5, 1.0), repeat=2):
        shape = (3, 400)
        tensors = {
            "B": np.where(random.random(shape) < density, random.random(shape), 0),
            "A": np.where(random.random(shape) < other, random.random(shape), 0),
        }
        done = run(program, tensors, is_timed=True)
        np.testing.assert_array_equal(done.got["x"], done.meant["x"])
