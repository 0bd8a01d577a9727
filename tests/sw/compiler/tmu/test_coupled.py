"""Programs for the execute unit alone: right bits for any nest, and no instruction too many."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from gnarl.hw.lib.encoding.execute_isa import Instruction, Opcode
from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.tmu.compile import compile
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.tmu.image import Operands, image, outputs, result_rows
from gnarl.sw.runtime.tmu.model import machine
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.sources import OPERATIONS, named_workload
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.nests.dense_nests import RandomDenseNest
from tests.support.nests.dense_nests import random_values as dense_values
from tests.support.nests.loop_interpreter import interpret
from tests.support.tmu.nests import RandomTmuNest, random_values
from tests.support.tmu.programs import bags, check

CONFIG = TmuConfig(lanes=4)

PLAIN = [name for name in OPERATIONS if not name.startswith(("vector", "compressed", "matrix"))]


def check_workload(workload: LoopWorkload, config: TmuConfig, *, reassociate: bool = False) -> None:
    """As ``check_run``; every pass keeps the rules of the dialects."""
    program = checked_program(workload, config, reassociate=reassociate)
    check_run(program, workload, config, reassociate=reassociate)


def checked_program(
    workload: LoopWorkload, config: TmuConfig, *, reassociate: bool = False
) -> Program:
    """Every pass keeps the rules of the dialects."""
    trace = Trace(write=lambda name, texts: None, only=())
    return compile(workload, config, trace=trace, coupled=True, reassociate=reassociate)


def check_run(
    program: Program, workload: LoopWorkload, config: TmuConfig, *, reassociate: bool = False
) -> None:
    """The model's results have the bits of the interpreter of nests, or with ``reassociate`` of the
    golden model in the program's order."""
    (launch,) = program.launches
    operands = Operands(launch, workload.inputs)
    run = machine.run(config, image(launch, operands), lambda counters: result_rows(launch, {}))
    found = outputs(launch, operands, run.memory)
    results = operands.golden if reassociate else interpret(workload.nest, workload.binding)
    for name, wanted in results.items():
        assert np.asarray(found[name]).tobytes() == wanted.tobytes(), name
    assert run.counters["words_queued"] == run.counters["tokens_queued"] == 0


@pytest.mark.parametrize("name", PLAIN)
def test_operations(name: str):
    check_workload(named_workload(f"{name}:tiny"), TmuConfig())


@pytest.mark.parametrize("name", ("fused_mm", "knowledge_graph_l1", "knowledge_graph_l2"))
@pytest.mark.parametrize("lanes", (4, 16))
def test_sums_by_lanes(name: str, lanes: int):
    check_workload(named_workload(f"{name}:tiny"), TmuConfig(lanes=lanes), reassociate=True)


def test_sums_by_lanes_of_a_dimension_that_is_no_multiple_of_them():
    nest = read_source(
        "n, m = sizes('n', 'm')\n\n\n@nest\n"
        "def f(x: float32[n, m], y: float32[n]):\n"
        "    for i in range(n):\n"
        "        total = 1.0\n"
        "        for j in range(m):\n"
        "            total += x[i, j] * x[i, j]\n"
        "        y[i] = total\n",
        "file.py",
    )
    x = np.random.default_rng(0).standard_normal((3, 11)).astype(np.float32)
    check_workload(LoopWorkload("f", nest, {"x": x}), CONFIG, reassociate=True)


def small_config(random: Random) -> TmuConfig:
    return TmuConfig(
        lanes=random.choice((2, 4, 8)), memory_bytes=1 << 16, l1_bytes=1 << 10, l2_bytes=1 << 11
    )


def check_random(seed: int) -> None:
    random = Random(seed)
    nest, values = RandomTmuNest(random).nest(), random_values(random)
    config = small_config(random)
    workload = LoopWorkload("random", nest, values)
    check_workload(workload, config, reassociate=random.random() < 0.5)


@pytest.mark.parametrize("seed", range(8))
def test_random_nests(seed: int):
    check_random(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 1000))
def test_many_random_nests(seed: int):
    check_random(seed)


