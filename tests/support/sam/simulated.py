"""Programs on the simulator of their machines, and on the model of whole streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from gnarl.hw.sam.block_types import DENSE
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.token import PAYLOAD_BITS, Kind
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.sam.image import bind, operands
from gnarl.sw.runtime.sam.model.interpreter import interpret, simulated
from gnarl.sw.runtime.sam.model.streams import BLOCKS
from gnarl.sw.runtime.sam.model.tokens import Done, Inputs, Site
from gnarl.sw.runtime.sam.simulator.simulated_run import SimulatedRun
from gnarl.sw.runtime.sam.traffic import traffic

MOST_CYCLES = 1_000_000


def like_model(
    program: Program,
    inputs: Mapping[str, Any],
    depths: Mapping[tuple[str, str], int] | None = None,
) -> SimulatedRun:
    """The run of a program's only launch, held to what the model writes and counts.

    ``depths``: of queues, by block and input, in place of the program's.
    """
    (launch,) = program.launches
    config = SamConfig.from_dict(launch.config)
    if depths:
        config = replace(config, graph=config.graph.with_depths(depths))
    image = operands(launch, bind(program, inputs)).image
    with counted_reads() as reads:
        graph, model = interpret(config, image)
    run = simulated(config, image, MOST_CYCLES)
    assert run.counts == model.counts
    assert run.written.keys() == model.written.keys()
    for name, words in model.written.items():
        np.testing.assert_array_equal(run.written[name], words, name)
    skips = config.skip and any(block.parameters.get("skip") for block in graph.blocks)
    for name, count in model.operations.items():
        assert skips or run.counters[f"operations_{name}"] == count
    counted = {name for name in run.counters if name.startswith("reads_")}
    assert counted == {f"reads_{array}" for array in reads}
    for name, count in reads.items():
        assert skips or run.counters[f"reads_{name}"] == count
    assert traffic(config, run.counters | run.counts).cycles <= run.cycles
    return run


@contextmanager
def counted_reads() -> Iterator[dict[str, int]]:
    """Rows of each array that the model of whole streams needs, by ``"{block}_{array}"``: counted
    by the references and coordinates that there are in the streams of blocks that read."""
    found: dict[str, int] = {}

    def count(site: Site, inputs: Inputs, done: Done) -> None:
        name, references = site.block.name, _data(inputs["ref"].tokens)
        match site.block.type:
            case "arrayvals":
                found[f"{name}_vals"] = references
            case "bitvectorlookup":
                found[f"{name}_bv"] = _data(done.outputs["out_bv"])
            case "fiberlookup" if site.block["format"] != DENSE:
                found[f"{name}_seg"] = references
                found[f"{name}_crd"] = _data(done.outputs["out_crd"])

    def counting(work: Callable[[Site, Inputs], Done]) -> Callable[[Site, Inputs], Done]:
        def counted(site: Site, inputs: Inputs) -> Done:
            done = work(site, inputs)
            count(site, inputs, done)
            return done

        return counted

    readers = ("arrayvals", "bitvectorlookup", "fiberlookup")
    with patch.dict(BLOCKS, {name: counting(BLOCKS[name]) for name in readers}):
        yield found


def _data(tokens: np.ndarray) -> int:
    """Tokens that are data, and not empty."""
    return int(np.count_nonzero(tokens >> PAYLOAD_BITS == Kind.DATA))
