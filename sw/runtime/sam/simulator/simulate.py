"""Simulates graphs cycle by cycle."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Graph
from gnarl.hw.sam.unit import OPERATIONS
from gnarl.sw.program.rows import Samples
from gnarl.sw.runtime.machine.cycle_limit import CycleLimitError
from gnarl.sw.runtime.sam.model.accumulate import most_sums
from gnarl.sw.runtime.sam.model.tokens import ModelError
from gnarl.sw.runtime.sam.simulator import layout, writers
from gnarl.sw.runtime.sam.simulator.build import Laid, lay_out
from gnarl.sw.runtime.sam.simulator.cycles import run_cycles
from gnarl.sw.runtime.sam.simulator.deadlock import DeadlockError, waiting
from gnarl.sw.runtime.sam.simulator.simulated_run import SimulatedRun


def simulate(
    graph: Graph,
    config: SamConfig,
    arrays: Mapping[str, np.ndarray],
    settings: Mapping[tuple[str, str], int],
    places: Mapping[str, tuple[int, int]] | None = None,
    *,
    max_cycles: int,
    samples: int | None = None,
) -> SimulatedRun:
    """Runs the machine of ``graph`` cycle by cycle, as its hardware does.

    ``arrays``, ``settings``: as for ``gnarl.sw.runtime.sam.model.streams.run_graph``; ``places``:
    first row and number of rows, in the memory that they share, of all of the machine's arrays by
    ``"{block}_{array}"``; ``samples``: at most so many, evenly in the run. Memory grows with
    queues, arrays and results, not with tokens. Raises ``ModelError`` that names the block at
    fault, ``DeadlockError``, and ``CycleLimitError``.
    """
    machine = _Machine(graph, lay_out(graph, config, arrays, settings, places))
    history = None if samples is None else _History(machine, samples)
    while machine.is_running:
        if machine.cycle > max_cycles:
            raise CycleLimitError(max_cycles)
        until = max_cycles + 1
        machine.run(until if history is None else min(until, history.next_cycle))
        if history is not None:
            history.note()
    machine.require_end(config, settings)
    if machine.cycles > max_cycles:
        raise CycleLimitError(max_cycles)
    return machine.result(history.samples() if history else None)


class _Machine:
    """A machine between its cycles."""

    def __init__(self, graph: Graph, laid: Laid) -> None:
        self._graph, self._laid = graph, laid
        self._words: dict[str, list[np.ndarray]] = {name: [] for name in laid.written}
        streams = [(name, at) for name, at in laid.outputs.items() if name in graph.readers]
        self._places = {f"tokens_{'_'.join(name)}": at + layout.TOKENS for name, at in streams}
        self._places |= {
            f"operations_{block.name}": laid.blocks[block.name] + layout.OPERATIONS
            for block in graph.blocks
            if block.type in OPERATIONS
        }
        self._places |= {f"reads_{name}": port + layout.READS for name, port in laid.read.items()}
        self._places |= {f"lines_{name}": at for name, at in laid.lines.items()}
        self._stalls = {f"stalls_{one.name}": laid.blocks[one.name] for one in graph.blocks}

    def _once(self, field: int) -> int:
        return int(self._laid.records[field])

    @property
    def cycle(self) -> int:
        return self._once(layout.CYCLE)

    @property
    def cycles(self) -> int:
        return self._once(layout.CYCLES)

    @property
    def is_running(self) -> bool:
        return self._once(layout.STATUS) == layout.RUNNING

    def run(self, until: int) -> None:
        """Runs up to cycle ``until``, or less far."""
        records, memory = self._laid.records, self._laid.memory
        run_cycles(records, memory, until)
        records[layout.FULL] = 0
        for name, port in self._laid.written.items():
            first, count = records[port + layout.BUFFER], records[port + layout.REQUESTS]
            if count:
                self._words[name].append(memory[first : first + count].copy())
                records[port + layout.REQUESTS] = 0

    def require_end(self, config: SamConfig, settings: Mapping[tuple[str, str], int]) -> None:
        """Raises an error unless the run has come to its end."""
        if self._once(layout.STATUS) == layout.DEADLOCK:
            raise DeadlockError(self._once(layout.LAST_MOVE) + 1, waiting(self._graph, self._laid))
        if self._once(layout.STATUS) == layout.FAULT:
            at = self._once(layout.AT_FAULT)
            name = next(name for name, block in self._laid.blocks.items() if block == at)
            block, held = self._graph[name], config.accumulator_words
            text = f"sees something impossible in cycle {self.cycle}"
            if block.type == "spaccumulator" and (sums := most_sums(block, settings)) > held:
                text += f": it may need {sums:,} sums, and has {held:,}, accumulator_words"
            raise ModelError(block, text)

    def counters(self) -> dict[str, int]:
        """Tokens, operations, reads and cycles of stalls so far."""
        records = self._laid.records
        found = {name: int(records[at]) for name, at in self._places.items()}
        for name, b in self._stalls.items():
            # What a sleeping block stalls is counted once it wakes.
            asleep = self.cycle - records[b + layout.SEEN] if records[b + layout.STALLED] else 0
            found[name] = int(records[b + layout.STALLS] + asleep)
        return found

    def result(self, samples: Samples | None) -> SimulatedRun:
        written = {
            name: _rows(
                name, np.concatenate([np.zeros(0, np.uint32), *words]), self._row_words(name)
            )
            for name, words in self._words.items()
        }
        return SimulatedRun(self.cycles, written, self._counts(), self.counters(), samples)

    def _row_words(self, name: str) -> int:
        """Words of a row that a writer writes, and is simulated to."""
        return int(self._laid.records[self._laid.written[name] + layout.ROW_WORDS])

    def _counts(self) -> dict[str, int]:
        found = {}
        for block in self._graph.blocks:
            for count in block.counts:
                found[f"{block.name}_{count}"] = self._count(block.name, count)
        return found

    def _count(self, name: str, count: str) -> int:
        """How much a writer has written: fibers, rows or entries."""
        records, ports = self._laid.records, self._laid.written
        array = {"fibers": "seg", "rows": "bv"}.get(count)
        if array is None:
            if f"{name}_bv" in ports:
                return int(records[self._laid.blocks[name] + writers.ENTRIES])
            array = "crd" if f"{name}_crd" in ports else "vals"
        return int(records[ports[f"{name}_{array}"] + layout.WORDS])


def _rows(name: str, words: np.ndarray, row_words: int) -> np.ndarray:
    """Rows of a written array, uint32 [rows, words]: of segments and words of bitvectors only the
    second and the first word are simulated."""
    if name.endswith("_seg"):
        return np.stack([np.append(0, words)[:-1].astype(np.uint32), words], axis=1)
    if name.endswith("_bv"):
        ones = np.bitwise_count(words).astype(np.int64)
        return np.stack([words, (np.cumsum(ones) - ones).astype(np.uint32)], axis=1)
    return words.reshape(-1, row_words)


class _History:
    """Counters of a machine in the course of its run: every so many cycles, and every other one of
    those is forgotten where they become too many."""

    def __init__(self, machine: _Machine, most: int) -> None:
        self._machine, self._most = machine, max(2, most)
        self._step = 1
        self._times = [0]
        self._counts = [machine.counters()]
        self.next_cycle = 1

    def note(self) -> None:
        """Notes the counters, if it is time."""
        machine = self._machine
        if machine.cycle != self.next_cycle:
            return
        self._times.append(machine.cycle)
        self._counts.append(machine.counters())
        if len(self._times) > self._most:
            self._step *= 2
            self._times, self._counts = self._times[::2], self._counts[::2]
        self.next_cycle = self._times[-1] + self._step

    def samples(self) -> Samples:
        """Samples up to the last cycle that counts."""
        cycles = self._machine.cycles
        kept = [place for place, time in enumerate(self._times) if time < cycles]
        times = np.array([*(self._times[place] for place in kept), cycles])
        last = self._machine.counters()
        counts = {
            name: (times, np.array([*(self._counts[place][name] for place in kept), count]))
            for name, count in last.items()
        }
        return Samples(cycles, counts)