def check_dense(seed: int) -> None:
    random = Random(seed)
    workload = LoopWorkload("dense", RandomDenseNest(random).nest(), dense_values(random))
    check_workload(workload, small_config(random))


@pytest.mark.parametrize("seed", range(8))
def test_random_dense_nests(seed: int):
    check_dense(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 1500))
def test_many_random_dense_nests(seed: int):
    check_dense(seed)


DENSE = {
    "outer_products": """\
def f(c: float32[n, n], x: float32[n, m], y: float32[m, n]):
    for k in range(m):
        for i in range(n):
            for j in range(n):
                c[i, j] += x[i, k] * y[k, j]
""",
    "in_place": """\
def f(c: float32[n, n]):
    for k in range(n):
        for i in range(n):
            for j in range(n):
                c[i, j] += c[i, k] * c[k, j]
""",
    "rows_from_rows_before": """\
def f(c: float32[n, n], v: float32[n]):
    for i in range(n):
        for j in range(n):
            v[i] += c[i, j] * v[j]
""",
    "columns": """\
def f(c: float32[n, n], v: float32[n]):
    for i in range(n):
        s = 0.0
        for k in range(n):
            s += c[k, i]
            c[k, i] = s
""",
    "lanes_where_others_have_been": """\
def f(d: float32[n + m], v: float32[n], w: float32[m]):
    for i in range(n):
        s = 0.0
        for k in range(m):
            s += v[i] * w[k]
            d[i + k] = s
""",
    "scattered_sums": """\
def f(d: float32[n + m], v: float32[n], w: float32[m]):
    for k in range(m):
        for i in range(n):
            d[i + k] += v[i] * w[k]
""",
}


@pytest.mark.parametrize("sizes", ((1, 1), (4, 3), (9, 5), (8, 8), (5, 11)), ids=str)
@pytest.mark.parametrize("name", DENSE)
def test_orders_of_dense_loops(name: str, sizes: tuple[int, int]):
    source, (n, m) = nest(DENSE[name]), sizes
    rng = np.random.default_rng(0)
    shapes = {"c": (n, n), "x": (n, m), "y": (m, n), "v": (n,), "w": (m,), "d": (n + m,)}
    values = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    inputs = {each: values[each] for each in source.arrays}
    check_workload(LoopWorkload(name, source, inputs), CONFIG)


def test_vectors_and_words_of_one_array_at_one_place():
    """What is kept for a later iteration is of the type that this one loads."""
    source = nest(
        "def f(d: float32[n + m], v: float32[n], w: float32[m]):\n"
        "    for k in range(n):\n        s = 0.0\n"
        "        for e in range(m):\n            s += d[k + e] * w[e]\n"
        "        for c in range(4):\n            v[c] = s * v[c]\n"
        "        if s > d[k + 3]:\n            v[k] += s\n"
    )
    rng = np.random.default_rng(0)
    shapes = {"d": (15,), "v": (9,), "w": (6,)}
    inputs = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    check_workload(LoopWorkload("f", source, inputs), TmuConfig(lanes=2))


def test_long_loops_of_integers_are_not_written_out_whole():
    source = nest(
        "def f(c: int32[n], d: int32[m]):\n    for k in range(m):\n        for i in range(n):\n"
        "            c[i] = c[i] + 1\n"
    )
    inputs = {"c": np.arange(40, dtype=np.int32), "d": np.zeros(1200, np.int32)}
    workload = LoopWorkload("f", source, inputs)
    check_workload(workload, CONFIG)
    program = compile(workload, CONFIG, trace=Trace(), coupled=True)
    assert len(instructions_of(program)) <= CONFIG.program_words // 2


@pytest.mark.parametrize("dim", (1, 20, 140))
def test_dimensions(dim: int):
    """Less than a vector, with a rest, and more than registers hold."""
    nest = OPERATIONS["embedding_bag_weighted"].nest
    values = bags(np.random.default_rng(dim), [3, 0, 9, 1], dim)
    inputs = {name: values[name] for name in nest.arrays if name in values}
    check_workload(LoopWorkload("bags", nest, inputs), CONFIG)


