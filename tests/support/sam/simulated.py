"""Programs on the simulator of their machines, and on the model of whole streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gnarl.hw.sam.config import SamConfig
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.sam.image import bind, operands
from gnarl.sw.runtime.sam.model.interpreter import interpret, simulated
from gnarl.sw.runtime.sam.simulator.simulated_run import SimulatedRun

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
    graph, model = interpret(config, image)
    run = simulated(config, image, MOST_CYCLES)
    assert run.counts == model.counts
    assert run.written.keys() == model.written.keys()
    for name, words in model.written.items():
        np.testing.assert_array_equal(run.written[name], words, name)
    skips = config.skip and any(block.parameters.get("skip") for block in graph.blocks)
    for name, count in model.operations.items():
        assert skips or run.counters[f"operations_{name}"] == count
    return run
