"""Statements with blocks of values: what their graphs compute is what they mean, bit for bit."""

from __future__ import annotations

import random
import re
import tracemalloc
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Block, Graph
from gnarl.hw.sam.value_shape import BLOCK_WORDS
from gnarl.sw.compiler.sam.agreement import require_agreement
from gnarl.sw.compiler.sam.compile import compile
from gnarl.sw.compiler.sam.describe import describe
from gnarl.sw.compiler.sam.dot_read import read_dot
from gnarl.sw.compiler.sam.dot_write import plan_dot, write_dot
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.plan import Plan
from gnarl.sw.compiler.sam.sections import graph_of
from gnarl.sw.compiler.sam.verify import verify
from gnarl.sw.compiler.sam.workload import SamWorkload
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.sam.image import bind, operands
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import noted
from tests.support.sam.corner_statements import Corner
from tests.support.sam.expressions import make
from tests.support.sam.simulated import like_model
from tests.sw.compiler.sam.test_corner_statements import check

REFUSALS = (
    "; a sparse accumulator holds at most 2 indices, put ",
    " would be walked again in each turn of the loop over ",
    " below a dense level that lies below level ",
    " coordinates: must be a multiple of ",
    " some of which have no entry: must be whole blocks",
    ": must have its blocks along the same dimensions",
    " does not lie along it",
    ": must have the same",
    ": no value of the region lies along index ",
    " is not supported",
    ", the bytes of a row of ",
    "parallelize(",
)
LINES: dict[str, Any] = {"memory": "lines", "line_bytes": 256}
"""A row of a block lies in one line, so some have none."""

FORMATS = ("float32", "float32", "bfloat16", "fixed16.8")


CONFIG = SamConfig()


def said(text: str) -> pytest.RaisesExc[GnarlError]:
    """Expects an error with this in it."""
    return pytest.raises(GnarlError, match=re.escape(text))


def compiled(text: str, config: SamConfig = CONFIG) -> Program:
    return compile(SamWorkload("tested", text, parse(text)), config)


def drawn(seed: int) -> tuple[str, dict[str, Tensor], str]:
    """A random statement with blocks along one to three of its indices, and lanes at times."""
    rng = random.Random(seed)
    case = make(rng.randint(1, 4), rng.randint(1, 5), seed, rng.random() < 0.3)
    order = list(parse(case.text).order)
    along = rng.sample(order, min(len(order), rng.choice((1, 1, 2, 2, 3))))
    text = case.text + "".join(f" -s=block({index},{rng.choice((2, 4, 8))})" for index in along)
    if rng.random() < 0.3 and order:
        text += f" -s=parallelize({rng.choice(order)},{rng.choice((2, 3, 4))})"
    return text, case.tensors, rng.choice(FORMATS)


@pytest.mark.parametrize("part", range(2))
def test_random_statements(part: int) -> None:
    counts = Counter[str]()
    for seed in range(part, 240, 2):
        text, tensors, format = drawn(seed)
        with noted(f"{seed}: {text} in {format}"):
            try:
                check(Corner(text, tensors, format, seed % 2 == 0, frozenset(), ()))
                config = SamConfig(format=format, **(LINES if seed % 3 == 0 else {}))
                like_model(compiled(text, config), tensors)
            except GnarlError as error:
                (*_, reason) = [each for each in REFUSALS if each in str(error)] or [""]
                assert reason, error
                counts[reason] += 1
            else:
                counts["runs"] += 1
    assert counts["runs"] > 70


MATRICES = (
    "X(i,j)=B(i,k)*C(k,j) -s=reorder(i,k,j)",
    "X(i,j)=B(i,k)*C(k,j) -f=C:{}:1,0 -s=reorder(i,j,k)",
)
SIZES = {"i": 5, "k": 19, "j": 21}


