"""An execute unit with its program, queues and memory, simulated."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.encoding.execute_isa import Fault, Instruction
from tests.support.execute.ports import COUNTERS, ExecuteSimulator

_JUNK = 0xDEAD_BEEF


@dataclass(frozen=True)
class Pace:
    """How often queues have something and the port takes requests; loads take ``latency`` cycles
    from one to the next, up to ``spread`` more, each by itself."""

    queue: float = 1.0
    port: float = 1.0
    latency: int = 2
    spread: int = 0


@dataclass
class Result:
    """How a run ended, in how many cycles, and what was counted; what is left in the queues; in
    which cycle each instruction that issues does so; addresses of prefetches."""

    cycles: int = 0
    fault: Fault = Fault.NONE
    pc: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    words: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    issues: list[int] = field(default_factory=list)
    prefetches: list[int] = field(default_factory=list)


class Machine:
    """Runs program after program on one unit, which is reset before each."""

    def __init__(
        self,
        *,
        lanes: int = 4,
        program_words: int = 128,
        memory_words: int = 256,
        loads: int = 4,
        stages: int = 3,
    ) -> None:
        self.lanes, self.program_words, self.memory_words = lanes, program_words, memory_words
        self.stages = stages
        self._simulator = ExecuteSimulator(
            lanes=lanes,
            program_words=program_words,
            memory_words=memory_words,
            loads=loads,
            stages=stages,
        )

    def run(
        self,
        program: Sequence[Instruction | tuple[int, ...]],
        memory: npt.NDArray[np.uint32],
        *,
        words: Sequence[int] = (),
        tokens: Sequence[int] = (),
        pace: Pace = Pace(),
        seed: int = 0,
        limit: int = 20000,
    ) -> Result:
        """Runs on ``memory`` (uint32 [memory_words])."""
        encoded = [each.words() if isinstance(each, Instruction) else each for each in program]
        rng = random.Random(seed)
        port = _Port(memory, self.lanes, pace, rng)
        result = Result(words=list(words), tokens=list(tokens))
        inputs = dict(self._simulator.inputs)
        self._simulator.cycle(inputs | {"restart": 1})
        for result.cycles in range(limit):
            self._offer(inputs, result, pace, rng)
            port.offer(inputs, result.cycles)
            outputs = self._simulator.cycle(inputs)
            if outputs["fault"]:
                assert not outputs["halted"]
                result.fault, result.pc = Fault(outputs["fault"]), outputs["fault_pc"]
                return result
            if outputs["halted"]:
                return result
            self._take(inputs, outputs, result)
            port.take(inputs, outputs, result)
            row = outputs["program_row"]
            known = outputs["program_enable"] and row < len(encoded)
            for place in range(3):
                inputs[f"program_{place}"] = encoded[row][place] if known else _JUNK
        raise AssertionError(f"not done in {limit} cycles: {result}")

    def _offer(
        self, inputs: dict[str, int], result: Result, pace: Pace, rng: random.Random
    ) -> None:
        """The heads of the queues, if they are not late; a token that was offered stays."""
        words, tokens = result.words, result.tokens
        comes = rng.random() < pace.queue
        inputs["has_word"] = int(comes and bool(words))
        inputs["has_vector"] = int(comes and len(words) >= self.lanes)
        for lane in range(self.lanes):
            inputs[f"words_{lane}"] = words[lane] if comes and lane < len(words) else _JUNK
        if not inputs["token_valid"] and tokens and rng.random() < pace.queue:
            inputs |= {"token_valid": 1, "token_payload": tokens[0]}

    def _take(self, inputs: dict[str, int], outputs: dict[str, int], result: Result) -> None:
        raised = [name for name in COUNTERS if outputs[name]]
        assert len([name for name in raised if name not in ("issued_vector", "joined")]) <= 1, (
            raised
        )
        result.counts.update(raised)
        if outputs["issued"]:
            result.issues.append(result.cycles)
        if outputs["take"]:
            assert outputs["issued"]
            assert inputs["has_vector" if outputs["take_vector"] else "has_word"]
            del result.words[: self.lanes if outputs["take_vector"] else 1]
        if inputs["token_valid"] and outputs["token_ready"]:
            del result.tokens[0]
            inputs["token_valid"] = 0


class _Port:
    """What is behind the ``LanePort``."""

    def __init__(
        self, memory: npt.NDArray[np.uint32], lanes: int, pace: Pace, rng: random.Random
    ) -> None:
        self._memory, self._lanes, self._pace, self._rng = memory, lanes, pace, rng
        self._loads: list[tuple[int, int, list[int]]] = []
        self._last_lands = 0
        self._held: dict[str, int] | None = None

    def offer(self, inputs: dict[str, int], cycle: int) -> None:
        """Whether a request is taken; a response, which stays until it is taken."""
        inputs["request_ready"] = int(self._rng.random() < self._pace.port)
        due = [load for load in self._loads if load[0] <= cycle]
        if due and not inputs["response_valid"]:
            load = self._rng.choice(due) if self._pace.spread else due[0]
            self._loads.remove(load)
            inputs |= {"response_valid": 1, "response_tag": load[1]}
            inputs |= {f"response_data_{lane}": word for lane, word in enumerate(load[2])}
        is_idle = not self._loads and not inputs["response_valid"] and cycle >= self._last_lands
        inputs["idle"] = int(is_idle)

    def take(self, inputs: dict[str, int], outputs: dict[str, int], result: Result) -> None:
        if inputs["response_valid"] and outputs["response_ready"]:
            inputs["response_valid"] = 0
        request = {
            name: outputs[f"request_{name}"] for name in ("valid", "address", "lanes", "tag")
        }
        if self._held is not None:
            assert request == self._held, "a request changed before it was taken"
        waits = outputs["request_valid"] and not inputs["request_ready"]
        self._held = request if waits else None
        if outputs["request_valid"] and inputs["request_ready"]:
            self._accept(outputs, result)

    def _accept(self, outputs: dict[str, int], result: Result) -> None:
        address, chosen = outputs["request_address"], outputs["request_lanes"]
        lanes = [lane for lane in range(self._lanes) if chosen >> lane & 1]
        assert lanes and address + lanes[-1] < len(self._memory)
        due = result.cycles + self._pace.latency + self._rng.randint(0, self._pace.spread)
        if outputs["request_write"]:
            for lane in lanes:
                self._memory[address + lane] = outputs[f"request_data_{lane}"]
            self._last_lands = max(self._last_lands, due)
        elif outputs["request_prefetch"]:
            result.prefetches.append(address)
        else:
            assert outputs["request_tag"] not in [load[1] for load in self._loads]
            words = [self._rng.getrandbits(32) for _ in range(self._lanes)]
            for lane in lanes:
                words[lane] = int(self._memory[address + lane])
            self._loads.append((due, outputs["request_tag"], words))
