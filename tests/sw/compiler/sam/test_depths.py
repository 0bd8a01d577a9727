"""Queues in which fibers wait for their own reductions."""

from __future__ import annotations

import numpy as np
import pytest

from bench.fuseflow_parts.attention_head import Head, attention, bigbird
from bench.fuseflow_parts.attention_queues import queue_bits
from gnarl.hw.lib.errors import ProgramError
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Graph
from gnarl.hw.sam.memory_map import WATCHDOG_CYCLES, ErrorCause, settings_rows
from gnarl.sw.compiler.sam.depths import size_queues
from gnarl.sw.compiler.sam.fuse.regions import Fusion, Region, lower_regions
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.parallelize import parallelize
from gnarl.sw.compiler.sam.passes import attach_coordinates
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.compiler.sam.verify import verify
from gnarl.sw.runtime.machine.host import AcceleratorError
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.model.streams import run_graph
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.einsum.text import parse_program
from gnarl.sw.workloads.tensor.parser import parse
from tests.hw.sam.graphs import CENTRED, STUCK, column, graph, machine, small
from tests.support.errors import refused

CONFIG = SamConfig(queue_depth=8)

TWICE = graph(
    {
        "root": "root",
        "i": ("fiberlookup", {"format": "dense", "index": "i"}),
        "j": ("fiberlookup", {"format": "dense", "index": "j"}),
        "vals": "arrayvals",
        "signal": "repsiggen",
        "max": ("reduce", {"op": "max"}),
        "maxima": "repeat",
        "centred": ("alu", {"op": "sub"}),
        "sum": "reduce",
        "sums": "repeat",
        "out": ("alu", {"op": "max"}),
        "write": "valwrite",
    },
    [
        "root.out_ref -> i.ref",
        "i.out_ref -> j.ref",
        "j.out_crd -> signal.crd",
        "j.out_ref -> vals.ref",
        "vals.out_val -> max.val",
        "max.out_val -> maxima.ref",
        "signal.out_repsig -> maxima.repsig",
        "vals.out_val -> centred.val0",
        "maxima.out_ref -> centred.val1",
        "centred.out_val -> sum.val",
        "sum.out_val -> sums.ref",
        "signal.out_repsig -> sums.repsig",
        "centred.out_val -> out.val0",
        "sums.out_ref -> out.val1",
        "out.out_val -> write.val",
    ],
)
"""Each row without its maximum, and at least the sum of what that makes."""


def depths(graph: Graph) -> dict[str, int]:
    return {
        f"{edge.target}.{edge.input}": edge.depth for edge in graph.edges if edge.depth is not None
    }


def cycles(graph: Graph, values: np.ndarray, expected: np.ndarray, queue_depth: int = 2) -> int:
    """Those of a run on ``values``, by rows, whose result must be the one that is expected."""
    config = small(graph, queue_depth=queue_depth, array_words=64, format="fixed16.0")
    driver, _ = machine(config)
    for block in graph.blocks:
        if block.type == "arrayvals":
            driver.write_window(f"{block.name}_vals", column(values.ravel().tolist()))
    sizes = dict(zip("ij", values.shape, strict=True))
    rows = settings_rows(config)
    driver.write_window("settings", column([sizes[graph[block]["index"]] for block, _ in rows]))
    driver.run(max_cycles=WATCHDOG_CYCLES + 1000)
    written = driver.read_window("write_vals", 0, values.size)[:, 0].astype(np.int16)
    assert written.tolist() == expected.ravel().tolist()
    return driver.cycles()


@pytest.mark.parametrize("row", [8, 16])
def test_the_least_depths(row: int) -> None:
    values = np.arange(2 * row).reshape(2, row)
    centred = values - values.max(axis=1, keepdims=True)
    sized = size_queues(CENTRED, {"j": row}, SamConfig(queue_depth=2), slack=0)
    assert depths(sized) == {"sub.val0": row, "maxima.repsig": row}
    cycles(sized, values, centred)
    # The queue in front of the signals' generator holds two more.
    for short in ({("sub", "val0"): row - 1}, {("maxima", "repsig"): row - 3}):
        with pytest.raises(AcceleratorError) as caught:
            cycles(sized.with_depths(short), values, centred)
        assert caught.value.status.cause == ErrorCause.DEADLOCK


