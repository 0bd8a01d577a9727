"""DOT files that say what their graphs compute, as Einsum programs."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.sam.compile import compile
from gnarl.sw.compiler.sam.dot_read import read_dot
from gnarl.sw.compiler.sam.dot_write import plan_dot
from gnarl.sw.compiler.sam.fuse.regions import Region
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.plan import Plan, kernel_of_statement
from gnarl.sw.compiler.sam.sections import plan_of
from gnarl.sw.compiler.sam.workload import SamGraph
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.text import parse_program, program_text
from gnarl.sw.workloads.tensor.expression_parser import MAX_DEPTH
from gnarl.sw.workloads.tensor.parser import parse
from tests.support.errors import noted, refused
from tests.support.sam.corner_statements import corner
from tests.support.sam.models import CONFIG, compiled, run
from tests.support.sam.program_cases import ProgramCase
from tests.support.sam.programs import make_program
from tests.sw.compiler.sam.test_dot import TEXTS, is_isomorphic

SOFTMAX = (
    "m(i)=max[j](A(i,j)); e(i,j)=exp(A(i,j)-m(i)); s(i)=sum[j](e(i,j)); y(i,j)=e(i,j)/s(i) "
    "-f=A:ss -f=y:ds"
)
SHALLOW = replace(CONFIG, queue_depth=2)
A = np.array([[0.5, 0.0, 2.0, 1.0], [0.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 3.0]])


def meant(program: EinsumProgram) -> EinsumProgram:
    """The program without the name, which no text has."""
    return replace(program, name="")


def round_trip(plan: Plan) -> str:
    """The plan's file, which is read as the same plan and written again as the same text."""
    text = plan_dot(plan)
    with noted(program_text(plan.kernel.program)):
        found = read_dot(text, "x.gv")
        assert is_isomorphic(found.graph, plan.graph)
        assert meant(found.kernel.program) == meant(plan.kernel.program)
        assert found.is_program
        assert plan_dot(found) == text
    return text


def plans(case: ProgramCase, seed: int) -> list[Plan]:
    """Those of a program cut at random, if it has graphs."""
    try:
        program = compiled(case.program, case.tensors, case.groups(random.Random(seed)))
    except WorkloadError:
        return []
    return [plan_of(launch.sections) for launch in program.launches]


def test_regions_of_random_programs() -> None:
    found = [plan for seed in range(60) for plan in plans(make_program(seed), seed)]
    for plan in found:
        round_trip(plan)
    assert len(found) > 60


def test_what_is_read_computes_the_same() -> None:
    compared = 0
    for seed in range(0, 60, 4):
        case = make_program(seed)
        whole = [tuple(each.name for each in case.program.statements)]
        try:
            program = compiled(case.program, case.tensors, whole)
        except WorkloadError:
            continue
        (launch,) = program.launches
        graph = read_dot(plan_dot(plan_of(launch.sections)), "x.gv")
        again = compile(SamGraph("x", graph), CONFIG)
        with noted(program_text(case.program)):
            done, expected = run(again, case.tensors), run(program, case.tensors)
            for name, got in done.got.items():
                np.testing.assert_array_equal(got, expected.got[name])
                np.testing.assert_array_equal(got, done.meant[name])
                compared += 1
    assert compared >= 10


def graph_of(text: str, skip: bool = True) -> Graph:
    return lower(parse(text), skip=skip)


@pytest.mark.parametrize("name", TEXTS)
def test_statements(name: str) -> None:
    plan = Plan.of_statement(graph_of(TEXTS[name]), TEXTS[name])
    assert round_trip(plan).splitlines()[2].startswith('    einsum="')


def test_random_statements() -> None:
    for seed in range(30):
        case = corner(seed)
        try:
            graph = graph_of(case.text, case.skip)
        except WorkloadError:
            continue
        round_trip(Plan.of_statement(graph, case.text))


@pytest.mark.parametrize(
    "text",
    [
        "x=" + (MAX_DEPTH - 2) * "(b(i)*" + "-2" + (MAX_DEPTH - 2) * ")",
        "x=" + "+".join(["b(i)*c(i)"] * 120),
        "x(i)=b(i)" + "+-2" * 200,
    ],
    ids=["deep", "sums", "signs"],
)
def test_statements_as_large_as_they_may_be(text: str) -> None:
    """Written out, sums and signs nest deeper, and are more."""
    kernel = kernel_of_statement(parse(text))
    assert meant(parse_program(program_text(kernel.program))) == meant(kernel.program)


def softmax() -> Plan:
    """One whose queues are made for fibers of three."""
    region = Region(("m", "e", "s", "y"), longest={"j": 3})
    (launch,) = compiled(SOFTMAX, {"A": A}, [region], config=SHALLOW).launches
    return plan_of(launch.sections)


def test_queues_and_what_they_are_made_for() -> None:
    plan = softmax()
    sizes = dict.fromkeys(plan.kernel.order, 3)
    assert plan.bounded(sizes, SHALLOW).longest == {"j": 3}
    deep = replace(plan, longest={"i": 3, "j": 3})
    assert any(edge.depth for edge in plan.graph.edges)
    assert '\n    longest="i=3,j=3"\n' in round_trip(deep)
    assert read_dot(plan_dot(deep), "x.gv").longest == {"i": 3, "j": 3}


def test_a_longer_fiber_is_refused() -> None:
    program = compile(SamGraph("x", read_dot(plan_dot(softmax()), "x.gv")), SHALLOW)
    done = run(program, {"A": A}, is_timed=True)
    np.testing.assert_array_equal(done.got["y"], done.meant["y"])
    with pytest.raises(CapacityError, match="has 4 coordinates of j in a fiber: at most 3"):
        run(program, {"A": A + 1})