@pytest.mark.parametrize("text", MATRICES)
@pytest.mark.parametrize("words", BLOCK_WORDS[1:])
def test_products_with_blocks_along_each_index(text: str, words: int) -> None:
    """Sizes are no multiples: there are words behind the last coordinate."""
    rng = np.random.default_rng(words)
    formats = product(("dd", "ds", "ss"), ("dd", "ss", "sd"), ("dd", "ds", "ss"))
    for number, (result, one, other) in enumerate(formats):
        if number % 3 != words % 3:
            continue
        density = rng.choice((0.05, 0.3, 1.0))
        tensors = {
            name: Tensor.from_any(
                np.where(rng.random(shape) < density, rng.standard_normal(shape), 0)
            )
            for name, shape in (("B", (5, 19)), ("C", (19, 21)))
        }
        second = "" if "{}" in text else f" -f=C:{other}"
        base = f"{text.format(other)} -f=X:{result} -f=B:{one}{second}"
        for index in SIZES:
            check(
                Corner(
                    f"{base} -s=block({index},{words})", tensors, "float32", True, frozenset(), ()
                )
            )


def test_a_sum_adds_words_first_and_then_neighbours() -> None:
    """Numbers whose sum depends on the order: 1 is lost beside 2^24."""
    big = 2.0**24
    program = compiled("x=b(i) -f=b:d -s=block(i,4)")
    values = {"b": np.array([big, 1, 1, 1, -big, 1, 0, 0])}
    run = like_model(program, values)
    # (0 + 2) + (1 + 1), in words; one after the other they would be 1.
    assert run.written["write_x_vals_vals"].view(np.float32).tolist() == [[4.0]]


def test_values_that_are_not_stored_are_zero_in_a_block() -> None:
    """A compressed row of blocks has zeros beside its entries, which are written, too."""
    program = compiled("X(i,j)=B(i,j)*c(i) -f=X:ds -f=B:ds -s=block(j,4)")
    matrix = np.zeros((2, 9))
    matrix[1, 2] = matrix[1, 8] = 3
    run = like_model(program, {"B": matrix, "c": np.array([1.0, 2.0])})
    words = run.written["write_X_vals_vals"].view(np.float32)
    assert words.tolist() == [[0, 0, 6, 0], [6, 0, 0, 0]]
    assert run.written["write_X_j_crd"].tolist() == [[0], [2]]


def test_lanes_that_sum_blocks() -> None:
    """Words are summed by lanes, lanes are added, then words."""
    rng = np.random.default_rng(3)
    text = "X(i,j)=B(i,k)*C(k,j) -f=X:dd -f=B:dd -f=C:dd -s=reorder(i,k,j) -s=block(k,4)"
    tensors = {
        "B": Tensor.from_any(rng.standard_normal((3, 37))),
        "C": Tensor.from_any(rng.standard_normal((37, 5))),
    }
    for lanes in (2, 4, 8):
        full = f"{text} -s=parallelize(k,{lanes})"
        graph = graph_of(compiled(full).launches[0].sections)
        assert sum(block.type == "spaccumulator" for block in graph.blocks) == lanes
        check(Corner(full, tensors, "float32", True, frozenset(), ()))


def test_pads_and_partial_blocks_that_would_count_are_refused() -> None:
    sums = compiled("x(i)=sum(j,exp(B(i,j))) -f=x:d -f=B:dd -s=block(j,4)")
    given = bind(sums, {"B": Tensor.from_any(np.ones((2, 6)))})
    with said("index j has 6 coordinates: must be a multiple of 4"):
        operands(sums.launches[0], given)
    operands(sums.launches[0], bind(sums, {"B": Tensor.from_any(np.ones((2, 8)))}))
    divided = compiled("X(i,j)=B(i,j)*reciprocal(C(i,j)) -f=X:ds -f=B:ds -f=C:ds -s=block(j,2)")
    whole, partial = np.ones((2, 4)), np.ones((2, 4))
    partial[1, 3] = 0
    with said("C[1,2] is in a block of 2 along j some of which have no entry"):
        operands(
            divided.launches[0],
            bind(divided, {"B": Tensor.from_any(whole), "C": Tensor.from_any(partial)}),
        )


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("X(i,j)=B(i,j)*reciprocal(c(i)) -f=X:ds -f=B:ds", 0.0),
        ("X(i,j)=B(i,j)*log(c(i)) -f=X:ds -f=B:ds", 0.0),
        ("X(i,j)=B(i,j)*exp(c(i)) -f=X:ds -f=B:ds", 1000.0),
        ("x(i)=B(i,j)*exp(c(i)) -f=B:ds", 1000.0),
        ("x(i)=B(i,j)*(2*exp(c(i))) -f=B:ds", 1000.0),
    ],
)
@pytest.mark.parametrize("index", "ij")
def test_zeros_that_would_meet_infinities_are_refused(text: str, scale: float, index: str) -> None:
    """0 times infinity is no number, and what is not stored is no product."""
    program = compiled(f"{text} -f=c:d -s=block({index},2)")
    c = Tensor.from_any(np.full(2, scale))
    partial = bind(
        program, {"B": Tensor.from_any(np.array([[1.0, 0, 2, 0], [0, 3, 0, 0]])), "c": c}
    )
    with said(f"B[0,0] is in a block of 2 along {index} some of which have no entry"):
        operands(program.launches[0], partial)
    whole = {"B": np.ones((2, 4)), "c": np.full(2, scale)}
    check(
        Corner(
            f"{text} -f=c:d -s=block({index},2)",
            {name: Tensor.from_any(array) for name, array in whole.items()},
            "float32",
            True,
            frozenset(),
            (),
        )
    )


