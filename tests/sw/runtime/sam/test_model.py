"""Whole machines on the model: windows in and out, counters, cycles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnarl.hw.lib.errors import ConfigError, ProgramError
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.fabric.encoding import decode, encode
from gnarl.hw.sam.graph import Graph
from gnarl.hw.sam.memory_map import memory_map, settings_rows
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.golden.words import from_words, to_words
from gnarl.sw.program.rows import MachineRun, Rows
from gnarl.sw.runtime.machine.cycle_limit import CycleLimitError
from gnarl.sw.runtime.sam.model.interpreter import interpret, machine_run, simulated
from gnarl.sw.runtime.sam.model.tokens import ModelError
from gnarl.sw.workloads.tensor.parser import parse

# y(i) = b(i) * c(i), b compressed, c dense.
GRAPH = Graph.from_dict(
    {
        "blocks": [
            {"name": "root", "type": "root"},
            {"name": "b_i", "type": "fiberlookup", "tensor": "b", "index": "i"},
            {"name": "sig", "type": "repsiggen"},
            {"name": "rep", "type": "repeat"},
            {"name": "c_i", "type": "locate", "tensor": "c", "index": "i"},
            {"name": "b", "type": "arrayvals", "tensor": "b"},
            {"name": "c", "type": "arrayvals", "tensor": "c"},
            {"name": "mul", "type": "alu", "op": "mul"},
            {"name": "y_i", "type": "fiberwrite", "tensor": "y", "index": "i", "keep_empty": True},
            {"name": "y", "type": "valwrite", "tensor": "y"},
        ],
        "edges": [
            ["root.out_ref", "b_i.ref"],
            ["b_i.out_crd", "sig.crd"],
            ["root.out_ref", "rep.ref"],
            ["sig.out_repsig", "rep.repsig"],
            ["b_i.out_crd", "c_i.crd"],
            ["rep.out_ref", "c_i.ref"],
            ["b_i.out_ref", "b.ref"],
            ["c_i.out_ref", "c.ref"],
            ["b.out_val", "mul.val0"],
            ["c.out_val", "mul.val1"],
            ["b_i.out_crd", "y_i.crd"],
            ["mul.out_val", "y.val"],
        ],
    }
)
CONFIG = SamConfig(graph=GRAPH, array_words=16)


def rows(*words: int | list[int], first: int = 0) -> Rows:
    array = np.array(words, np.uint32).reshape(len(words), -1)
    return Rows(np.arange(first, first + len(words)), array)


def values(*numbers: float) -> Rows:
    return rows(*to_words(np.array(numbers), "float32").tolist())


IMAGE = {
    "settings": rows(6),
    "b_i_seg": rows([0, 3]),
    "b_i_crd": rows(1, 2, 5),
    "b_vals": values(10, 20, 30),
    "c_vals": values(0, 1, 2, 3, 4, 5),
}


def run(config: SamConfig = CONFIG, image: dict[str, Rows] = IMAGE) -> MachineRun:
    _, model = interpret(config, image)
    return machine_run(
        config,
        image,
        model,
        simulated(config, image, 1000),
        lambda counters: {
            "y_i_crd": np.arange(counters["y_i_entries"]),
            "y_vals": np.arange(1, 4),
            "y_i_seg": np.arange(1),
        },
    )


def test_arrays_and_settings_in_and_results_out():
    done = run()
    assert done.memory["y_i_crd"].words.tolist() == [[1], [2], [5]]
    assert done.memory["y_i_seg"].words.tolist() == [[0, 3]]
    # What was not written is 0.
    assert from_words(done.memory["y_vals"].words, "float32").tolist() == [[40], [150], [0]]
    assert done.memory["y_vals"].numbers.tolist() == [1, 2, 3]


def test_counters_are_those_of_the_machine():
    done = run()
    assert list(done.counters) == list(memory_map(CONFIG).counters)
    assert done.counters["tokens_root_out_ref"] == 2
    assert done.counters["tokens_b_i_out_crd"] == 5
    assert done.counters["y_i_entries"] == 3
    assert done.counters["operations_mul"] == 3
    assert done.counters["stalls_mul"] == 0
    reads = {name: count for name, count in done.counters.items() if name.startswith("reads_")}
    assert reads == {
        "reads_b_i_seg": 1,
        "reads_b_i_crd": 3,
        "reads_b_vals": 3,
        "reads_c_vals": 3,
    }


def test_cycles_are_the_longest_way_of_the_last_token():
    # Done is given by root in cycle 1. Along the way through sig, rep, c_i, c and mul to y, it is
    # the fifth token from the lookup on, the first of which was given in cycle 1 + 2 for segments
    # and coordinates; each block has a queue of 1, c reads a value in 1 and mul takes 1.
    lookup_done = 1 + 2 + 4
    assert run().cycles == lookup_done + 6 + 1 + 1 + 1
    slower = replace(CONFIG, alu_stages=3)
    assert run(slower).cycles == run().cycles + 2
    assert run(replace(CONFIG, stream_latency=2)).cycles == run().cycles + 7


def test_a_run_that_takes_longer_than_its_limit():
    cycles = run().cycles
    assert simulated(CONFIG, IMAGE, cycles).cycles == cycles
    with pytest.raises(CycleLimitError):
        simulated(CONFIG, IMAGE, cycles - 1)


def test_counters_in_the_course_of_a_run():
    whole = simulated(CONFIG, IMAGE, 1000)
    assert whole.samples is None
    every, few = (simulated(CONFIG, IMAGE, 1000, samples).samples for samples in (100, 4))
    assert every.edges().tolist() == list(range(whole.cycles + 1))
    assert len(few.edges()) <= 6
    for samples in (every, few):
        for name, (times, counts) in samples.counts.items():
            assert (times[0], counts[0], times[-1]) == (0, 0, whole.cycles)
            assert counts[-1] == whole.counters[name]
    times, counts = every.counts["tokens_root_out_ref"]
    assert counts[:3].tolist() == [0, 1, 2]


def test_rows_that_were_not_loaded_are_not_there():
    with pytest.raises(ModelError) as caught:
        run(image=IMAGE | {"c_vals": values(0, 1, 2, 3, 4)})
    assert str(caught.value) == (
        "block c (arrayvals): reads row 5 of vals: must be below 5, which were loaded"
    )
    assert caught.value.block.name == "c"


def test_an_array_that_was_not_loaded_has_no_rows():
    with pytest.raises(ModelError) as caught:
        run(image={name: rows for name, rows in IMAGE.items() if name != "c_vals"})
    assert str(caught.value) == (
        "block c (arrayvals): reads row 1 of vals: must be below 0, which were loaded"
    )


def test_a_machine_without_a_graph():
    with pytest.raises(ConfigError) as caught:
        run(SamConfig())
    assert str(caught.value) == "graph: missing, and no fabric: the model has nothing to run"


FABRIC = SamConfig(
    fabric={"root": 1, "fiberlookup": 2, "arrayvals": 2, "fiberwrite": 1, "valwrite": 2},
    array_words=16,
    skip=False,
)


def test_a_fabric_is_what_it_is_configured_to_be():
    graph = lower(parse("x(i)=b(i) -f=x:s -f=b:s"), skip=False)
    encoded = encode(graph, FABRIC)
    units = {block.type: block.name for block in decode(encoded.words, FABRIC).blocks}
    image = {
        "configuration": rows(*np.asarray(encoded.words).tolist()),
        "settings": rows(*[0] * len(settings_rows(FABRIC))),
        f"{units['fiberlookup']}_seg": rows([0, 2]),
        f"{units['fiberlookup']}_crd": rows(4, 7),
        f"{units['arrayvals']}_vals": values(1.5, 2.5),
    }
    vals = f"{units['valwrite']}_vals"
    _, model = interpret(FABRIC, image)
    done = machine_run(
        FABRIC, image, model, simulated(FABRIC, image, 1000), lambda counters: {vals: np.arange(2)}
    )
    assert from_words(done.memory[vals].words, "float32").tolist() == [[1.5], [2.5]]
    assert done.counters[f"{units['valwrite']}_entries"] == 2
    assert list(done.counters) == list(memory_map(FABRIC).counters)


def test_a_fabric_without_configuration():
    with pytest.raises(ProgramError, match="^configuration: 0 words, the fabric has "):
        run(FABRIC, {})