def test_rows_follow_each_other_through_two_reductions() -> None:
    """With slack they take no longer than with any queues."""
    values = np.arange(64).reshape(8, 8) * 5 % 13
    centred = values - values.max(axis=1, keepdims=True)
    expected = np.maximum(centred, centred.sum(axis=1, keepdims=True))
    least = size_queues(TWICE, {"j": 8}, SamConfig(queue_depth=2), slack=0)
    assert depths(least) == {
        "maxima.repsig": 8,
        "centred.val0": 8,
        "sums.repsig": 17,
        "out.val0": 8,
    }
    sized = size_queues(TWICE, {"j": 8}, SamConfig(queue_depth=4))
    assert depths(sized) == {name: depth + 16 for name, depth in depths(least).items()}
    longest = cycles(TWICE, values, expected, 64)
    assert cycles(sized, values, expected, 4) == longest
    assert cycles(least, values, expected) > longest


def test_rows_wait_in_their_lanes() -> None:
    values = np.arange(40).reshape(5, 8)
    expected = values - values.max(axis=1, keepdims=True)
    dealt = parallelize(CENTRED, "i", 2)
    sized = size_queues(dealt, {"j": 8}, SamConfig(queue_depth=2), slack=0)
    assert depths(sized)["sub_lane1.val0"] == 8
    cycles(sized, values, expected)


def test_all_of_a_vector_waits_for_its_sum() -> None:
    sized = size_queues(STUCK, {"": 30}, SamConfig(queue_depth=4), slack=0)
    assert depths(sized) == {"add.val0": 30, "sums.repsig": 30}


def test_depths_that_are_enough_stay() -> None:
    assert size_queues(TWICE, {"j": 8}, SamConfig(queue_depth=33)) == TWICE
    given = TWICE.with_depths({("out", "val0"): 100, ("centred", "val0"): 10, ("j", "ref"): 7})
    sized = depths(size_queues(given, {"j": 8}, SamConfig(queue_depth=33)))
    assert sized == {"out.val0": 100, "centred.val0": 24, "j.ref": 7}


def test_tokens_that_wait_alone_have_no_slack() -> None:
    sized = size_queues(lower(parse(SUITE["matmul_ikj"])), dict.fromkeys("ijk", 3), CONFIG)
    assert depths(sized) == {}
    short = SamConfig(queue_depth=2)
    sized = size_queues(lower(parse(SUITE["matmul_ikj"])), dict.fromkeys("ijk", 3), short)
    assert depths(sized) == {"drop_i_j.outer": 4}


@pytest.mark.parametrize("name", SUITE)
def test_graphs_of_statements(name: str) -> None:
    before = lower(parse(SUITE[name]))
    after = size_queues(before, dict.fromkeys("ijkl", 1000), SamConfig(queue_depth=32))
    assert after.blocks == before.blocks
    assert after.with_depths(dict.fromkeys(before.drivers, 2)) == before.with_depths(
        dict.fromkeys(before.drivers, 2)
    )


def test_what_is_not_known_or_too_long_is_refused() -> None:
    with refused(
        "graph: edge j.out_crd -> signal.crd: fibers of index j pass while others wait: must have "
        "a length of the longest"
    ):
        size_queues(CENTRED, {"i": 8}, CONFIG)
    with refused(
        "graph: edge signal.out_repsig -> maxima.repsig: 70,016 tokens wait: a queue has at most "
        "65,536"
    ):
        size_queues(CENTRED, {"j": 70_000}, CONFIG)


def test_attention_waits_in_six_queues() -> None:
    graph = attention()
    verify(graph)
    assert len(graph.blocks) == 36
    sized = size_queues(graph, {"j": 64, "k": 16, "d": 16}, CONFIG, slack=0)
    assert depths(sized) == {
        "max_j.repsig": 66,
        "centred.val0": 64,
        "inverse_j.repsig": 131,
        "weights.val0": 64,
        "V_d.ref": 131,
        "out.crd1": 131,
    }


def test_compiled_attention_waits_in_as_many() -> None:
    program = parse_program(
        "s(i,j)=sum[k](Q(i,k)*K(j,k)); t(i,j)=s(i,j)*M(i,j); m(i)=max[j](t(i,j)); "
        "e(i,j)=exp(t(i,j)-m(i)); z(i)=sum[j](e(i,j)); P(i,j)=e(i,j)/z(i); "
        "O(i,d)=sum[j](P(i,j)*V(j,d)) -f=M:ds -f=Q:dd -f=K:dd -f=V:dd"
    )
    names = tuple(statement.name for statement in program.statements)
    (lowered,) = lower_regions(Fusion(program, (Region(names),)))
    graph = attach_coordinates(lowered.table.emit())
    sized = size_queues(graph, {"j": 64, "k": 16, "d": 16}, CONFIG, slack=0)
    assert sorted(depths(sized).values()) == [64, 64, 66, 131, 131, 131]


def head(rows: int) -> Head:
    random = np.random.default_rng(0)
    return Head.random(bigbird(rows, random), 16, random)


