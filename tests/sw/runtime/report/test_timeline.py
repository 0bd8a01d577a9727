"""The picture of a run, and the activity that a DPU's program tells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.sw.runtime.dpu.figures import activity
from gnarl.sw.runtime.report.timeline import (
    Activity,
    draw_timeline,
    joined,
    span_edges,
    span_means,
)
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.dag.generate import random_dag

ACTIVITY = Activity(
    "PEs", 4, np.array([0, 4, 2, 0]), {"exec": np.array([0, 1, 1, 0], bool), "nop": np.zeros(4)}
)

SPANS = Activity(
    "words",
    4,
    np.array([4.0, 1.0]),
    {"exec": np.array([1.0, 0.5])},
    edges=np.array([0, 2, 10]),
    state="in use",
    others={"cycles: access": {"waits": np.array([0.25, 0.0])}},
)


@pytest.mark.parametrize("cycles", [1, 119, 120, 121, 100_000])
def test_spans_cover_all_cycles_evenly(cycles: int) -> None:
    edges = span_edges(cycles)
    assert (edges[0], edges[-1]) == (0, cycles)
    assert len(edges) <= 121
    sizes = np.diff(edges)
    assert (sizes[:-1] == sizes[0]).all()
    assert 0 < sizes[-1] <= sizes[0]


def test_means_of_spans() -> None:
    assert span_means(np.array([1, 3, 5]), np.array([0, 2, 3])).tolist() == [2.0, 5.0]


def test_means_between_edges_inside_of_spans() -> None:
    values, spans = np.array([4.0, 1.0]), np.array([0, 2, 10])
    assert span_means(values, np.array([0, 4, 10]), spans).tolist() == [2.5, 1.0]


def test_spans_have_their_cycles() -> None:
    assert SPANS.cycles == 10
    assert SPANS.title("a run") == "a run: 10 cycles, 1.60 of 4 words in use"
    assert SPANS.mean_of(SPANS.kinds["exec"]) == pytest.approx(0.6)


def test_launches_one_after_the_other() -> None:
    both = joined([ACTIVITY, SPANS])
    assert both.cycles == 14
    assert both.edges is not None
    assert both.edges.tolist() == [0, 1, 2, 3, 4, 6, 14]
    assert both.busy.tolist() == [0, 4, 2, 0, 4, 1]
    assert both.kinds["exec"].tolist() == [0, 1, 1, 0, 1, 0.5]
    assert both.others["cycles: access"]["waits"].tolist() == [0, 0, 0, 0, 0.25, 0]
    assert joined([ACTIVITY, ACTIVITY]).edges is None


def test_equal_runs_draw_equal_pictures(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.png", "b.png")]
    for path in paths:
        draw_timeline(ACTIVITY, "a title", path)
    octets = [path.read_bytes() for path in paths]
    assert octets[0] == octets[1]
    assert octets[0].startswith(b"\x89PNG")
    assert sorted(tmp_path.iterdir()) == paths


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("title", ["$^{$", "a_{", "\\frac", "\x1b[2J\n\0", "\u65e5\u672c"])
def test_titles_are_no_formulas(tmp_path: Path, title: str) -> None:
    draw_timeline(ACTIVITY, title, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(OSError):
        draw_timeline(ACTIVITY, "a title", tmp_path / "folder.png")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.png"]


@pytest.mark.parametrize("name", ["dpu_d1_b8", "dpu_d2_b16_fpga", "dpu_d3_b64"])
def test_a_runs_activity_has_every_operation_and_cycle(name: str) -> None:
    device = Device(name, "model")
    workload = random_dag(300, seed=1)
    program = device.compile(workload)
    result = device.run(program, workload.inputs)
    found = activity(result.launches[0])
    assert found.cycles == result.cycles
    assert found.busy.sum() >= program.statistics["operations"]
    config = DpuConfig.from_dict(program.config)
    assert found.busy.max() <= found.capacity == config.pes
    issued = sum(kind.astype(int) for kind in found.kinds.values())
    assert issued.max() == 1
    assert issued.sum() == program.statistics["instructions"] - 1  # all but HALT
    assert not issued[: config.start_cycles].any()


def test_a_note_has_the_reports_share_where_operations_are_repeated() -> None:
    device = Device("dpu_d1_b8", "model")
    workload = random_dag(300, seed=1)
    (run,) = device.run(device.compile(workload), workload.inputs).launches
    assert activity(run).note == ""
    computed = run.launch.statistics["operations"]
    counts = {**run.launch.statistics, "operations": computed - 20}
    found = activity(replace(run, launch=replace(run.launch, statistics=counts)))
    share = (computed - 20) / found.cycles / found.capacity
    assert found.note == (
        f"repeats: 20 of {computed} operations; {100 * share:.1f} % busy without them, as in the "
        "report"
    )


def test_an_operation_is_counted_when_it_enters_its_layer() -> None:
    graph = nx.DiGraph()
    for name in "abcd":
        graph.add_node(name, op="input")
    graph.add_node("y", op="add")
    graph.add_edges_from((name, "y") for name in "abcd")
    device = Device("dpu_d2_b16_fpga", "model")
    result = device.run(device.compile(graph), dict.fromkeys("abcd", 1.0))
    found = activity(result.launches[0])
    (cycle,) = np.flatnonzero(found.kinds["exec"])
    # Layer 1 follows the crossbar's register, layer 2 comes 3 pipeline stages later.
    assert {int(at): int(found.busy[at]) for at in np.flatnonzero(found.busy)} == {
        cycle + 1: 2,
        cycle + 4: 1,
    }