@pytest.mark.parametrize("lengths", ([], [0], [1], [0, 0, 7]))
def test_few_and_empty_bags(lengths: list[int]):
    nest = OPERATIONS["embedding_bag_max"].nest
    values = bags(np.random.default_rng(1), lengths, 6)
    inputs = {name: values[name] for name in nest.arrays if name in values}
    check_workload(LoopWorkload("bags", nest, inputs), CONFIG)


def test_results_that_are_given_are_added_to():
    values = bags(np.random.default_rng(0), [3, 0, 5], 8)
    values["out"] = np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32)
    check(OPERATIONS["embedding_bag"].nest, values, CONFIG, None, coupled=True)


def instructions_of(program: Program) -> list[Instruction]:
    (launch,) = program.launches
    return [Instruction.decoded(tuple(each)) for each in launch.sections["instructions"].tolist()]


def test_what_a_look_up_costs():
    """Four vectors, in two lines, take a load and a sum each; the index of a later one, where its
    row lies, two lines to fetch, and keeping that; a share of counting and of fetching indices."""
    workload = named_workload("embedding_bag:rm1")
    program = compile(workload, TmuConfig(), trace=Trace(), coupled=True)
    code = instructions_of(program)
    loops = [place for place, each in enumerate(code) if each.opcode == Opcode.LOOP]
    body = code[loops[1] + 1 : code[loops[1]].immediate]
    counts = {opcode: sum(each.opcode == opcode for each in body) for opcode in Opcode}
    assert {opcode: count for opcode, count in counts.items() if count} == {
        Opcode.LOAD: 8 * (4 + 1),
        Opcode.FADD: 8 * 4,
        Opcode.SHIFT_LEFT: 8,
        Opcode.PREFETCH: 8 * 2 + 1,
        Opcode.ADD: 8 + 1,
    }


def nest(text: str) -> Nest:
    return read_source(f"n, m = sizes('n', 'm')\n\n\n@nest\n{text}", "file.py")


NOT_DECOUPLED = {
    "in_place": """\
def f(y: float32[n]):
    for i in range(1, n):
        y[i] = y[i] + y[i - 1]
""",
    "carried": """\
def f(x: float32[n], y: float32[n]):
    s = 0.0
    for i in range(n):
        y[i] = s
        s = s * 0.5 + x[i]
""",
    "bounds_from_results": """\
def f(x: float32[n], y: float32[n], c: int32[n]):
    for i in range(n):
        c[i] += i
        for k in range(c[i]):
            y[i] += x[k]
""",
    "several_loops": """\
def f(x: float32[n], y: float32[n], o: int32[n + 1]):
    for i in range(n):
        for p in range(o[i], o[i + 1]):
            y[i] += x[p]
        for p in range(o[i], o[i + 1]):
            y[i] *= x[p]
""",
    "before_the_first": """\
def f(x: float32[n], y: float32[n]):
    for i in range(n):
        y[i] = x[i] - (x[i - 1] if i > 0 else 0.0)
        if i > 0 and x[i - 1] < 0.5 or i < 8 and x[i + 1] < 0.0:
            y[i] *= 2.0
""",
    "neighbours_in_any_order": """\
def f(x: float32[n], y: float32[n], o: int32[n + 1]):
    for i in range(o[5]):
        y[i] = (x[i + 1] + x[i + 2]) + x[i]
""",
    "negated_constant": """\
def f(x: float32[n], y: float32[n]):
    s = 0.5
    for i in range(n):
        y[i] = -s
        y[0] += x[i] - -s
""",
    "choice": """\
def f(x: float32[n], y: float32[n]):
    for i in range(n):
        if x[i] < 0.0:
            y[i] = 1.0
        else:
            y[i] = x[i]
""",
}


@pytest.mark.parametrize("name", NOT_DECOUPLED)
def test_nests_that_decoupling_refuses_or_not(name: str):
    source = nest(NOT_DECOUPLED[name])
    rng = np.random.default_rng(0)
    values = {
        "x": rng.standard_normal(9).astype(np.float32),
        "y": rng.standard_normal(9).astype(np.float32),
        "o": np.array([0, 2, 2, 3, 5, 6, 6, 8, 9, 9], np.int32),
        "c": np.zeros(9, np.int32),
    }
    inputs = {each: values[each] for each in source.arrays}
    check_workload(LoopWorkload(name, source, inputs), CONFIG)