def test_attention_computes_attention() -> None:
    small_head = head(16)
    graph = attention()
    run = run_graph(graph, "float32", small_head.arrays(), small_head.block_settings(graph))
    written = run.written["write_vals"].view(np.float32).reshape(16, 16)
    np.testing.assert_allclose(written, small_head.expected(), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [64, 128])
def test_attention_takes_no_longer_than_with_long_queues_everywhere(rows: int) -> None:
    given = head(rows)
    graph = attention()
    sized = size_queues(graph, given.lengths, CONFIG)
    fields = {"index_bits": 16, "array_words": 1 << 14, "accumulator_words": 32}
    uniform = SamConfig(graph=graph, queue_depth=rows, **fields)
    config = SamConfig(graph=sized, queue_depth=CONFIG.queue_depth, **fields)
    assert 3 * queue_bits(config) <= queue_bits(uniform)
    expected, most = given.on_rtl(uniform, 1_000_000)
    found, taken = given.on_rtl(config, 1_000_000)
    assert found.tolist() == expected.tolist()
    np.testing.assert_allclose(found, given.expected(), atol=1e-5)
    assert taken <= most


RANDOM = np.random.default_rng(0)
RARE = np.where(RANDOM.random((3, 80, 2)) < 0.05, 1.0, 0.0)
FULL = np.ones(80)
LATE = np.where(np.arange(80) >= 70, 1.0, 0.0)
WAITING = {
    "a complete loop beside an intersection that drops all": (
        "t(i,l)=sum[j](A(i,l,j)*b(l)); u(i,l)=t(i,l)*exp(max[j](A(i,l,j))); "
        "v(i,l)=u(i,l)-exp(t(i,l)); -f=A:dss -f=b:s",
        {"A": RARE, "b": LATE},
    ),
    "one operand in two intersections": (
        "t(i)=a(i)*b(i); u(i)=c(i)*b(i); v(i)=max(t(i),u(i)) "
        "-f=a:s -f=b:s -f=c:s -f=t:s -f=u:s -f=v:s",
        {"a": LATE, "b": FULL, "c": FULL},
    ),
    "one operand at both ends of two intersections": (
        "t(i)=b(i)*c(i); v(i)=t(i)*b(i) -f=b:s -f=c:s -f=t:s -f=v:s",
        {"b": FULL, "c": LATE},
    ),
    "two operands that each wait for the other": (
        "t(i)=a(i)*c(i); u(i)=a(i)*b(i); v(i)=max(t(i),b(i)) "
        "-f=a:s -f=b:s -f=c:s -f=t:s -f=u:s -f=v:s",
        {"a": np.where(np.arange(80) < 60, 0.0, 1.0), "b": FULL, "c": LATE},
    ),
    "sums beside an empty fiber": (
        "t(i,j,m)=sum[k](A(i,k)*D(k,j,m)); x(i,j,m)=t(i,j,m)+e(m) -f=A:dd -f=D:ddd -f=e:s",
        {"A": np.ones((2, 2)), "D": np.ones((2, 3, 80)), "e": np.zeros(80)},
    ),
}
"""Models in whose loops more waits than the queues hold of a machine by default."""


@pytest.mark.parametrize("name", WAITING)
def test_what_waits_has_room(name: str) -> None:
    text, tensors = WAITING[name]
    with Device("sam_fp32", backend="model") as device:
        result = device.run(device.compile((text, tensors)), tensors)
        assert device.verify(result).bit_exact


ALONE = {
    "an intersection that drops much": (
        "x(i)=b(i)*c(i)+b(i) -f=x:s -f=b:s -f=c:s",
        {"b": FULL, "c": LATE},
    ),
    "sums of an accumulator beside an empty fiber": (
        "X(i,j,m)=A(i,k)*D(k,j,m)+e(m) -f=e:s -s=reorder(i,k,j,m)",
        {"A": np.ones((2, 2)), "D": np.ones((2, 3, 80)), "e": np.zeros(80)},
    ),
}


@pytest.mark.parametrize("name", ALONE)
def test_what_is_compiled_without_sizes_has_the_machine_s_queues(name: str) -> None:
    """It may deadlock, which deeper ones help against: a limit that ``docs/sam.md`` has."""
    text, tensors = ALONE[name]
    with Device("sam_fp32", backend="model") as device:
        program = device.compile(text)
        with pytest.raises(ProgramError, match="deadlock: .* waits for room in the queue of 32 "):
            device.run(program, tensors)
    deep = load_configuration("sam_fp32", ("queue_depth=256",))
    with Device(deep, backend="model") as device:
        assert device.verify(device.run(device.compile(text), tensors)).bit_exact
