"""Machines behind the common host port, and the models that stand in for them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from gnarl.hw.lib.errors import GnarlError, ProgramError, one_line
from gnarl.hw.lib.machine.memory_map import NO_LIMIT, CommonCause, MemoryMap
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.rows import MachineRun, Rows, Samples, Wanted, row_spans
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.machine.cycle_limit import CycleLimitError
from gnarl.sw.runtime.machine.host import (
    AcceleratorError,
    BackDoor,
    CounterReads,
    HostDriver,
    HostError,
    Port,
)
from gnarl.sw.runtime.machine.machine import Finished

OperandsT = TypeVar("OperandsT")

_MORE_CYCLES = 1000

_NONE = np.zeros(0, np.int64)

_BLOCK_WORDS = 256
"""Words of a window, about, whose contents are known by one digest."""


@dataclass(frozen=True)
class HostJob(Generic[OperandsT]):
    """What a machine is given for a launch.

    operands
        the launch's inputs, as its target has them.
    image
        what to write to memories before the start, by window.
    max_cycles
        a run of more is an error.
    sampled
        counters to read in the course of the run, where hardware is simulated.
    program
        that of the launch. Programs may write anywhere in windows in which they write at all, but
        leave what their own launches have loaded.
    """

    launch: Launch
    operands: OperandsT
    image: Mapping[str, Rows]
    max_cycles: int = NO_LIMIT
    program: Program | None = None
    sampled: Sequence[str] = ()


class Hosted(Protocol[OperandsT]):
    """What machines ask of an executor, see ``gnarl.sw.runtime.target.host_executor``."""

    def memory_map(self, config: Any) -> MemoryMap: ...

    def model(self, config: Any, job: HostJob[OperandsT], wanted: Wanted) -> MachineRun: ...

    def result_rows(
        self, launch: Launch, counters: Mapping[str, int]
    ) -> Mapping[str, np.ndarray]: ...

    def volatile_rows(self, launch: Launch) -> Mapping[str, np.ndarray] | None: ...

    def outputs(
        self, launch: Launch, operands: OperandsT, memory: Mapping[str, Rows]
    ) -> Mapping[str, Array]: ...


class HostMachine(Generic[OperandsT]):
    """An accelerator behind a port: a simulator's, or a board's.

    A program finds the core as after a reset; launches of one may leave something for the next.
    Keeps digests of what windows hold, and the rows that launches have left, so that rows are not
    loaded again where they still are.
    """

    def __init__(
        self,
        executor: Hosted[OperandsT],
        config: Any,
        port: Port,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self._map = executor.memory_map(config)
        self.driver = HostDriver(port, self._map, config.digest)
        self.close = close
        self._executor = executor
        self._config = config
        self._digests: dict[tuple[str, int], bytes] = {}
        self._left: dict[str, Rows] = {}
        self._job: HostJob[OperandsT] | None = None
        self._is_simulated = isinstance(port, BackDoor)
        self._reads: CounterReads = {}

    def load(self, job: HostJob[OperandsT]) -> None:
        if self._job is not None and self._job.program is not job.program:
            written = self._executor.volatile_rows(self._job.launch)
            whole = {name: self._all_rows(name) for name in written or ()}
            self._forget(None if written is None else whole)
            self._left = {}
            self.driver.clear()
        self._job = job
        for window, rows in job.image.items():
            changed = {}
            chosen = np.zeros(len(rows.numbers), bool)
            for block, first, last in _blocks(rows.numbers, self._block_rows(window)):
                digest = _digest(Rows(rows.numbers[first:last], rows.words[first:last]))
                if self._digests.get((window, block)) != digest:
                    self._digests.pop((window, block), None)
                    changed[window, block] = digest
                    chosen[first:last] = True
            chosen[chosen] = ~self._is_left(window, rows.chosen(chosen))
            if not chosen.all():
                rows = rows.chosen(chosen)
            self._lose(window, rows.numbers)
            for start, words in rows.spans():
                self.driver.write_window(window, words, start)
            self._digests |= changed

    def start(self) -> None:
        job = self._loaded()
        volatile = self._executor.volatile_rows(job.launch)
        self._forget(volatile)
        if volatile is None:
            self._left = {}
        for window, numbers in (volatile or {}).items():
            self._lose(window, numbers)
        self.driver.limit(job.max_cycles)
        self.driver.start()

    def wait(self) -> None:
        sampled = self._loaded().sampled if self._is_simulated else ()
        try:
            self._reads = self.driver.sample(sampled) if sampled else {}
            self.driver.finish()
        except BaseException as error:
            # Stopped, or interrupted from the keyboard: what it has written is unknown.
            self._digests.clear()
            self._left.clear()
            self.driver.stop()
            is_stopped = isinstance(error, AcceleratorError)
            job = self._loaded()
            cycles = self.driver.cycles() if is_stopped else job.max_cycles
            self.driver.clear()
            if _is_limit(error):
                raise CycleLimitError(job.max_cycles) from error
            if isinstance(error, HostError):
                raise ProgramError(f"{error}; {self._on_model(job, cycles)}") from error
            raise

    def read(self) -> Finished:
        job, counters = self._loaded(), self.driver.counters()
        memory = self.rows(self._executor.result_rows(job.launch, counters))
        volatile = self._executor.volatile_rows(job.launch) or {}
        for window in memory.keys() & volatile.keys():
            rows = memory[window]
            self._lose(window, rows.numbers)
            self._left[window] = rows.merged(self._left.get(window, rows.chosen(_NONE)))
        outputs = self._executor.outputs(job.launch, job.operands, memory)
        cycles = self.driver.cycles()
        return Finished(outputs, cycles, counters, self._samples(cycles, counters))

    def _samples(self, cycles: int, counters: Mapping[str, int]) -> Samples | None:
        counts = {}
        for name, (times, counted) in self._reads.items():
            is_inside = (times > 0) & (times < cycles)
            counts[name] = (
                np.concatenate([[0], times[is_inside], [cycles]]),
                np.concatenate([[0], counted[is_inside], [counters[name]]]),
            )
        return Samples(cycles, counts) if counts else None

    def rows(self, wanted: Mapping[str, np.ndarray]) -> dict[str, Rows]:
        """Rows of memories as they are now."""
        return {window: Rows(rows, self._read(window, rows)) for window, rows in wanted.items()}

    def _read(self, window: str, rows: np.ndarray) -> np.ndarray:
        parts = [
            self.driver.read_window(window, int(rows[first]), last - first)
            for first, last in row_spans(rows)
        ]
        none = np.zeros((0, self._map.window(window).words), np.uint32)
        return np.concatenate([none, *parts])

    def _is_left(self, window: str, rows: Rows) -> np.ndarray:
        """Whether a launch has left each row as it is to be: bool [n]."""
        left = self._left.get(window)
        if left is None:
            return np.zeros(len(rows.numbers), bool)
        is_here = np.isin(rows.numbers, left.numbers, assume_unique=True)
        same = (left.among(rows.numbers).words == rows.words).all(axis=1)
        kept: np.ndarray = is_here & same
        return kept

    def _lose(self, window: str, numbers: np.ndarray) -> None:
        """What launches have left in these rows is there no longer."""
        if (left := self._left.get(window)) is not None:
            kept = ~np.isin(left.numbers, numbers, assume_unique=True)
            self._left[window] = left.chosen(kept)

    def _forget(self, changed: Mapping[str, np.ndarray] | None) -> None:
        if changed is None:
            self._digests.clear()
            return
        for window, rows in changed.items():
            for block in np.unique(rows // self._block_rows(window)).tolist():
                self._digests.pop((window, block), None)

    def _block_rows(self, window: str) -> int:
        return max(1, _BLOCK_WORDS // self._map.window(window).words)

    def _all_rows(self, window: str) -> np.ndarray:
        return np.arange(self._map.window(window).rows)

    def _loaded(self) -> HostJob[OperandsT]:
        assert self._job is not None
        return self._job

    def _on_model(self, job: HostJob[OperandsT], cycles: int) -> str:
        """What the model makes of a job that the hardware stops at."""
        found = on_model(self._executor, self._config, job, cycles, lambda counters: {})
        return found if isinstance(found, str) else "the model runs to the end"


def on_model(
    executor: Hosted[OperandsT],
    config: Any,
    job: HostJob[OperandsT],
    cycles: int,
    wanted: Wanted,
) -> MachineRun | str:
    """The model's run of a job that took hardware so many cycles, or why it has none, in words: it
    may have not many more, and whatever happens to it does not hide what happened to hardware."""
    try:
        return executor.model(config, replace(job, max_cycles=2 * cycles + _MORE_CYCLES), wanted)
    except CycleLimitError:
        return "the model goes on"
    except GnarlError as error:
        return f"model {error}"
    except Exception as error:
        return f"the model fails: {type(error).__name__}: {one_line(error)}"


class ModelMachine(Generic[OperandsT]):
    """The target's interpreter of its binary."""

    def __init__(self, executor: Hosted[OperandsT], config: Any) -> None:
        self._executor = executor
        self._config = config
        self._job: HostJob[OperandsT]
        self._run: MachineRun

    def load(self, job: HostJob[OperandsT]) -> None:
        self._job = job

    def start(self) -> None:
        pass

    def wait(self) -> None:
        wanted = partial(self._executor.result_rows, self._job.launch)
        self._run = self._executor.model(self._config, self._job, wanted)

    def read(self) -> Finished:
        run = self._run
        outputs = self._executor.outputs(self._job.launch, self._job.operands, run.memory)
        return Finished(outputs, run.cycles, run.counters)

    def close(self) -> None:
        pass


def _is_limit(error: BaseException) -> bool:
    return isinstance(error, AcceleratorError) and error.status.cause == CommonCause.CYCLE_LIMIT


def _blocks(numbers: np.ndarray, size: int) -> list[tuple[int, int, int]]:
    """Blocks of ``size`` rows that ascending rows lie in: number, and range of positions."""
    blocks, starts = np.unique(numbers // size, return_index=True)
    ends = np.append(starts, len(numbers))[1:]
    return list(zip(blocks.tolist(), starts.tolist(), ends.tolist(), strict=True))


def _digest(rows: Rows) -> bytes:
    digest = hashlib.blake2b(np.ascontiguousarray(rows.numbers).data, digest_size=16)
    digest.update(np.ascontiguousarray(rows.words).data)
    return digest.digest()
