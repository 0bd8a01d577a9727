"""An execute unit with plain ports of at most 64 bits, reset at will."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from gnarl.hw.lib.encoding.execute_isa import INSTRUCTION_WORDS
from gnarl.hw.lib.execute.execute_unit import ExecuteUnit
from gnarl.hw.lib.instanced import ResetInserter
from gnarl.hw.lib.verilog import to_verilog
from tests.support.machines.vectors import VectorSimulator

COUNTERS = (
    "issued",
    "issued_vector",
    "waits_data",
    "waits_token",
    "waits_memory",
    "waits_registers",
    "joined",
)
"""Pulses, one a cycle but for ``issued_vector`` and ``joined``."""

_SAME = (*COUNTERS, "halted", "fault", "fault_pc", "program_row", "program_enable", "take")
_REQUEST = ("address", "lanes", "write", "prefetch", "tag")


class ExecutePorts(wiring.Component):
    """Ports by name: those of the unit; of streams, ``request_address`` and so on. ``program_0``,
    ``words_0`` are 32 bits; ``has_word`` and ``has_vector`` tell what the data queue has."""

    def __init__(self, unit: ExecuteUnit, lanes: int) -> None:
        self._unit = unit
        self._lanes = lanes
        response = unit.port.response.payload
        inputs = {
            "restart": 1,
            "has_word": 1,
            "has_vector": 1,
            "token_valid": 1,
            "token_payload": len(unit.token.payload),
            "request_ready": 1,
            "response_valid": 1,
            "response_tag": len(response.tag),
            "idle": 1,
        }
        inputs |= {f"program_{word}": 32 for word in range(INSTRUCTION_WORDS)}
        for lane in range(lanes):
            inputs |= {f"words_{lane}": 32, f"response_data_{lane}": 32}
        outputs = {name: len(Value.cast(getattr(unit, name))) for name in _SAME}
        outputs |= {"take_vector": 1, "token_ready": 1, "request_valid": 1, "response_ready": 1}
        for name in _REQUEST:
            outputs[f"request_{name}"] = len(unit.port.request.payload[name])
        outputs |= {f"request_data_{lane}": 32 for lane in range(lanes)}
        super().__init__(
            {name: In(width) for name, width in inputs.items()}
            | {name: Out(width) for name, width in outputs.items()}
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        unit, port = self._unit, self._unit.port
        m.submodules.unit = ResetInserter(self.restart)(unit)
        for name in (*_SAME, "take_vector"):
            m.d.comb += getattr(self, name).eq(getattr(unit, name))
        for name in _REQUEST:
            m.d.comb += getattr(self, f"request_{name}").eq(port.request.payload[name])
        program = [getattr(self, f"program_{word}") for word in range(INSTRUCTION_WORDS)]
        m.d.comb += [
            unit.program_data.eq(Cat(program)),
            unit.valid.eq(Mux(unit.take_vector, self.has_vector, self.has_word)),
            unit.token.valid.eq(self.token_valid),
            unit.token.payload.eq(self.token_payload),
            self.token_ready.eq(unit.token.ready),
            self.request_valid.eq(port.request.valid),
            port.request.ready.eq(self.request_ready),
            port.response.valid.eq(self.response_valid),
            port.response.payload.tag.eq(self.response_tag),
            self.response_ready.eq(port.response.ready),
            port.idle.eq(self.idle),
        ]
        for lane in range(self._lanes):
            data = getattr(self, f"response_data_{lane}")
            m.d.comb += [
                unit.words[lane].eq(getattr(self, f"words_{lane}")),
                port.response.payload.data[lane].eq(data),
                getattr(self, f"request_data_{lane}").eq(port.request.payload.data[lane]),
            ]
        return m


class ExecuteSimulator:
    """Simulates a unit, cycle by cycle."""

    def __init__(self, **parameters: int) -> None:
        lanes = parameters["lanes"]
        ports = ExecutePorts(ExecuteUnit(**parameters), lanes)
        self._simulator = VectorSimulator(to_verilog(ports, "execute_ports"), "execute_ports")
        self._names, self._outputs = self._simulator.input_names, self._simulator.output_names
        self.inputs = {
            name: 0 for name, member in ports.signature.members.items() if member.flow == In
        }

    def cycle(self, inputs: dict[str, int]) -> dict[str, int]:
        """Outputs of a cycle by name."""
        simulator = self._simulator
        found = simulator.cycle([inputs[name] for name in self._names])
        return dict(zip(self._outputs, found, strict=True))