IN_THE_FIRST_ITERATION = {
    "element": "y[i] = (0.5 if k == o[i] else y[i]) + x[k, j]",
    "row": "z[i, j] = (0.5 if k == o[i] else z[i, j]) + x[k, j]",
    "term": "y[i] += 0.5 if k == o[i] else x[k, j]",
    "condition": "y[i] += 0.5 if k == o[i] and x[k, j] > 0.0 else x[k, j]",
}


@pytest.mark.parametrize("dim", (1, 4, 7))
@pytest.mark.parametrize("name", IN_THE_FIRST_ITERATION)
def test_choices_in_the_first_iteration(name: str, dim: int):
    """Loops that add up, in an iteration of its own, which is a branch."""
    source = nest(
        "def f(o: int32[n], x: float32[n, m], y: float32[n], z: float32[n, m]):\n"
        "    for i in range(n - 1):\n        for k in range(o[i], o[i + 1]):\n"
        f"            for j in range(m):\n                {IN_THE_FIRST_ITERATION[name]}\n"
        "    for i in range(n):\n        y[i] += z[i, 0]\n        z[i, 0] += y[i]\n"
    )
    rng = np.random.default_rng(dim)
    inputs = {"o": np.array([0, 2, 2, 4], np.int32)} | {
        name: rng.standard_normal(shape).astype(np.float32)
        for name, shape in {"x": (4, dim), "y": (4,), "z": (4, dim)}.items()
    }
    check_workload(LoopWorkload(name, source, inputs), CONFIG)


@pytest.mark.parametrize("fiber", ("0:0", "0:n", "1:n", "2:1"))
def test_positions_of_a_fiber_that_lacks_the_coordinate(fiber: str):
    source = nest(
        "def f(left: int32[n], right: int32[m], y: int32[12], z: int32[12]):\n"
        f"    for k, (p, q), (has_p, has_q) in union(left[{fiber}], right):\n"
        "        y[k] = p\n        z[k] = q if has_q else q + 100\n"
    )
    program: Program | None = None
    for coordinates in ([5, 6, 7], [0, 1, 2], [1, 3, 9]):
        inputs = {"left": np.int32(coordinates), "right": np.int32([2, 3, 4, 8])}
        workload = LoopWorkload("f", source, inputs)
        program = program or checked_program(workload, CONFIG)
        check_run(program, workload, CONFIG)


def test_sums_in_a_branch():
    source = nest(
        "def f(x: float32[n, m], y: float32[n]):\n    for i in range(n):\n"
        "        if i == 0:\n            for j in range(m):\n                y[i] += x[i, j]\n"
    )
    x = np.random.default_rng(0).standard_normal((3, 7)).astype(np.float32)
    check_workload(LoopWorkload("f", source, {"x": x}), CONFIG)


def test_what_the_unit_lacks():
    source = nest("def f(c: int32[n]):\n    for i in range(n):\n        c[i] = c[i] // 3\n")
    workload = LoopWorkload("f", source, {"c": np.zeros(4, np.int32)})
    with pytest.raises(WorkloadError) as caught:
        compile(workload, CONFIG, trace=Trace(), coupled=True)
    assert str(caught.value) == (
        "file.py:7:16: arith.floordivsi: not supported by the execute unit"
    )


def test_a_program_that_memory_does_not_hold():
    workload = named_workload("fused_mm:tiny")
    with pytest.raises(CapacityError, match=r"^program_words = 16: must be at least \d+$"):
        compile(workload, TmuConfig(program_words=16), trace=Trace(), coupled=True)


def test_levels_are_of_decoupled_programs():
    workload = named_workload("embedding_bag:tiny")
    with pytest.raises(WorkloadError) as caught:
        compile(workload, CONFIG, trace=Trace(), opt=3, coupled=True)
    assert str(caught.value) == "--opt: must not be given with --coupled, which has no levels"