def test_pads_that_would_meet_infinities_are_refused() -> None:
    program = compiled("x(i)=B(i,j)*exp(c(i)) -f=x:d -f=B:dd -f=c:d -s=block(j,2)")
    given = bind(program, {"B": Tensor.from_any(np.ones((2, 3))), "c": Tensor.from_any(np.ones(2))})
    with said("index j has 3 coordinates: must be a multiple of 2"):
        operands(program.launches[0], given)


def test_accumulators_of_large_blocks_take_no_more_than_their_sums() -> None:
    """The simulator held as many blocks as the machine has sums, in each lane."""
    text = "X(i,j)=B(i,k)*C(k,j) -f=X:dd -f=B:ds -f=C:dd -s=reorder(i,k,j) -s=block(j,64)"
    noise = np.random.default_rng(0)
    tensors = {
        name: Tensor.from_any(noise.integers(1, 9, shape).astype(float))
        for name, shape in (("B", (13, 19)), ("C", (19, 22)))
    }
    full = f"{text} -s=block(i,8) -s=parallelize(k,8)"
    program = compiled(full)
    given = operands(program.launches[0], bind(program, tensors))
    tracemalloc.start()
    given.simulated(10**6)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 500e6


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "X(i,j,k)=b(i)*C(j,k) -s=block(i,32) -s=block(j,16) -s=block(k,16)",
            "blocks: X(i,j,k): must have at most 4,096 words, not 8,192",
        ),
        ("x(i,j)=B(i,k)*B(j,k) -s=block(j,2)", "B is taken as B(i,k) and as B(j,k): must have its"),
        ("x(i)=b(i)*C(i,j)*d(k) -s=block(j,3)", "-s=block(j,3) must be block(j,N) with an index"),
        ("x(i)=b(i) -s=block(k,2)", "index 'k' is not in the expression; it has i"),
        ("x(i)=b(i) -s=block(i,2) -s=block(i,4)", "index i has blocks already"),
        (
            "x=b(i)*C(j,k) -s=block(i,32) -s=block(j,16) -s=block(k,16)",
            "must be at most 4,096 words, not 8,192",
        ),
    ],
)
def test_statements_that_are_refused(text: str, problem: str) -> None:
    with said(problem):
        lower(parse(text))


@pytest.mark.parametrize("words", [(2, 2), (4, 2), (8, 8), (2, 16)])
def test_blocks_of_rows_and_columns(words: tuple[int, int]) -> None:
    """A product of blocks, of which each multiplication is an outer one."""
    rng = np.random.default_rng(words)
    blocks = f" -s=block(i,{words[0]}) -s=block(j,{words[1]})"
    tensors = {
        name: Tensor.from_any(np.where(rng.random(shape) < 0.4, rng.standard_normal(shape), 0))
        for name, shape in (("B", (13, 9)), ("C", (9, 17)), ("M", (13, 17)))
    }
    for text in (
        "X(i,j)=B(i,k)*C(k,j)*M(i,j) -f=X:ds -f=B:ds -f=C:ds:1,0 -f=M:ds -s=reorder(i,j,k)",
        "X(i,j)=B(i,k)*C(k,j)*M(i,j) -f=X:dd -f=B:ds -f=C:dd -f=M:dd -s=reorder(i,k,j)",
        "X(j,i)=B(i,k)*C(k,j) -f=X:sd -f=B:dd:1,0 -f=C:ss -f=M:dd -s=reorder(k,j,i)",
    ):
        own = {name: each for name, each in tensors.items() if f"{name}(" in text}
        text = text.replace(" -f=M:dd", "") if "M(" not in text else text
        for index in ("", "k"):
            more = f" -s=block({index},4)" if index else ""
            check(Corner(text + blocks + more, own, "float32", True, frozenset(), ()))


