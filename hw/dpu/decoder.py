"""Decodes an instruction's bits to what the machine does in its cycle."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import (
    FIRST_WRITER,
    WRITE_COPY,
    WRITE_NONE,
    Opcode,
    PeOp,
    instruction,
    instruction_word_bits,
    opcodes,
    write_source_bits,
)
from gnarl.hw.dpu.topology import writers
from gnarl.hw.lib.cut_points import named

_KINDS = {
    "nop": (Opcode.NOP,),
    "halt": (Opcode.HALT,),
    "exec": (Opcode.EXEC, Opcode.EXEC_LOAD, Opcode.EXEC_STORE),
    "copy": (Opcode.COPY,),
    "load": (Opcode.LOAD, Opcode.EXEC_LOAD),
    "store": (Opcode.STORE, Opcode.EXEC_STORE),
}


def control_layout(config: DpuConfig) -> data.StructLayout:
    """What an instruction does: its fields, whatever its format.

    ``nop``, ``halt``, ``exec``, ``copy``, ``load``, ``store`` say what it is (both for two). Masks
    and ``write_source``, which also says what a ``COPY`` writes, are 0 for instructions that lack
    them; other fields mean nothing then.
    """
    fields = instruction(config, Opcode.EXEC).members
    banks = config.banks
    return data.StructLayout(
        {
            **dict.fromkeys(_KINDS, 1),
            "read_enable": banks,
            "valid_reset": banks,
            "read_address": fields["read_address"],
            "source": fields["source"],
            "operation": fields["operation"],
            "write_source": fields["write_source"],
            "row": instruction(config, Opcode.LOAD).members["row"],
            "load_enable": banks,
            "store_enable": banks,
        }
    )


def illegal_layout(config: DpuConfig) -> data.StructLayout:
    """What an instruction may not do: a bit for each PE, bank or lane that it's wrong about."""
    banks = config.banks
    return data.StructLayout(
        {
            "opcode": 1,
            "operation": config.pes,
            "write_source": banks,
            "row": 1,
            "source": banks,
            "read_address": banks,
        }
    )


class Decoder(wiring.Component):
    """Decodes an instruction and checks that its fields are legal; combinational.

    Source: DPU-v2, section III.E and figure 7.

    Members: ``instruction``: bits, the instruction's lowest; ``valid``: it's to be executed, else
    ``control`` does nothing and nothing is ``illegal``; ``control``: as ``control_layout``;
    ``illegal``: as ``illegal_layout``.
    """

    def __init__(self, config: DpuConfig) -> None:
        self._config = config
        super().__init__(
            {
                "instruction": In(instruction_word_bits(config)),
                "valid": In(1),
                "control": Out(control_layout(config)),
                "illegal": Out(illegal_layout(config)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        self._opcode = named(m, "opcode", self.instruction[: Opcode.as_shape().width])
        kinds = {
            name: named(m, f"is_{name}", self.valid & self._is(kind))
            for name, kind in _KINDS.items()
        }
        fields = self._decode(m, kinds)
        for name, value in (kinds | fields).items():
            m.d.comb += self.control[name].eq(value)
        for name, value in self._check(kinds, fields).items():
            m.d.comb += self.illegal[name].eq(value)
        return m

    def _is(self, kind: Iterable[Opcode]) -> Value:
        """Whether the opcode is one of ``kind``; never one that the configuration lacks."""
        known = [opcode for opcode in kind if opcode in opcodes(self._config)]
        return Cat(self._opcode == opcode for opcode in known).any()

    def _field(self, name: str) -> Value:
        """A field of the instruction, wherever its format has it; anything if it lacks it."""
        places: dict[tuple[int, int], list[Opcode]] = {}
        for opcode in opcodes(self._config):
            layout = instruction(self._config, opcode)
            if name in layout.members:
                field = layout[name]
                place = (field.offset, field.offset + field.width)
                places.setdefault(place, []).append(opcode)
        if not places:
            return C(0, self._config.banks)
        (first, _), *others = places.items()
        value = self.instruction[slice(*first)]
        for place, formats in others:
            value = Mux(self._is(formats), self.instruction[slice(*place)], value)
        return value

    def _decode(self, m: Module, kinds: dict[str, Signal]) -> dict[str, Signal]:
        """Every field of ``control`` but the kinds."""
        executes, copies, stores = kinds["exec"], kinds["copy"], kinds["store"]
        reads = executes | copies | stores
        bits = write_source_bits(self._config)
        copied = Cat(
            Mux(enable, C(WRITE_COPY, bits), C(WRITE_NONE, bits))
            for enable in self._field("write_enable")
        )

        def take(name: str, value: Value) -> Any:
            signal = Signal(self.control[name].shape(), name=name)
            m.d.comb += signal.eq(value)
            return signal

        read_enable = take("read_enable", Mux(reads, self._field("read_enable"), 0))
        stored = Mux(executes, self._field("store_enable"), read_enable)
        written = Mux(executes, self._field("write_source"), Mux(copies, copied, 0))
        return {
            "read_enable": read_enable,
            "valid_reset": take("valid_reset", Mux(reads, self._field("valid_reset"), 0)),
            "read_address": take("read_address", self._field("read_address")),
            "source": take("source", self._field("source")),
            "operation": take("operation", self._field("operation")),
            "write_source": take("write_source", written),
            "row": take("row", self._field("row")),
            "load_enable": take("load_enable", Mux(kinds["load"], self._field("load_enable"), 0)),
            "store_enable": take("store_enable", Mux(stores, stored, 0)),
        }

    def _check(self, kinds: dict[str, Signal], fields: dict[str, Any]) -> dict[str, Value]:
        """Every field of ``illegal``."""
        config = self._config
        executes, crosses = kinds["exec"], kinds["exec"] | kinds["copy"]
        addressed = fields["read_enable"] | fields["valid_reset"]
        limits = [FIRST_WRITER + len(writers(config, bank)) for bank in range(config.banks)]
        return {
            "opcode": self.valid & ~self._is(opcodes(config)),
            "operation": Cat(
                _beyond(executes, operation, len(PeOp)) for operation in fields["operation"]
            ),
            "write_source": Cat(
                _beyond(executes, source, limit)
                for source, limit in zip(fields["write_source"], limits, strict=True)
            ),
            "row": _beyond(kinds["load"] | kinds["store"], fields["row"], config.data_rows),
            "source": Cat(_beyond(crosses, lane, config.banks) for lane in fields["source"]),
            "read_address": Cat(
                _beyond(enable, address, config.registers)
                for enable, address in zip(addressed, fields["read_address"], strict=True)
            ),
        }


def _beyond(enable: Value, value: Value, limit: int) -> Value:
    """Whether ``value`` isn't below ``limit``; constant where it cannot be otherwise."""
    return enable & (value >= limit) if limit < 1 << len(value) else C(0, 1)
