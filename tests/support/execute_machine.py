"""An execute unit in Amaranth's simulator, with its program, queues and memory."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from amaranth.sim import Simulator

from hw.tmu.execute.execute_unit import ExecuteUnit
from hw.tmu.execute_isa import Fault, Instruction

COUNTERS = (
    "issued",
    "issued_vector",
    "waits_data",
    "waits_token",
    "waits_memory",
    "waits_registers",
)


@dataclass
class Pace:
    """How often queues have something and the port takes requests; loads take from ``latency``
    cycles on, up to ``spread`` more, each by itself."""

    queue: float = 1.0
    port: float = 1.0
    latency: int = 2
    spread: int = 0


@dataclass
class Result:
    """How a run ended, in how many cycles, and what was counted."""

    cycles: int
    fault: Fault
    pc: int
    counts: Counter[str]
    words: list[int]
    tokens: list[int]
    prefetches: list[int] = field(default_factory=list)


class Machine:
    """Runs program after program on one simulated unit, which is reset before each."""

    def __init__(
        self,
        *,
        lanes: int = 4,
        program_words: int = 64,
        memory_words: int = 256,
        loads: int = 4,
        stages: int = 3,
    ) -> None:
        self.lanes, self.program_words, self.memory_words = lanes, program_words, memory_words
        self._unit = ExecuteUnit(
            lanes=lanes,
            program_words=program_words,
            memory_words=memory_words,
            loads=loads,
            stages=stages,
        )
        self._simulator = Simulator(self._unit)
        self._simulator.add_clock(1e-6)
        self._simulator.add_testbench(self._process)
        self._job: Any = None
        self._has_run = False

    def run(
        self,
        program: list[Instruction | tuple[int, ...]],
        memory: npt.NDArray[np.uint32],
        *,
        words: list[int] | None = None,
        tokens: list[int] | None = None,
        pace: Pace | None = None,
        seed: int = 0,
        limit: int = 5000,
    ) -> Result:
        """Runs on ``memory``; what is left of words and tokens is in the result."""
        self._job = _Job(
            [_bits(instruction) for instruction in program],
            memory,
            list(words or []),
            list(tokens or []),
            pace or Pace(),
            random.Random(seed),
            limit,
        )
        if self._has_run:
            self._simulator.reset()
        self._has_run = True
        self._simulator.run()
        return self._job.result

    async def _process(self, ctx: Any) -> None:
        await self._job.run(ctx, self._unit, self.lanes)


def _bits(instruction: Instruction | tuple[int, ...]) -> int:
    given = instruction.words() if isinstance(instruction, Instruction) else instruction
    return sum(word << 32 * place for place, word in enumerate(given))


class _Job:
    def __init__(
        self,
        program: list[int],
        memory: npt.NDArray[np.uint32],
        words: list[int],
        tokens: list[int],
        pace: Pace,
        rng: random.Random,
        limit: int,
    ) -> None:
        self._program, self._memory = program, memory
        self._words, self._tokens = words, tokens
        self._pace, self._rng, self._limit = pace, rng, limit
        self._loads: list[tuple[int, int, list[int]]] = []
        self._counts: Counter[str] = Counter()
        self._prefetches: list[int] = []
        self.result: Any = None

    async def run(self, ctx: Any, unit: ExecuteUnit, lanes: int) -> None:
        pace, rng = self._pace, self._rng
        stores_land = 0
        for cycle in range(self._limit):
            self._offer(ctx, unit, lanes)
            ready = rng.random() < pace.port
            ctx.set(unit.port.request.ready, ready)
            takes_request = ready and ctx.get(unit.port.request.valid)
            due = [load for load in self._loads if load[0] <= cycle]
            if due and not ctx.get(unit.port.response.valid):
                self._respond(ctx, unit, rng.choice(due) if pace.spread else due[0])
            has_response = ctx.get(unit.port.response.valid)
            ctx.set(unit.port.idle, not self._loads and not has_response and cycle >= stores_land)
            if ctx.get(unit.halted) or ctx.get(unit.fault):
                fault = Fault(ctx.get(unit.fault))
                assert not (fault and ctx.get(unit.halted))
                pc = ctx.get(unit.fault_pc)
                self.result = Result(
                    cycle, fault, pc, self._counts, self._words, self._tokens, self._prefetches
                )
                return
            raised = [name for name in COUNTERS if ctx.get(getattr(unit, name))]
            assert sum(name != "issued_vector" for name in raised) <= 1, raised
            self._counts.update(raised)
            took_token = self._take(ctx, unit, lanes)
            row = ctx.get(unit.program_row) if ctx.get(unit.program_enable) else None
            if takes_request:
                stores_land = self._accept(ctx, unit, cycle, lanes, stores_land)
            answered = has_response and ctx.get(unit.port.response.ready)
            await ctx.tick()
            if answered:
                ctx.set(unit.port.response.valid, 0)
            if took_token:
                ctx.set(unit.token.valid, 0)
            if row is None:
                ctx.set(unit.program_data, rng.getrandbits(96))
            elif row < len(self._program):
                ctx.set(unit.program_data, self._program[row])
            else:
                ctx.set(unit.program_data, 0)
        raise AssertionError(f"not done in {self._limit} cycles: {self._counts}")

    def _offer(self, ctx: Any, unit: ExecuteUnit, lanes: int) -> None:
        """The heads of the queues, if they are not late."""
        wanted = lanes if ctx.get(unit.take_vector) else 1
        is_there = self._rng.random() < self._pace.queue and len(self._words) >= wanted
        ctx.set(unit.valid, is_there)
        for place in range(lanes):
            known = is_there and place < len(self._words)
            ctx.set(unit.words[place], self._words[place] if known else 0xDEAD_BEEF)
        if not ctx.get(unit.token.valid):
            ctx.set(unit.token.valid, bool(self._tokens) and self._rng.random() < self._pace.queue)
            ctx.set(unit.token.payload, self._tokens[0] if self._tokens else 0)

    def _take(self, ctx: Any, unit: ExecuteUnit, lanes: int) -> bool:
        """Whether the token is taken, too."""
        if ctx.get(unit.take):
            assert ctx.get(unit.valid)
            del self._words[: lanes if ctx.get(unit.take_vector) else 1]
        if ctx.get(unit.token.valid) and ctx.get(unit.token.ready):
            del self._tokens[0]
            return True
        return False

    def _respond(self, ctx: Any, unit: ExecuteUnit, load: tuple[int, int, list[int]]) -> None:
        self._loads.remove(load)
        _, tag, words = load
        ctx.set(unit.port.response.payload.tag, tag)
        for place, word in enumerate(words):
            ctx.set(unit.port.response.payload.data[place], word)
        ctx.set(unit.port.response.valid, 1)

    def _accept(self, ctx: Any, unit: ExecuteUnit, cycle: int, lanes: int, stores_land: int) -> int:
        payload = unit.port.request.payload
        address, chosen = ctx.get(payload.address), ctx.get(payload.lanes)
        places = [lane for lane in range(lanes) if chosen >> lane & 1]
        assert places and address + places[-1] < len(self._memory)
        later = cycle + self._pace.latency + self._rng.randint(0, self._pace.spread)
        if ctx.get(payload.write):
            for lane in places:
                self._memory[address + lane] = ctx.get(payload.data[lane])
            return max(stores_land, later)
        if ctx.get(payload.prefetch):
            self._prefetches.append(address)
            return stores_land
        tag = ctx.get(payload.tag)
        assert tag not in [load[1] for load in self._loads]
        words = [self._rng.getrandbits(32) for _ in range(lanes)]
        for lane in places:
            words[lane] = int(self._memory[address + lane])
        self._loads.append((later, tag, words))
        return stores_land
