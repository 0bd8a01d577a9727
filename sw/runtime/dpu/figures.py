"""Counts where a run's cycles go, and its instructions as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gnarl.hw.dpu.assembly import disassemble
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import Opcode, PeOp, instruction_bytes, opcodes
from gnarl.hw.dpu.listing import listing as list_instructions
from gnarl.hw.dpu.topology import pe_list
from gnarl.hw.lib.errors import ProgramError
from gnarl.hw.lib.losses import LOSSES
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.machine.machine import LaunchRun
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.report import Chart, Figures
from gnarl.sw.runtime.report.timeline import Activity

_KINDS = {
    "exec": Opcode.EXEC,
    "exec + load": Opcode.EXEC_LOAD,
    "exec + store": Opcode.EXEC_STORE,
    "copy": Opcode.COPY,
    "load": Opcode.LOAD,
    "store": Opcode.STORE,
    "nop": Opcode.NOP,
}

_BOUNDS = {
    "critical path": "bound_critical_path",
    "operations / PEs": "bound_operations",
    "inputs / banks": "bound_inputs",
}


def cycle_limit(job: HostJob[Any]) -> int:
    """Cycles after which a run that has not ended never will."""
    config = DpuConfig.from_dict(job.launch.config)
    shortest = min(instruction_bytes(config, opcode) for opcode in opcodes(config))
    return config.run_cycles(len(job.launch.sections["instructions"]) // shortest)


def activity(run: LaunchRun[Any]) -> Activity:
    """What each cycle of a run is spent on; PEs that pass a word on are not busy. An operation that
    two trees compute counts twice here, and once in a report's share of busy PEs, which a note
    then has.

    The machine issues an instruction a cycle and never waits, so the program determines all of it.
    """
    config = DpuConfig.from_dict(run.launch.config)
    issued, columns, _ = disassemble(config, run.launch.sections["instructions"], ["operation"])
    issue = config.start_cycles + np.arange(len(issued))
    cycles = config.run_cycles(len(issued))
    kinds = {}
    for name, opcode in _KINDS.items():
        kinds[name] = np.zeros(cycles, bool)
        kinds[name][issue[issued == opcode]] = True
    busy = np.zeros(cycles, np.int64)
    layers = np.array([pe.layer for pe in pe_list(config)])
    # HALT, the last, computes nothing; so all others are through before the end.
    computes = columns["operation"][:-1] > PeOp.PASS_RIGHT
    for layer in range(1, config.depth + 1):
        # Pipelined PEs take an operation each cycle: it is counted when it enters.
        start = issue[:-1] + config.layer_end(layer - 1)
        busy[start] += computes[:, layers == layer].sum(axis=1)
    computed, different = int(busy.sum()), run.launch.statistics["operations"]
    share = 100 * different / (cycles * config.pes)
    repeats = f"repeats: {computed - different:,} of {computed:,} operations"
    note = f"{repeats}; {share:.1f} % busy without them, as in the report"
    return Activity("PEs", config.pes, busy, kinds, note if computed != different else "")


def figures(program: Program, result: Result[Any]) -> Figures:
    """Figures of where a run's cycles go."""
    cycles, statistics = result.cycles or 0, program.statistics
    kinds = activity(result.launches[0]).kinds
    mix = [(name, int(np.count_nonzero(issued))) for name, issued in kinds.items()]
    mix.append(("fetch, drain", cycles - sum(count for _, count in mix)))
    bounds = [(label, statistics[name]) for label, name in _BOUNDS.items()]
    moved = [("bank conflicts, copied", statistics["copies"]), ("spilled", statistics["spills"])]
    factor = cycles / max(1, statistics["lower_bound"])
    charts = [
        Chart("Instructions, % of cycles", mix, cycles),
        Chart(f"Lower bounds, % of cycles: {factor:.2f} times the largest", bounds, cycles),
        Chart("Words moved between banks and memory", moved, 0),
    ]
    lost = [(name, result.counters[name]) for name in LOSSES]
    if any(count for _, count in lost):
        charts.append(Chart("Results of operations beyond the format", lost, 0))
    capacity = DpuConfig.from_dict(program.launches[0].config).pes
    return Figures(statistics["operations"], "PEs", capacity, statistics, charts)


def listing(program: Program) -> Iterator[str]:
    """The program's instructions, a line each. Raises ``ProgramError`` for a damaged stream."""
    launch = program.launches[0]
    config = DpuConfig.from_dict(launch.config)
    try:
        yield from list_instructions(config, launch.sections["instructions"])
    except ValueError as error:
        raise ProgramError(f"{launch.name}: {error}") from error