def test_sums_over_either_index_of_a_block() -> None:
    rng = np.random.default_rng(9)
    tensors = {
        "B": Tensor.from_any(rng.standard_normal((11, 13))),
        "c": Tensor.from_any(rng.standard_normal(13)),
    }
    for order in ("i,j", "j,i"):
        form = "-f=B:ds" if order == "i,j" else "-f=B:ds:1,0"
        for text in ("x(i)=B(i,j)*c(j) -f=x:d", "x(j)=B(i,j)*c(j) -f=x:d", "x=B(i,j)*c(j)"):
            full = f"{text} {form} -f=c:d -s=reorder({order}) -s=block(i,4) -s=block(j,2)"
            check(Corner(full, tensors, "float32", True, frozenset(), ()))


def test_machines_without_room_for_blocks_refuse_them() -> None:
    text = "x(i)=b(i)*c(i) -s=block(i,4)"
    with said("memory = 'shared': must be 'local' or 'lines' for blocks of values, whose r"):
        compiled(text, SamConfig(memory="shared"))
    pool = {"root": 1, "fiberlookup": 2, "arrayvals": 2, "alu": 1, "fiberwrite": 1, "valwrite": 1}
    with said("has values of 4 words along i: must be of 1 word on a fabric"):
        compiled(text, SamConfig(fabric={**pool, "locate": 1, "repeat": 1, "repsiggen": 1}))


BLOCKS = "x(i)=B(i,j)*c(j) -f=x:s -f=B:ds -s=block(j,4)"


@pytest.mark.parametrize(
    ("name", "changes", "problem"),
    [
        ("vals_B", {"block": "j:8"}, "must have "),
        ("vals_B", {"block": ""}, "must be "),
        ("vals_B", {"block": "i:4"}, "must be "),
        ("fold_reduce_j", {"block": "j:8"}, "must have 4 words along j, as vals_B"),
        ("fold_reduce_j", {"block": "i:4,j:4"}, "is given values of 4 words along j: must be "),
        ("fold_reduce_j", {"index": ""}, "folds 4 words along j over no index"),
        ("write_x_vals", {"block": "i:4"}, "must be "),
    ],
)
def test_graphs_with_other_words_are_refused(name: str, changes: dict, problem: str) -> None:
    program = compiled(BLOCKS)
    (launch,) = program.launches
    graph = graph_of(launch.sections)
    blocks = [
        Block(each.name, each.type, {**each.parameters, **changes}) if each.name == name else each
        for each in graph.blocks
    ]
    changed = Graph(tuple(blocks), graph.edges)
    with pytest.raises(GnarlError, match=problem):
        verify(changed)
        plan = Plan.of_statement(changed, BLOCKS)
        require_agreement(plan.graph, plan.kernel)


def test_graphs_in_files() -> None:
    plan = Plan.of_statement(lower(parse(BLOCKS)), BLOCKS)
    again = read_dot(plan_dot(plan), "b.gv")
    assert again.graph.blocks_along == {"j": 4}
    assert sorted(block.type for block in again.graph.blocks) == sorted(
        block.type for block in plan.graph.blocks
    )
    statement = parse(BLOCKS)
    alone = read_dot(write_dot(plan.graph, statement), "b.gv")
    assert alone.graph.blocks_along == {"j": 4}
    assert "-s=block(j,4)" in describe(plan.graph, statement.formats)
    for block, problem in (
        ("j:5", "must be of 2, 4, 8, 16, 32, 64 words along each index"),
        ("k:4,j:4", "must be indices in the order of their names, each once"),
        ("4", "must be indices with 2, 4, 8, 16, 32, 64 words each, as i:4,k:4"),
        ("i:64,j:64,k:2", "must be at most 4,096 words, not 8,192"),
    ):
        text = write_dot(plan.graph, statement).replace('block="j:4"', f'block="{block}"')
        with said(problem):
            read_dot(text, "b.gv")
