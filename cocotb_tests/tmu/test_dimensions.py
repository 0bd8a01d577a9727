"""Every operation through the least queues there are: no dimension of its rows is a deadlock.

Compiled programs end as the models do, which have no queues.
"""

from __future__ import annotations

import cocotb
import numpy as np

from cocotb_tests.lib.host_port import open_port
from cocotb_tests.tmu.configs import config_under_test, dimensions, runs_of_each
from cocotb_tests.tmu.machine import Machine, use_machine
from cocotb_tests.tmu.programs import Image, ending
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.tmu.compile import LEVELS, compile
from gnarl.sw.compiler.tmu.sections import ACCESS_SECTIONS
from gnarl.sw.execute.values.execute import MOST_INSTRUCTIONS
from gnarl.sw.runtime.tmu import image as contents
from gnarl.sw.workloads.loops.operations.embedding_bag import (
    embedding_bag_sum,
    embedding_bag_weighted,
)
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.tmu.operations import LENGTHS, operation_inputs
from tests.sw.compiler.tmu.test_operations import NESTS

_ALL = {**NESTS, "sum": embedding_bag_sum, "weighted": embedding_bag_weighted}


def compiled(config: TmuConfig, name: str, dim: int, opt: int) -> Image:
    nest = _ALL[name]
    values = {key: value for key, value in operation_inputs(dim).items() if key in nest.arrays}
    if name == "spmm_coo":
        values["out"] = np.zeros((len(LENGTHS), dim), np.float32)
    program = compile(LoopWorkload(name, nest, values), config, trace=Trace(), opt=opt)
    (launch,) = program.launches
    operands = contents.Operands(launch, values)
    rows = contents.image(launch, operands)
    instructions = np.zeros((config.program_words, 3), np.uint32)
    instructions[rows["instructions"].numbers] = rows["instructions"].words
    return Image(
        {window: rows[window].words for window in ACCESS_SECTIONS},
        instructions,
        operands.memory.reshape(-1),
    )


def runs(name: str) -> list[tuple[int, int]]:
    """Dimensions of an operation, each at a level: all operations together have each dimension,
    with two runs of each at several levels."""
    count, known = runs_of_each(), dimensions()
    place = count * list(_ALL).index(name)
    levels = len(LEVELS)
    return [(known[at % len(known)], LEVELS[at % levels]) for at in range(place, place + count)]


@cocotb.test()
@cocotb.parametrize(name=list(_ALL))
async def no_dimension_is_a_deadlock(dut, name):
    port = await open_port(dut)
    config = config_under_test()

    def use(machine: Machine) -> None:
        for dim, opt in runs(name):
            given = compiled(config, name, dim, opt)
            expected = ending(config, given, MOST_INSTRUCTIONS)
            assert expected.cause == 0
            machine.run_and_check(given, expected)

    await use_machine(port, config, use)
