"""Programs of the core: what they do to main memory, and in which cycle."""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.encoding.execute_isa import INSTRUCTION_WORDS
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.memory_map import CORE_CAUSES, WATCHDOG_CYCLES, ErrorCause
from gnarl.sw.execute.fields import fields_of_words
from gnarl.sw.execute.timing.core import CoreTime
from gnarl.sw.execute.timing.lines import empty_lines
from gnarl.sw.execute.values import execute
from gnarl.sw.runtime.machine.cycle_limit import CycleLimitError, require_cycles
from gnarl.sw.runtime.sram_compute.model.check import StoppedError
from gnarl.sw.runtime.sram_compute.model.cycle_counts import Interval
from gnarl.sw.runtime.sram_compute.model.memory_times import Channel


class CoreRuns:
    """Runs of the core in one run of the system, on main ``memory`` behind its ``channel``.

    ``max_cycles``: of the system's run.

    busy
        the cycles of each.
    instructions, lines_read, lines_written
        of all of them.
    """

    def __init__(
        self,
        config: SramConfig,
        program: np.ndarray,
        memory: np.ndarray,
        channel: Channel,
        max_cycles: int,
    ) -> None:
        self._max_cycles = max_cycles
        self._config = config
        self._program = program
        self._words = memory.reshape(-1)
        self._channel = channel
        self.busy: list[Interval] = []
        self.instructions = self.lines_read = self.lines_written = 0

    def run(self, first: int, start: int, place: int) -> int:
        """The program at instruction ``first``, from which its addresses are counted, around the
        end, which the command at ``place`` starts in cycle ``start``; the cycle in which it is
        over. Raises ``StoppedError`` where the core stops, ``CycleLimitError`` where it does not
        end in time."""
        config = self._config
        program = np.roll(self._program, -first, axis=0)
        lines = empty_lines(
            cache_bytes=config.core_cache_bytes,
            loads=config.core_loads,
            latency=config.latency,
            line_cycles=config.line_cycles,
            free=self._channel.free,
            empties=self.busy[-1][1] + 1 if self.busy else 0,
        )
        fields = fields_of_words(program)
        time = CoreTime(fields, config.core_lanes, config.core_loads, lines, start)
        try:
            # An instruction takes a cycle at least.
            most = max(0, self._max_cycles - start)
            for part in execute.traced(program, self._words, config.core_lanes, most):
                time.done(part)
                require_cycles(time.issued, self._max_cycles)
                self.instructions += len(part)
        except execute.FaultError as error:
            assert time.end is not None
            require_cycles(time.end, self._max_cycles)
            raise StoppedError(CORE_CAUSES[error.fault], first + error.pc) from error
        except execute.DeadlockError as error:
            # The hardware waits for as long before it says so.
            require_cycles(time.issued + WATCHDOG_CYCLES, self._max_cycles)
            raise StoppedError(ErrorCause.DEADLOCK, place) from error
        except execute.EndlessError as error:
            raise CycleLimitError(self._max_cycles) from error
        assert time.end is not None
        self.lines_read += time.lines_read
        self.lines_written += time.lines_written
        self.busy.append((start + 1, time.end))
        return time.end


def no_program(config: SramConfig) -> np.ndarray:
    """uint32 [instructions, words of one]."""
    return np.zeros((config.core_instructions, INSTRUCTION_WORDS), np.uint32)