# Files whose text is not what the graph computes, or no program.

PRODUCT = "t(i,j)=sum[k](B(i,k)*C(k,j)); X(i,j)=relu(t(i,j)) -f=X:ss -f=B:ss -f=C:ss"


@pytest.fixture(scope="module")
def product() -> str:
    b, c = np.eye(3), np.eye(3)
    (launch,) = compiled(PRODUCT, {"B": b, "C": c}, [("t", "X")]).launches
    return plan_dot(plan_of(launch.sections))


def with_text(dot: str, text: str) -> str:
    lines = dot.splitlines(keepends=True)
    assert lines[2].startswith("    einsum=")
    return "".join([*lines[:2], f'    einsum="{text}"\n', *lines[3:]])


FORMATS = "-f=X:ss -f=B:ss -f=C:ss"
WRONG = {
    "no program": ("X(i,j)=", "statement X, column 8: the expression ends too early"),
    "empty": ("", "statement 1, column 1: expected a result such as X(i,j), found the end"),
    "an option": (
        "X(i,j)=B(i,j) -q=3",
        "program, column 15: unknown option -q; the options are -f, -s, -n and -r",
    ),
    "another operand": (
        f"X(i,j)=sum[k](B(i,k)*D(k,j)) {FORMATS.replace('C', 'D')}",
        "tensor D: must be in the comment of the digraph",
    ),
    "an operand less": (
        "X(i,j)=B(i,j) -f=X:ss -f=B:ss",
        "must have tensor C, as the comment of the digraph: it has B, X",
    ),
    "another format": (
        f"X(i,j)=sum[k](B(i,k)*C(k,j)) {FORMATS.replace('C:ss', 'C:ds')}",
        "tensor C is stored ds01: must be ss01, as the comment of the digraph says",
    ),
    "other modes": (
        f"X(i,j)=sum[k](B(i,k)*C(k,j)) {FORMATS.replace('C:ss', 'C:ss:1,0')}",
        "tensor C is stored ss10: must be ss01, as the comment of the digraph says",
    ),
    "another result": (
        f"B(i,j)=sum[k](X(i,k)*C(k,j)) {FORMATS}",
        "block write_X_vals: writes X: must write B",
    ),
    "two results": (
        f"X(i,j)=relu(B(i,j)); C(i,j)=relu(X(i,j)) {FORMATS} -r=X,C",
        "its graph writes 0 levels of C: must be 2, as the statement",
    ),
    "other indices": (
        f"X(i,j)=sum[k](B(k,i)*C(k,j)) {FORMATS}",
        "block vals_B: reads B(i,k): the statement has B(k,i)",
    ),
    "a transposed result": (
        f"X(j,i)=sum[k](B(i,k)*C(k,j)) {FORMATS}",
        "block write_X_i: index i: must be j, as the statement has X(j,i)",
    ),
    "other names of indices": (
        f"X(i,l)=sum[k](B(i,k)*C(k,l)) {FORMATS}",
        "block accumulate: index 'j': the statement has i, l, k",
    ),
    "an operand twice": (
        f"X(i,j)=sum[k](B(i,k)*C(k,j)*C(i,j)) {FORMATS}",
        "its graph does not read C(i,j), which the statement has",
    ),
    "loops in each other": (
        f"t(i,j)=sum[k](B(i,k)*C(k,j)); X(i,j)=relu(t(i,j)) {FORMATS} -s=reorder(t:i,j,k) "
        "-s=reorder(X:j,i)",
        "program: the loops over i, j lie in each other: the loop orders of its statements must "
        "agree",
    ),
    "an intermediate tensor transposed": (
        f"t(i,j)=sum[k](B(i,k)*C(k,j)); X(i,j)=relu(t(j,i)) {FORMATS}",
        "statement X: t(j,i): must be t(i,j), as it is computed: an index means the same in all "
        "statements",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_texts_that_are_not_the_graphs(product: str, name: str) -> None:
    text, problem = WRONG[name]
    with refused(f"x.gv: einsum: {problem}"):
        read_dot(with_text(product, text), "x.gv")


LONGEST = {
    "j=0": "j = 0: must be at least 1",
    "j=-4": "j = -4: must be at least 1",
    "j": "j: '' is not a whole number",
    "j=x": "j: 'x' is not a whole number",
    "l=3": "'l=3': must have each of i, k, j once at most",
    "j=3,j=4": "'j=4': must have each of i, k, j once at most",
}


@pytest.mark.parametrize("text", LONGEST)
def test_bounds_that_are_none(product: str, text: str) -> None:
    with refused(f"x.gv: longest: {LONGEST[text]}"):
        read_dot(product.replace("    einsum", f'    longest="{text}"\n    einsum', 1), "x.gv")


def test_a_text_without_loop_orders_has_those_that_it_means(product: str) -> None:
    found = read_dot(with_text(product, PRODUCT), "x.gv")
    assert [each.order for each in found.kernel.program.statements] == [("i", "j", "k"), ("i", "j")]


def test_what_is_computed_of_the_right_tensors_is_for_runs_to_tell(product: str) -> None:
    text = f"X(i,j)=sum[k](max(B(i,k),C(k,j))) {FORMATS}"
    program = compile(SamGraph("x", read_dot(with_text(product, text), "x.gv")), CONFIG)
    done = run(program, {"B": np.eye(3), "C": np.eye(3)})
    assert (done.got["X"] != done.meant["X"]).any()
