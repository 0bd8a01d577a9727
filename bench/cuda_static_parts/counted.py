"""What a fused kernel's machine code executes for a batch: run on the CPU, every instruction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bench.cuda_static_parts.control_flow import ControlFlow
from bench.cuda_static_parts.machine.kernels import Counts, MachineCode
from bench.cuda_static_parts.row_loads import (
    instructions_of_codes,
    loads_row,
    task_loop,
    waits_of_later_tasks,
)
from bench.cuda_static_parts.sass import Instruction, disassemble
from gnarl.sw.compiler.cuda.device_rates import RATES
from gnarl.sw.compiler.cuda.nvrtc import CompiledKernel
from gnarl.sw.compiler.cuda.occupancy import blocks_per_sm
from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.runtime.cuda.emulation.embedding import EmulatedEmbedding
from gnarl.sw.workloads.embedding.model import Batch, Feature, FeatureInputs

INSTRUCTION_BYTES = 16
_LANES = 32
_ROUND = 8
"""Loads of a full round."""


@dataclass(frozen=True)
class CountedKernel:
    """A program's machine code, with the lines of its source."""

    program: EmbeddingProgram
    compiled: CompiledKernel
    tables: Sequence[np.ndarray]

    @cached_property
    def code(self) -> list[Instruction]:
        return disassemble(self.compiled.cubin, self.program.kernel.name)

    @cached_property
    def rows(self) -> frozenset[int]:
        """Loads of rows."""
        return frozenset(at for at, each in enumerate(self.code) if loads_row(each))

    @cached_property
    def of_codes(self) -> dict[int, set[int]]:
        return instructions_of_codes(self.code, self.program.kernel)

    @cached_property
    def flow(self) -> ControlFlow:
        return ControlFlow(self.code)

    @cached_property
    def _embedding(self) -> tuple[MachineCode, EmulatedEmbedding]:
        schedules = self.program.schedules
        multiprocessors = RATES[schedules.arch].multiprocessors
        machine = MachineCode(
            self.compiled.cubin,
            self.program.kernel.name,
            multiprocessors=multiprocessors,
            code=self.code,
            marked=self.rows,
        )
        grid = (multiprocessors * schedules.blocks_per_sm, multiprocessors)
        return machine, EmulatedEmbedding(self.program, self.tables, kernels=machine, grid=grid)

    def run(self, batch: Batch) -> Counts:
        """Executes a launch with all blocks that the GPU runs at a time."""
        machine, embedding = self._embedding
        embedding.run(batch)
        return machine.counts

    def bytes_of_lane(self, load: int) -> int:
        """Bytes that a lane loads."""
        return 4 * len(self.code[load].writes)

    def useful_share(self, counts: Counts) -> float:
        """Bytes of rows that are loaded, of those that as many full loads would bring."""
        useful = sum(int(counts.effective[at]) * self.bytes_of_lane(at) for at in self.rows)
        most = sum(int(counts.executed[at]) * self.bytes_of_lane(at) for at in self.rows)
        return useful / (_LANES * most) if most else 0.0

    def rows_share(self, counts: Counts) -> float:
        """Instructions of innermost loops that load rows, of all that were executed."""
        inside = {at for _, loop in self._row_loops for at in loop}
        return float(counts.executed[sorted(inside)].sum() / counts.executed.sum())

    @cached_property
    def _row_loops(self) -> list[tuple[list[int], list[int]]]:
        """Loads and instructions of each innermost loop that loads rows."""
        found = []
        seen: set[int] = set()
        for loop in sorted(self.flow.loops(), key=len):
            inside = self.rows & {*loop}
            if inside and not inside & seen:
                found.append((sorted(inside), loop))
            seen |= inside
        return found

    def rounds(self, counts: Counts) -> list[float]:
        """Instructions for eight loads of rows, of each innermost loop that has so many; of all
        innermost ones where none has."""
        found = [
            (len(loads), _ROUND * int(counts.executed[loop].sum()) / int(executed))
            for loads, loop in self._row_loops
            if (executed := counts.executed[loads].sum())
        ]
        full = [value for loads, value in found if loads >= _ROUND]
        return full or [value for _, value in found]

    def in_flight(self, counts: Counts) -> tuple[float, float]:
        """KB of rows that a multiprocessor's warps have on their way, if all wait for a burst:
        as whole loads, and of them what lanes load."""
        schedules, kernel = self.program.schedules, self.compiled
        shared_bytes = self.program.kernel.shared_bytes + kernel.shared_bytes
        threads = schedules.block_threads
        blocks = blocks_per_sm(schedules.arch, kernel.registers, shared_bytes, threads)
        warps = min(blocks, schedules.blocks_per_sm) * threads // _LANES
        bursts = counts.bursts
        scale = warps / max(bursts.bursts, 1) / 1e3
        return bursts.whole_bytes * scale, bursts.useful_bytes * scale

    def later_waits(self) -> int:
        """The most that any code has."""
        return max(
            waits_of_later_tasks(self.flow, self.rows, self.rows & of_code)
            for of_code in self.of_codes.values()
            if self.rows & of_code
        )

    def path_bytes(self, counts: Counts) -> int:
        """Bytes of instructions that a task executes, of the code with most: all of the code that
        was executed, and of the rest what was for half of the tasks."""
        executed = counts.executed
        shared = np.ones(len(self.code), bool)
        for of_code in self.of_codes.values():
            shared[sorted(of_code)] = False
        found = task_loop(self.flow, self.rows)
        turns = int(executed[found[0]]) if found else 0
        warps = self.program.schedules.block_threads // _LANES
        common = int((executed[shared] > turns / warps / 2).sum())
        own = [int((executed[sorted(of_code)] > 0).sum()) for of_code in self.of_codes.values()]
        return INSTRUCTION_BYTES * (common + max(own, default=0))


def only(
    batch: Batch, features: Sequence[Feature], wanted: Callable[[Feature], bool]
) -> Batch | None:
    """The batch with empty bags in all other features; ``None`` if there is none."""
    if not any(map(wanted, features)):
        return None
    empty = np.zeros(batch.size + 1, np.int64)

    def inputs_of(feature: Feature, inputs: FeatureInputs) -> FeatureInputs:
        if wanted(feature):
            return inputs
        return replace(
            inputs,
            indices=inputs.indices[:0],
            offsets=empty.astype(inputs.offsets.dtype),
            weights=None if inputs.weights is None else inputs.weights[:0],
        )

    pairs = zip(features, batch.features, strict=True)
    return Batch(batch.size, [inputs_of(*pair) for pair in pairs])


def is_one_hot(feature: Feature) -> bool:
    """Whether a sample has one index at most."""
    return feature.factors.limit == 1
