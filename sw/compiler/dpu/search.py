"""The search for the shortest schedule: the passes from binarisation to the memory's layout."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace

import numpy as np

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.dpu import dumps
from gnarl.sw.compiler.dpu.binarise import BinaryDag, binarise
from gnarl.sw.compiler.dpu.check import check_binary
from gnarl.sw.compiler.dpu.encode import Encoded
from gnarl.sw.compiler.dpu.memory import MemoryLayout, memory_layout
from gnarl.sw.compiler.dpu.room import require_hope
from gnarl.sw.compiler.dpu.schedule import Policy, Schedule, TooLongError, schedule
from gnarl.sw.compiler.passes import PassResult, Search, Trace, made
from gnarl.sw.workloads.dag.dag import Dag

SEARCHED_OPERATIONS = 400_000
"""Operations scheduled, over all policies that are tried."""

MOST_TRIES = 16


def policies(operations: int, config: DpuConfig) -> list[Policy]:
    """The policies to try for a DAG of so many operations, two at least."""
    registers = config.banks * config.registers
    grid = [
        Policy(window=registers, attempts=256, split_threshold=0.0),
        Policy(window=0, attempts=256),
        Policy(window=registers // 4, attempts=64, split_threshold=0.0),
        Policy(window=0, attempts=512, split_threshold=np.inf),
        Policy(window=4 * registers, attempts=256, split_threshold=0.0),
        Policy(window=4 * registers, attempts=256, split_threshold=0.0, eager=0.0),
        Policy(window=registers, attempts=64, split_threshold=np.inf),
        Policy(window=0, attempts=256, split_threshold=0.0),
    ]
    return grid[: max(2, SEARCHED_OPERATIONS // max(operations, 1))]


@dataclass(frozen=True)
class DpuOptions:
    """What the passes are told."""

    config: DpuConfig
    seed: int = 0


@dataclass(frozen=True)
class DpuState:
    """A DAG, and what the passes have made of it."""

    dag: Dag
    binary: BinaryDag | None = None
    schedule: Schedule | None = None
    layout: MemoryLayout | None = None
    encoded: Encoded | None = None


def _search(state: DpuState, options: DpuOptions, trace: Trace) -> tuple[DpuState, ...]:
    """The best of all tries, after each of the passes. Raises ``CapacityError``, at once for a DAG
    that no try finds room for."""
    require_hope(state.dag, options.config)
    search, operations = _Search(state, options.config, trace), state.dag.operations
    grid = policies(operations, options.config)
    total = min(max(len(grid), SEARCHED_OPERATIONS // max(operations, 1)), MOST_TRIES)
    search.run(grid, total)
    if search.best is None:
        raise search.failures[min(search.failures)]
    winner, first = grid[search.best[1]], options.seed * MOST_TRIES + 1
    variants = range(first, first + total - len(grid))
    search.run([replace(winner, jitter=jitter) for jitter in variants], total)
    return (search.result,) * len(SEARCH.results)


class _Search:
    """The shortest of several schedules; of equally short ones, the first in order."""

    result: DpuState

    def __init__(self, state: DpuState, config: DpuConfig, trace: Trace) -> None:
        self.state, self.config, self.trace = state, config, trace
        self.limit = np.array([np.iinfo(np.int64).max])
        self.best: tuple[int, int] | None = None
        self.failures: dict[int, CapacityError] = {}
        self.started = 0
        self.finished = 0

    def attempt(self, policy: Policy) -> DpuState:
        """The state after all passes under one policy."""
        with self.trace.timed("binarise"):
            binary = binarise(self.state.dag, self.config, split_threshold=policy.split_threshold)
        with self.trace.timed("schedule"):
            result = schedule(binary, self.config, policy, self.limit)
        with self.trace.timed("memory"):
            layout = memory_layout(result, binary, self.config)
        self.limit[0] = min(self.limit[0], result.length)
        return replace(self.state, binary=binary, schedule=result, layout=layout, encoded=None)

    def run(self, tries: list[Policy], total: int) -> None:
        """Tries policies on two cores; what is longer than the best so far ends early."""
        pool = ThreadPoolExecutor(2)
        running = {
            pool.submit(self.attempt, policy): self.started + number
            for number, policy in enumerate(tries)
        }
        try:
            for future in as_completed(running):
                self._take(running.pop(future), future)
                self.finished += 1
                self.trace.progress(self.finished / total)
        except BaseException:
            # Interrupted: attempts end at their next cycle instead of at their end.
            self.limit[0] = -1
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        self.started += len(tries)

    def _take(self, number: int, future: Future[DpuState]) -> None:
        """Keeps the result of attempt ``number`` if it is the best so far."""
        try:
            attempt = future.result()
        except TooLongError:
            return
        except CapacityError as error:
            self.failures[number] = error
            return
        rank = (made(attempt.schedule).length, number)
        if self.best is None or rank < self.best:
            self.best = rank
            self.result = attempt


SEARCH: Search[DpuState, DpuOptions] = Search(
    (
        PassResult(
            "binarise",
            "two operands an operation, combined in groups that fit a tree of PEs",
            lambda state, options: dumps.binary_texts(made(state.binary)),
            check=lambda state, options: check_binary(made(state.binary), options.config),
        ),
        PassResult(
            "schedule",
            "cycle by cycle: groups to trees, values to banks, copies, spills",
            lambda state, options: dumps.schedule_texts(made(state.schedule)),
        ),
        PassResult(
            "memory",
            "rows of the data memory for inputs, spilled values and outputs",
            lambda state, options: dumps.memory_texts(made(state.layout)),
        ),
    ),
    run=_search,
)
